"""Forecasters that train a net: a first fit without the last steps measures errors, the second learns from all.

phase 1: fit to the first rows,    phase 2: errors of free runs through the others,    phase 3: fit to all rows
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from ...check import NonNegative
from ...data import Batch
from ...draw import Draw
from ...store import Tree
from ...train import Objective, Phases, Steps, Trainer, threads
from .._base.neural import NeuralEstimator
from .._base.rows import Data
from ._forecaster import Forecaster
from ._origins import last_windows
from .kernel_ridge import unexplained

LEAST, MOST = 0.05, 0.6  # of noise="auto"


class _Measure(Steps):
    """One step: errors of free runs by the net of the phase before."""

    kept = ("found",)

    def __init__(self, measure: Callable[[], Any], steps: int) -> None:
        self.measure, self.steps, self.found = measure, steps, None

    def advance(self) -> None:
        self.found = self.measure()
        self.reason = "measured"


class NeuralForecaster(Forecaster, NeuralEstimator):
    """A forecaster that trains a net on windows.

    Args:
        noise: Standard deviation of noise on the inputs in training, over that of the series; "auto": 1.48 times the
            median leave-one-out error of kernel ridge regression one step ahead, between 0.05 and 0.6.

    Learned: noise_.
    """

    epochs: int = 200
    optimizer: Any = "adam"
    batch_size: int | Literal["auto"] = 64
    noise: NonNegative | Literal["auto"] = "auto"

    defaults: ClassVar[Mapping[str, Any]] = {"schedule": "cosine", "l2": 1e-5}
    default_lr: ClassVar[Mapping[str, float]] = {"adam": 0.005}

    def process(self, data: Data, held: Data | None) -> Any:
        panel: Any = data.x
        blocks = self.blocks(panel, 1) if not self.warm_start else []
        self.forget_errors()
        if not blocks:
            return super().process(data, held)
        ((part, begin, stop),) = blocks

        def errors() -> Any:
            self.module_.eval()
            return self.measured(panel, begin, stop)

        def fresh(rows: Data, held: Data | None) -> Trainer:
            self.input_ = rows.x.spec
            return self.trainer(self.make(), rows, held)

        self._measure = _Measure(errors, stop - begin)
        first, last = (lambda: fresh(Data(part), None), self.epochs), (lambda: fresh(data, held), self.epochs)
        return Phases([first, (lambda: self._measure, 1), last])

    def rounds(self) -> int:
        return 2 * self.epochs + 1 if self.calibration else self.epochs

    def finish(self, process: Any) -> None:
        measure = vars(self).pop("_measure", None)
        if measure is not None and measure.found is not None:
            self.keep_errors([measure.found], measure.steps)
        self.module_.eval()
        if hasattr(process, "drop_data"):
            process.drop_data()

    def trainer(self, objective: Objective, data: Data, held: Data | None) -> Trainer:
        panel: Any = data.x
        self.noise_ = min(max(unexplained(panel), LEAST), MOST) if self.noise == "auto" else float(self.noise)
        return super().trainer(objective, data, held)

    def set_state(self, state: Mapping[str, Tree]) -> None:
        super().set_state(state)
        self.rehearse()

    def augmentation(self) -> Callable[[Batch, Draw], Batch] | None:
        if not (sigma := self.noise_):
            return None

        def noisy(batch: Batch, draw: Draw) -> Batch:
            x, n = batch.x.clone(), self.target_.n
            noise = torch.randn(x[..., :n].shape, generator=draw.generator("noise"), dtype=x.dtype)
            x[..., :n] += sigma * noise.to(x.device)
            return batch._replace(x=x)

        return noisy

    def free_run(self, pasts: Sequence[np.ndarray], ahead: np.ndarray, h: int) -> np.ndarray:
        """A net with a method `step` carries its state; another reads its last window again."""
        n, window = self.target_.n, int(self.input_.facts["window"])
        inputs = zip(pasts, ahead, strict=True)  # of each step, with the columns known of the next
        known = [np.concatenate([past[:, :n], np.r_[past[1:, n:], coming[:1]]], 1) for past, coming in inputs]
        step, made = getattr(self.module_, "step", self._read_again), list[Tensor]()
        with torch.inference_mode(), threads(1):  # steps of a free run are small
            value, state = step(self._tensor(last_windows(known, window)))
            for now in self._tensor(np.concatenate([ahead[:, 1:], ahead[:, -1:]], 1)).unbind(1):
                made.append(value)
                value, state = step(torch.cat([value, now], 1)[:, None], state)
            return torch.stack(made, 1).double().cpu().numpy()

    def _read_again(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        window = x if state is None else torch.cat([state[:, 1:], x], 1)
        made = self.module_(window)
        return made[:, -1] if self.each else made, window

    def _tensor(self, a: np.ndarray) -> Tensor:
        return torch.as_tensor(a, dtype=self._dtype, device=self._device)
