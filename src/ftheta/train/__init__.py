"""Training: the loop, the gradient process, objectives, callbacks."""

from .callbacks import Callback, Context, EarlyStopping, Process, Progress
from .iterate import iterate
from .objective import Loss, Objective, Player, Supervised
from .placing import WORK_FOR_DEVICE, WORK_FOR_THREADS, device_for, threads, threads_for
from .problem import Problem
from .trainer import LOOK, Trainer, evaluate
from .training import Training

__all__ = [
    "LOOK",
    "WORK_FOR_DEVICE",
    "WORK_FOR_THREADS",
    "Callback",
    "Context",
    "EarlyStopping",
    "Loss",
    "Objective",
    "Player",
    "Problem",
    "Process",
    "Progress",
    "Supervised",
    "Trainer",
    "Training",
    "device_for",
    "evaluate",
    "iterate",
    "threads",
    "threads_for",
]
