"""Images whose targets are boxes: X as for images, y a list of dicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from .image import Images

if TYPE_CHECKING:
    from ..datasets import Dataset

__all__ = ["Boxes"]


@dataclass(frozen=True)
class Boxes(Images):
    """Images in which objects are to be found."""

    name: ClassVar[str] = "boxes"

    @classmethod
    def also(cls, data: Dataset) -> tuple[str, ...]:
        """Nothing else: targets are of images."""
        return ()

    @classmethod
    def encoder(cls, data: Dataset, estimator: Any) -> None:
        """Images go to the estimator as they are."""
        return None
