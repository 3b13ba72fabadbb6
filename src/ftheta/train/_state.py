"""State as a value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

__all__ = ["copied"]


def copied(tree: Any) -> Any:
    """The tree with tensors of its own."""
    if isinstance(tree, Tensor):
        return tree.detach().clone()
    if isinstance(tree, Mapping):
        return {k: copied(v) for k, v in tree.items()}
    return type(tree)(map(copied, tree)) if isinstance(tree, list | tuple) else tree
