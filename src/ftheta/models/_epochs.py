"""Epochs told to scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..train import Callback, Context

__all__ = ["Epochs"]


class Epochs(Callback):
    """Tells scikit-learn's callbacks of every epoch, and the estimator why training ended."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        """One task an epoch; a callback may ask to stop."""
        context = getattr(self.estimator, "_callback_fit_ctx", None)
        if context is None:
            return
        task = context.subcontext("epoch").call_on_fit_task_begin(estimator=self.estimator)
        learned = {"n_iter_": ctx.round, "module_": self.estimator.module_}
        if task.call_on_fit_task_end(estimator=self.estimator, reconstruction_attributes=learned, **context.rows):
            ctx.stop("a callback asked to stop")
        self.estimator._trainer.train_mode()  # a callback may have predicted

    def on_end(self, ctx: Context) -> None:
        """Why."""
        self.estimator.stop_reason_ = ctx.reason
