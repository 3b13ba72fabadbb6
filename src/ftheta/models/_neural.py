"""Neural estimators: a family says which module and which objective; everything else is here.

fit:  check -> merge -> split -> build -> Trainer -> iterate -> module_, history_
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from .. import check, optim
from ..base import Estimator
from ..check import Count, Positive, RandomState, Share
from ..data import Batch, Encoded, Files, InputSpec, Rows, TargetSpec, holdout
from ..draw import Draw
from ..errors import InputError, RunError
from ..store import Run, Tree
from ..train import EarlyStopping, Objective, Progress, Trainer, Training, device_for, iterate, threads_for
from ..train import evaluate as evaluate_objective
from ._chains import seed_of
from ._epochs import Epochs
from ._files import described, facts_of, fill, restore
from ._rows import Arrays, digest, fitting, merge_equal, source_of, tensors, unit, work_of

__all__ = ["NeuralEstimator", "NeuralTransformer"]

AUTO = 200  # rows of an automatic batch
_HARMLESS = ("seconds", "every", "threads", "progress")  # knobs that a continued run may change


@dataclass(kw_only=True, eq=False, repr=False)
class NeuralEstimator(CallbackSupportMixin, Estimator):
    """Shared life of all neural estimators.

    Args:
        epochs: Passes over the rows.
        batch_size: Rows of a batch; "auto" takes all rows for optimizers that need them, else at most 200.
        optimizer: A name of the optimizer table.
        lr: Learning rate; None takes the optimizer's default.
        validation: Share of the rows held out for validation.
        patience: Epochs without improvement before training stops; None never stops early.
        dtype: float32 or float64.
        device: "auto", "cpu", "cuda", ...
        random_state: Seed; None takes fresh entropy, kept in `seed_`.
        training: Rarely used knobs.
    """

    epochs: Count = 50
    batch_size: Count | Literal["auto"] = "auto"
    optimizer: str = "adam"
    lr: Positive | None = None
    validation: Share = 0.0
    patience: Count | None = None
    dtype: Literal["float32", "float64"] = "float32"
    device: str = "auto"
    random_state: RandomState = None
    training: Training | None = None

    allow_nd: ClassVar[bool] = False  # whether X may have more than two axes
    usual_rates: ClassVar[Mapping[str, float]] = {}  # where other than the optimizer's own
    part: ClassVar[int] = 4096  # rows that a forward pass of `predict` takes at once

    @abstractmethod
    def build(self, x: InputSpec, y: TargetSpec) -> nn.Module:
        """The net for inputs and targets of these shapes."""

    @abstractmethod
    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        """What is minimised."""

    def _learn_target(self, y: Any, n: int, classes: Any) -> TargetSpec:
        return TargetSpec("none")

    def _encode_target(self, y: Any, n: int) -> np.ndarray | None:
        return None

    def _finish_rows(self, rows: Arrays, *, learn: bool, weigh: bool = True) -> Arrays:
        """Last changes of rows before the net sees them; what they need is learned from the training rows."""
        return rows

    # ---- fitting

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: ArrayLike | None = None,
        y_val: ArrayLike | None = None,
        run: Run | Path | str | None = None,
    ) -> Self:
        """Learn from rows X and targets y.

        Args:
            X: Inputs: (n, D).
            y: Targets: (n,) or (n, T).
            sample_weight: Weights of the rows; k copies of a row are weight k.
            X_val: Rows for validation instead of a share of X.
            y_val: Their targets.
            run: Folder for metrics and checkpoints; continued if parameters and data agree.

        Returns:
            The estimator itself.
        """
        self._check_parameters()
        context: Any = self._init_callback_context(max_subtasks=self.epochs)
        context.rows = {"X": X, "y": y}  # what callbacks are told in every epoch too
        context.call_on_fit_task_begin(estimator=self, **context.rows)
        all_rows = self._learn_rows(X, y, sample_weight)
        with nullcontext() if run is None else run if isinstance(run, Run) else Run(run) as folder:
            seed = self._fresh_seed() if folder is None else self._seed_of(folder)
            rows, held = self._split(all_rows, seed, X_val, y_val)
            if folder is None:
                self._fit_rows(rows, held, seed, None)
            else:
                self._fit_in_run(rows, held, seed, folder)
        context.call_on_fit_task_end(estimator=self, **context.rows)
        return self

    def prepare(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, X_val: Any = None, y_val: Any = None
    ) -> Trainer:
        """All of `fit` but the training: rows checked and split, the net built; the trainer `fit` would advance."""
        self._check_parameters()
        seed = self._fresh_seed()
        rows, held = self._split(self._learn_rows(X, y, sample_weight), seed, X_val, y_val)
        self._start(rows, held, seed, self._build(seed))
        return self._trainer

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        classes: ArrayLike | None = None,
    ) -> Self:
        """One epoch more over these rows; the first call builds the net. A schedule ends after `epochs` of them."""
        self._check_parameters()
        known = hasattr(self, "module_")  # fitted before, or loaded
        rows = self._encode(X, y, sample_weight) if known else self._learn_rows(X, y, sample_weight, classes)
        rows = self._finish_rows(self._merged(rows), learn=not known)
        if hasattr(self, "_trainer"):
            self._trainer.feed(self._source(rows))
        else:
            seed = self.seed_ if known else self._fresh_seed()
            self._start(rows, None, seed, self._aim(seed) if known else self._build(seed))
        self._train(1, None)
        return self

    def _fit_rows(self, rows: Arrays, held: Arrays | None, seed: int, run: Run | None) -> None:
        self._start(rows, held, seed, self._build(seed))
        self._train(self.epochs, run)

    def _seed_of(self, run: Run) -> int:
        return facts_of(run)["seed"] if run.has("fit.json") else self._fresh_seed()

    def _fit_in_run(self, rows: Arrays, held: Arrays | None, seed: int, run: Run) -> None:
        """Start a run, continue it, or take the model of a finished one."""
        facts = {"class": type(self).__name__, "parameters": self._facts(), "data": digest(rows, held)}
        if not run.has("fit.json"):
            run.write("fit.json", json.dumps({**facts, "seed": seed}, indent=2) + "\n")
        known = facts_of(run)
        differing = [key for key in facts if facts[key] != known[key]]
        if differing:
            raise RunError(
                f"{run.path} was started with other {' and '.join(differing)}; it is continued with the same "
                "only. Choose another run folder."
            )
        if run.status == "finished":
            with described(run.path):
                restore(self, run.sound().tree("model.safetensors")["state"], f"{run.path}/model.safetensors")
            self.history_ = run.rows()  # with its times
            return
        self._fit_rows(rows, held, seed, run)
        self._save_into(run)

    def _facts(self) -> dict[str, Any]:
        """The parameters as JSON, without those that do not change the result."""
        params = self._params_tree()
        params["training"] = {k: v for k, v in asdict(self.training or Training()).items() if k not in _HARMLESS}
        return json.loads(json.dumps(params))

    def _start(self, rows: Arrays, held: Arrays | None, seed: int, objective: Objective) -> None:
        """A trainer of this objective for these rows."""
        self.seed_, self.history_, self.stop_reason_ = seed, [], ""
        training = self.training or Training()
        if rows.weight is not None and not objective.separable:
            raise InputError(
                f"{type(objective).__name__} is not a sum over rows: sample_weight cannot be used with it; leave "
                "it out."
            )
        source = self._source(rows)
        self._trainer = Trainer(
            objective,
            source,
            optimizer=self.optimizer,
            lr=self.lr or self.usual_rates.get(self.optimizer),
            training=replace(training, threads=training.threads or threads_for(self._work * source.batch_size)),
            validation=None if held is None else self._source(held, valid=True),
            augment=self._augmentation(),
            horizon=self.epochs * ceil(len(source) / max(training.accumulate, 1)),
            seed=seed,
        )

    def _augmentation(self) -> Callable[[Batch, Draw], Batch] | None:
        """What is done to every training batch; None: nothing."""
        return None

    def _build(self, seed: int, *, fresh: bool = True) -> Objective:
        """Module and objective, on their device, made under the seed's own draw; not fresh: a file will fill them."""
        with Draw(seed).at("build").scope():
            self._make_parts()
            objective = self.objective(self.module_, self.target_).to(getattr(torch, self.dtype))
            self._work = work_of(self.module_, self.input_.shape)
        self._device = device_for(self.device, self._work * (AUTO if self.batch_size == "auto" else self.batch_size))
        return objective.to(self._device)

    def _aim(self, seed: int) -> Objective:
        """The objective of a module that is there already, on its device."""
        with Draw(seed).at("aim").scope():
            return self.objective(self.module_, self.target_).to(self._device, getattr(torch, self.dtype))

    def _make_parts(self) -> None:
        self.module_: nn.Module = self.build(self.input_, self.target_).to(getattr(torch, self.dtype))

    def _train(self, rounds: int, run: Run | None) -> None:
        knobs, trainer = self.training or Training(), self._trainer
        stopping = [] if self.patience is None else [EarlyStopping(self.patience, restore=knobs.restore_best)]
        try:
            iterate(
                trainer,
                rounds=rounds,
                seconds=knobs.seconds,
                callbacks=[*stopping, Epochs(self), Progress(knobs.progress)],
                run=run,
                every=knobs.every,
                history=self.history_,
            )
        finally:
            self.module_.eval()
            self.n_iter_ = trainer.epoch
            trainer.release()

    # ---- rows

    def _learn_rows(self, X: Any, y: Any, sample_weight: Any, classes: Any = None) -> Arrays:
        x = self._table(X, reset=True)
        self.input_ = InputSpec(x.shape[1:])
        self.target_ = self._learn_target(y, len(x), classes)
        return self._weighted(x, y, sample_weight)

    def _encode(self, X: Any, y: Any, sample_weight: Any) -> Arrays:
        return self._weighted(self._table(X), y, sample_weight)

    def _table(self, X: Any, *, reset: bool = False) -> np.ndarray | Encoded:
        if isinstance(X, Encoded):
            return fitting(self, X, reset=reset)
        return check.table(self, X, dtype=self.dtype, reset=reset, allow_nd=self.allow_nd)

    def _weighted(self, x: np.ndarray | Encoded, y: Any, sample_weight: Any) -> Arrays:
        return Arrays(x, self._encode_target(y, len(x)), check.weights(sample_weight, len(x))).without_zeros()

    def _full_batch(self) -> bool:
        return optim.rule(self.optimizer).full_batch

    def _merged(self, rows: Arrays) -> Arrays:
        """Equal rows merged where all distinct rows fit one automatic batch."""
        most = len(rows.x) if self._full_batch() else AUTO
        return merge_equal(rows, most) if self.batch_size == "auto" else rows

    def _split(self, rows: Arrays, seed: int, X_val: Any, y_val: Any) -> tuple[Arrays, Arrays | None]:
        """Rows to learn from, equal ones merged, and rows held out."""
        held = None
        if X_val is not None:
            held = self._encode(X_val, y_val, None)
        elif y_val is not None:
            raise InputError("y_val was given without X_val. Pass both, or validation=0.1 for a share of X.")
        elif self.validation:
            labels = rows.y if self.target_.kind in ("binary", "multiclass") else None
            how = "random" if labels is None else "stratified"
            kept, aside = holdout(len(rows.x), self.validation, Draw(seed).at("split"), split=how, y=labels)
            rows, held = rows.take(kept), rows.take(aside)
        rows = self._finish_rows(self._merged(rows), learn=True)
        return rows, None if held is None else self._finish_rows(held, learn=False)

    def _fresh_seed(self) -> int:
        return seed_of(self.random_state)

    def _source(self, rows: Arrays, *, valid: bool = False) -> Rows | Files:
        usual = len(rows.x) if self._full_batch() else AUTO
        size = self.part if valid else min(usual if self.batch_size == "auto" else self.batch_size, len(rows.x))
        mixed = not valid and (self.training or Training()).shuffle
        return source_of(rows, getattr(torch, self.dtype), self._device, batch_size=size, shuffle=mixed)

    # ---- using

    def batch(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None, *, weigh: bool = True
    ) -> Batch:
        """Rows as the net sees them in training: checked, encoded, weighed by class too, on its device."""
        check_is_fitted(self)
        if y is None:
            rows = Arrays(self._table(X), None, None)
        else:
            rows = self._finish_rows(self._encode(X, y, sample_weight), learn=False, weigh=weigh)
        x, *rest = tensors(rows, getattr(torch, self.dtype), self._device)
        return Batch(unit(x, getattr(torch, self.dtype)), *rest)

    def evaluate(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> dict[str, float]:
        """What the objective reports on these rows: its loss, and more where it has more."""
        check_is_fitted(self)
        if y is None and self.target_.kind != "none":
            raise InputError(f"evaluate of {type(self).__name__} compares with targets: pass y, one for each row of X.")
        batch = self.batch(X, y, sample_weight, weigh=False)
        source = Rows(batch.x, batch.y, batch.weight, batch_size=self.part, shuffle=False)
        draw = Draw(self.seed_).at("evaluate")
        with draw.scope():
            objective = self.objective(self.module_, self.target_).eval()
        return evaluate_objective(objective, source, draw)

    def _apply(self, f: Callable[[Tensor], Tensor], X: ArrayLike) -> np.ndarray:
        """f of rows, in parts, in evaluation mode, without gradients."""
        check_is_fitted(self)
        x = self._table(X)
        self.module_.eval()
        with torch.no_grad():
            parts = [f(self._part(np.asarray(x[i : i + self.part]))).cpu() for i in range(0, len(x), self.part)]
        return torch.cat(parts)[: len(x)].numpy()

    def _part(self, x: np.ndarray) -> Tensor:
        """Rows on the device, the last repeated up to a multiple of 8: kernels for fewer rows add in another order."""
        whole = torch.tensor(np.concatenate([x, np.repeat(x[-1:], -len(x) % 8, axis=0)]), device=self._device)
        return unit(whole, getattr(torch, self.dtype))

    # ---- files

    def get_state(self) -> dict[str, Tree]:
        """What was learned; modules as their tensors, the history without its times: two equal fits are equal files."""
        state = super().get_state()
        if "history_" in state:
            state["history_"] = [{k: v for k, v in row.items() if k != "seconds"} for row in self.history_]
        modules = {name: dict(value.state_dict()) for name, value in state.items() if isinstance(value, nn.Module)}
        return {**{name: value for name, value in state.items() if name not in modules}, "modules": modules}

    def set_state(self, state: Mapping[str, Tree]) -> None:
        """Rebuild the modules from the specs, and fill them."""
        super().set_state({name: value for name, value in state.items() if name != "modules"})
        vars(self).pop("_trainer", None)
        self.input_, self.target_ = InputSpec(*self.input_), TargetSpec(*self.target_)
        self._build(self.seed_, fresh=False)
        for name, values in state["modules"].items():
            fill(getattr(self, name), values, name)
        optim.freeze(self.module_, (self.training or Training()).freeze)
        self.module_.eval()


class NeuralTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NeuralEstimator):
    """A neural estimator that learns from X alone and transforms rows."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [self.dtype]
        return tags

    @property
    def _n_features_out(self) -> int:
        """Columns of `transform`, tried on a row of zeros; without the wrapper of `set_output`, which asks for them."""
        plain, x = type(self).transform.__wrapped__, np.zeros((1, *self.input_.shape))  # type: ignore[attr-defined]
        names = getattr(self, "feature_names_in_", None)
        return plain(self, x if names is None else pd.DataFrame(x, columns=names)).shape[1]
