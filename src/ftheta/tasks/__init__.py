"""Tasks: what y is, what the loss compares with, and what an answer looks like."""

from ..catalog import Card, load
from .base import Task
from .classify import Classify, class_names, class_weights, encode_labels, learn_classes, warn_unseen
from .forecast import Forecast
from .generate import Generate, Recall, Transform
from .regress import Regress
from .segment import Detect, Segment
from .tag import Tag

__all__ = [
    "TASKS", "Classify", "Detect", "Forecast", "Generate", "Recall", "Regress", "Segment", "Tag", "Task", "Transform",
    "class_names", "class_weights", "encode_labels", "learn_classes", "task_name", "tasks_of", "warn_unseen",
]  # fmt: skip

TASKS: dict[str, type[Task]] = {
    task.name: task for task in (Classify, Regress, Segment, Tag, Recall, Generate, Transform, Forecast, Detect)
}
"""Every task by its name."""


def task_name(asked: str) -> str:
    """The name of a task that may be asked for by its title, as regression; any other text as it is."""
    return next((name for name, task in TASKS.items() if asked == task.title), asked)


def tasks_of(card: Card) -> dict[str, type[Task]]:
    """The tasks of a family by their names; one of another package is what its estimator makes."""
    found = {task: target for (_, task), target in card.targets.items()}
    return {name: TASKS.get(name) or type(load(target)().task()) for name, target in found.items()}
