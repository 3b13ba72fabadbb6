"""Transform: other features of the same rows. Learns from X alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from .base import Task


@dataclass(frozen=True)
class Transform(Task):
    """Features."""

    name: ClassVar[str] = "transform"
    has_result: ClassVar[bool] = False
