"""Training: the loop, the gradient process, objectives, callbacks."""

from .averaging import Average
from .callbacks import Callback, Context, EarlyStopping, Progress
from .evaluating import evaluate
from .gradient_norms import GradientNorms
from .iterate import iterate, watched
from .many import fit_many
from .minimize import DescentPath, FunctionObjective, classify_rates, minimize
from .objective import Loss, Objective, Player, Supervised
from .placing import WORK_FOR_DEVICE, WORK_FOR_THREADS, blas_threads, device_for, threads, threads_for
from .problem import Problem
from .process import Phases, Process, Steps, copied
from .recorder import Recorder
from .trainer import CHECK_EVERY, Trainer
from .training import Training

__all__ = [
    "CHECK_EVERY",
    "WORK_FOR_DEVICE",
    "WORK_FOR_THREADS",
    "Average",
    "Callback",
    "Context",
    "EarlyStopping",
    "FunctionObjective",
    "GradientNorms",
    "Loss",
    "Objective",
    "DescentPath",
    "Phases",
    "Player",
    "Problem",
    "Process",
    "Progress",
    "Recorder",
    "Steps",
    "Supervised",
    "Trainer",
    "Training",
    "blas_threads",
    "copied",
    "device_for",
    "evaluate",
    "iterate",
    "fit_many",
    "minimize",
    "classify_rates",
    "threads",
    "threads_for",
    "watched",
]
