"""A source that decodes pictures in a thread while the batches before them are trained on."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..draw import Draw
from ..errors import InputError
from ..store.files import readable
from .batch import Batch, take
from .io.pictures import Pictures
from .sources import Indexed, _common_rows, _tensors

__all__ = ["Files"]

MAX_AHEAD_BYTES, MAX_AHEAD = 1 << 26, 8  # of decoded batches that wait, at least one batch
MAX_BATCH_BYTES = 1 << 29  # of one batch of pictures as floats


class Files(Indexed):
    """Pictures in files, of `open_images`, as batches (B, C, H, W) in [0, 1], decoded ahead in bounded memory.

    Bytes are moved to the device and made floats of the dtype there; other arguments as for `Rows`.
    """

    def __init__(
        self,
        pictures: Pictures,
        y: Any = None,
        weight: Any = None,
        *,
        batch_size: int,
        shuffle: bool = True,
        device: torch.device | str = "cpu",
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.x, self.device, self.dtype = pictures, torch.device(device), dtype
        self.y, self.weight = (v.to(device) if isinstance(v, Tensor) else v for v in map(_tensors, (y, weight)))
        super().__init__(_common_rows(pictures, self.y, self.weight), batch_size=batch_size, shuffle=shuffle)
        size = min(self.batch_size, self.n) * prod(pictures.shape[1:])
        if size * dtype.itemsize > MAX_BATCH_BYTES:
            _, _, height, width = pictures.shape
            raise InputError(
                f"A batch of {self.batch_size} pictures of {width}x{height} pixels takes "
                f"{readable(size * dtype.itemsize)}, at most {readable(MAX_BATCH_BYTES)} are held: "
                "give open_images a smaller size=(H, W), or a smaller batch_size."
            )
        self.ahead = max(1, min(MAX_AHEAD, MAX_AHEAD_BYTES // size))

    def get(self, index: Tensor, draw: Draw) -> Batch:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Pictures by number."""
        x = torch.from_numpy(np.asarray(self.x[index.numpy()])).to(self.device).to(self.dtype).div_(255)
        return Batch(x, take(self.y, index), take(self.weight, index), index)
