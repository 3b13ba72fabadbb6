"""Estimators that train a net: which module, which objective; everything else is here.

fit, partial_fit:              rows -> source -> Trainer
evaluate, predict, batch:      checked(X, y) -> source -> net
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from math import ceil, prod
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
import torch
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from torch import Tensor, nn

from ... import optim
from ...check import Count, Positive
from ...data import Batch, InputSpec, Source, TargetSpec
from ...data.kinds import Kind, Table
from ...draw import Draw, seed_of
from ...errors import InputError
from ...nn import multiply_adds
from ...store import Tree
from ...train import Callback, EarlyStopping, Objective, Supervised, Trainer, device_for, threads_for
from ...train import evaluate as evaluate_objective
from .files import fill
from .rows import Data
from .stepped import Stepped

AUTO = 200  # rows of an automatic batch
PART, MOST = 2**19, 4096  # numbers and rows of a batch that is not trained on


class NeuralEstimator(Stepped):
    """An estimator that trains a net by gradients.

    Args:
        batch_size: Rows of a batch; "auto" takes all rows for optimizers that need them, else at most 200.
        optimizer: A name of the optimizer table, or a class or factory (params, lr=...) -> torch.optim.Optimizer.
        lr: Learning rate; None takes the family's, or the optimizer's own.
        patience: Epochs without improvement before training stops; None never stops early.
        dtype: float32 or float64.
        device: "auto", "cpu", "cuda", ...
    """

    batch_size: Count | Literal["auto"] = "auto"
    optimizer: str | Callable[..., Any] = "adam"
    lr: Positive | None = None
    patience: Count | None = None
    dtype: Literal["float32", "float64"] = "float32"
    device: str = "auto"

    clips: ClassVar[bool] = False  # whether jobs clip the numbers of a table for it
    default_lr: ClassVar[Mapping[str, float]] = {}  # learning rates by optimizer, where other than its own

    def kind(self) -> Kind:
        return Table(self.dtype)

    @abstractmethod
    def build(self, x: InputSpec, y: TargetSpec) -> nn.Module:
        """The net for inputs and targets like these."""

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        """What is minimized: the negative log-likelihood of y."""
        return Supervised(module, self.likelihood_)

    def raw(self, x: Tensor) -> Tensor:
        """Raw outputs of the net for a batch of inputs."""
        return self.module_(x)

    def augmentation(self) -> Callable[[Batch, Draw], Batch] | None:
        """What is done to every training batch; None: nothing."""
        return None

    def process(self, data: Data, held: Data | None) -> Trainer:
        """The trainer of a new net, or after `partial_fit`, `warm_start` or loading of the one that is there."""
        fresh = not (self.warm_start and hasattr(self, "module_"))
        return self.trainer(self.make() if fresh else self._objective(), data, held)

    def trainer(self, objective: Objective, data: Data, held: Data | None) -> Trainer:
        """A trainer of this objective on these rows."""
        if data.weight is not None and not objective.separable:
            raise InputError(f"{type(objective).__name__} is not a sum over rows: sample_weight cannot be used.")
        settings, source = self.settings, self.training_source(data)
        size = getattr(source, "batch_size", AUTO)
        self._trainer = Trainer(
            objective,
            source,
            optimizer=self.optimizer,
            lr=self.lr or (self.default_lr.get(self.optimizer) if isinstance(self.optimizer, str) else None),
            training=replace(settings, threads=settings.threads or threads_for(self._work() * size)),
            validation=None if held is None else self.source(self.watched(data, held), self.part),
            augment=self.augmentation(),
            horizon=self.epochs * ceil(len(source) / max(settings.accumulate, 1)),
            seed=self.seed_,
        )
        return self._trainer

    def watched(self, data: Data, held: Data) -> Data:
        """Rows held out, as the validation loss sees them."""
        return held

    def prepare(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, X_val: Any = None, y_val: Any = None
    ) -> Trainer:
        """All of `fit` but the training: rows checked and split, the net built, and the trainer that `fit` advances."""
        self._check_parameters()
        self.seed_ = seed_of(self.random_state)
        process = self.process(*self.read(X, y, sample_weight, X_val, y_val, share=self.validation))
        self.history_: list[dict[str, float]] = []
        self.stop_reason_ = ""
        return process

    def partial_fit(
        self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None, *, classes: ArrayLike | None = None
    ) -> Self:
        """One epoch more over these rows; the first call builds the net. A schedule ends after `epochs` of them.

        Args:
            X: Inputs.
            y: Targets.
            sample_weight: Weights of the rows.
            classes: All classes, where the first y need not have every one of them.
        """
        self._check_parameters()
        if getattr(self, "class_weight", None) == "balanced":
            what = "class_weight='balanced' needs all rows at once, which partial_fit does not have."
            raise InputError(f"{what} Pass the weights of the classes, e.g. from sklearn.utils.compute_class_weight.")
        if fresh := not hasattr(self, "module_"):
            self.seed_ = seed_of(self.random_state)
            data, _ = self.read(X, y, sample_weight, classes=classes)
        else:
            data = self.checked(X, y, sample_weight, train=True)
        if not fresh and hasattr(self, "_trainer"):
            self._trainer.set_source(self.training_source(data))
            history = self.history_
        else:
            self.trainer(self.make() if fresh else self._objective(), data, None)
            history = []
        self._run(self._trainer, 1, history=history)
        return self

    def make(self) -> Objective:
        """Module, likelihood and objective on their device, made under the seed's own draw."""
        with Draw(self.seed_).at("build").scope():
            self.make_modules()
            objective = self.objective(self.module_, self.target_)
        rows = AUTO if self.batch_size == "auto" else self.batch_size
        self._device = device_for(self.device, self._work() * rows if torch.cuda.is_available() else 0.0)
        return objective.to(self._device, self._dtype)

    def make_modules(self) -> None:
        """`module_`, and `likelihood_` where the task has one."""
        self.module_: nn.Module = self.build(self.input_, self.target_).to(self._dtype)
        self.likelihood_: Any = self.task().likelihood(self.target_)

    def _objective(self) -> Objective:
        """The objective of the module that is there already."""
        with Draw(self.seed_).at("aim").scope():
            return self.objective(self.module_, self.target_).to(self._device, self._dtype)

    def callbacks(self) -> list[Callback]:
        t = self.settings
        how = {"min_delta": t.min_delta, "restore": t.restore_best, "start": t.start}
        return [] if self.patience is None else [EarlyStopping(self.patience, **how)]

    def finish(self, process: Any) -> None:
        """Evaluation mode; the rows are let go."""
        self.module_.eval()
        process.drop_data()

    @property
    def _dtype(self) -> torch.dtype:
        return getattr(torch, self.dtype)

    @property
    def part(self) -> int:
        """Rows of a batch that is not trained on: fewer, the larger a row is."""
        return max(1, min(MOST, PART // max(1, prod(self.input_.shape))))

    def _work(self) -> int:
        """Multiply-adds of a forward pass of one row: a convolution uses a weight at every place, other layers once."""
        if any(isinstance(layer, nn.modules.conv._ConvNd) for layer in self.module_.modules()):
            with suppress(Exception):  # a module of the user's may do what shapes alone do not allow
                return sum(multiply_adds(self.module_, self.input_.shape).values())
        return sum(p.numel() for p in self.module_.parameters())

    def training_source(self, data: Data) -> Source:
        """Batches to train on; equal rows are merged where an epoch would be one batch of them."""
        shuffle = self.settings.shuffle
        if self.batch_size != "auto":
            return self.source(data, min(self.batch_size, len(data.x)), shuffle=shuffle)
        most = len(data.x) if optim.rule(self.optimizer).full_batch else AUTO
        data = data.merged(most) if self.kind().merge else data
        return self.source(data, min(most, len(data.x)), shuffle=shuffle)

    def source(self, data: Data, batch_size: int, *, shuffle: bool = False) -> Source:
        """Batches of checked rows on the device."""
        where: dict[str, Any] = {"dtype": self._dtype, "device": self._device}
        return data.x.source(data.y, data.weight, batch_size=batch_size, shuffle=shuffle, **where)

    def batch(self, X: Any, y: Any = None, sample_weight: Any = None) -> Batch:
        """All rows as the net sees them in training: checked, encoded, weighed by class too, on its device."""
        data = self.checked(X, y, sample_weight, train=y is not None)
        (found,) = self.source(data, max(len(data.x), 1)).batches(0, 0, Draw(0))
        return found._replace(index=None)

    def evaluate(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> dict[str, float]:
        """What the objective reports on these rows: its loss, and more where it has more."""
        data, draw = self.checked(X, y, sample_weight), Draw(self.seed_).at("evaluate")
        if y is None and self.task().needs_y:
            raise InputError(f"evaluate of {type(self).__name__} compares with targets: pass y, one for each row of X.")
        with draw.scope():
            objective = self.objective(self.module_, self.target_).eval()
        return evaluate_objective(objective, self.source(data, self.part), draw)

    def apply(self, f: Callable[[Any], Tensor], X: Any) -> np.ndarray:
        """f of what the net sees of X, part by part, in evaluation mode, without gradients."""
        data = self.checked(X)
        training = [layer for layer in self.module_.modules() if layer.training]
        self.module_.eval()
        try:
            with torch.no_grad():
                batches = self.source(data, self.part).batches(0, 0, Draw(0))
                found = torch.cat([f(_filled(batch.x))[: batch.n].cpu() for batch in batches]).numpy()
        finally:
            for layer in training:
                layer.training = True
        if len(found) < len(data.x):
            raise InputError(f"{len(data.x) - len(found)} of {len(data.x)} pictures cannot be decoded: leave them out.")
        return found

    def get_state(self) -> dict[str, Tree]:
        state = super().get_state()
        modules = {name: dict(value.state_dict()) for name, value in state.items() if isinstance(value, nn.Module)}
        return {**{k: v for k, v in state.items() if k not in modules and v is not None}, "modules": modules}

    def set_state(self, state: Mapping[str, Tree]) -> None:
        """Rebuild the modules from the specs, and fill them."""
        super().set_state({name: value for name, value in state.items() if name != "modules"})
        vars(self).pop("_trainer", None)
        self.make()
        for name, values in state["modules"].items():
            fill(getattr(self, name), values, name)
        optim.freeze(self.module_, self.settings.freeze)
        self.module_.eval()


def _filled(x: Any) -> Any:
    """Rows of a table repeated up to a multiple of 8: kernels for fewer rows add in another order."""
    if not isinstance(x, Tensor) or x.ndim != 2 or not len(x) % 8:
        return x
    return torch.cat([x, x[-1:].expand(-len(x) % 8, -1)])


class NeuralTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, NeuralEstimator):
    """A net that learns from X alone and transforms rows."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = [self.dtype]
        return tags

    @property
    def _n_features_out(self) -> int:
        """Columns of `transform`, tried on a row of zeros; without the wrapper of `set_output`, which asks for them."""
        plain, x = type(self).transform.__wrapped__, np.zeros((1, *self.input_.shape))  # type: ignore[attr-defined]
        names: Any = getattr(self, "feature_names_in_", None)
        return plain(self, x if names is None else pd.DataFrame(x, columns=names)).shape[1]
