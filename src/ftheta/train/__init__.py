"""Training: the loop, the gradient process, objectives, callbacks."""

from .averaging import Average
from .callbacks import Callback, Context, EarlyStopping, Process, Progress
from .evaluating import evaluate
from .gradient_norms import GradientNorms
from .iterate import iterate
from .many import many
from .minimise import Function, Path, minimise, rates
from .objective import Loss, Objective, Player, Supervised
from .placing import WORK_FOR_DEVICE, WORK_FOR_THREADS, blas_threads, device_for, threads, threads_for
from .problem import Problem
from .recorder import Recorder
from .stacked import Stacked
from .trainer import LOOK, Trainer
from .training import Training

__all__ = [
    "LOOK",
    "WORK_FOR_DEVICE",
    "WORK_FOR_THREADS",
    "Average",
    "Callback",
    "Context",
    "EarlyStopping",
    "Function",
    "GradientNorms",
    "Loss",
    "Objective",
    "Path",
    "Player",
    "Problem",
    "Process",
    "Progress",
    "Recorder",
    "Stacked",
    "Supervised",
    "Trainer",
    "Training",
    "blas_threads",
    "device_for",
    "evaluate",
    "iterate",
    "many",
    "minimise",
    "rates",
    "threads",
    "threads_for",
]
