"""Estimators that run in steps.

    fit:  check X and y -> hold out rows -> process -> iterate -> what was learned

A family says, in public methods: `kind()` what X is, `task()` what y is, `process(data, held)` what runs in steps, and
`finish(process)` what was learned. Seeds, runs, resume, history, progress and Ctrl-C are here.
"""

import json
import warnings
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from copy import deepcopy
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ... import check
from ...base import Estimator
from ...check import Count, RandomState, Share
from ...data import InputSpec, TargetSpec, holdout
from ...data.kinds import Inputs, Kind, Table
from ...draw import Draw, seed_of
from ...errors import InputError, RunError
from ...store import Run, Tree
from ...tasks import Task, Transform
from ...train import Callback, Context, Process, Progress, Training, iterate
from .files import described, facts_of, restore
from .rows import Data, digest, taken

HARMLESS = ("seconds", "every", "threads", "progress")  # settings that a continued run may change


class Stepped(CallbackSupportMixin, Estimator):
    """An estimator whose `fit` runs in steps.

    Args:
        epochs: Rounds at most, e.g. passes over the rows.
        validation: Share of the rows held out for validation.
        warm_start: Whether `fit` continues from what the last `fit` learned.
        random_state: Seed; None takes fresh entropy, kept in `seed_`.
        training: Rarely used settings.
    """

    epochs: Count = 50
    validation: Share = 0.0
    warm_start: bool = False
    random_state: RandomState = None
    training: Training | None = None

    defaults: ClassVar[Mapping[str, Any]] = {}  # the family's own values of fields of Training

    # ---- what a family says

    def kind(self) -> Kind:
        """What X is."""
        return Table("float64")

    def task(self) -> Task:
        """What y is; `input_` is known."""
        return Transform()

    @abstractmethod
    def process(self, data: Data, held: Data | None) -> Process:
        """What runs in steps, from rows to learn from and rows held out."""

    def finish(self, process: Any) -> None:
        """Take over what was learned, however it ended."""

    def unfinished(self, process: Any) -> str:
        """What a warning says where it ended before it converged; empty: no warning."""
        patience = getattr(self, "patience", None)
        if self.stop_reason_ != "rounds" or patience is None or patience >= self.rounds():
            return ""
        return f"All {self.epochs} epochs were used before patience={patience} ended training. Raise epochs."

    def rounds(self) -> int:
        """Rounds of `fit`, at most."""
        return self.epochs

    def callbacks(self) -> list[Callback]:
        """What watches the steps."""
        return []

    def started_from(self) -> Mapping[str, Tree]:
        """What a run is compared with when it is continued, beside parameters and data."""
        return {}

    # ---- fitting

    @property
    def settings(self) -> Training:
        """The settings of training: what the user passed, else the family's defaults."""
        return Training(**self.defaults) if self.training is None else self.training

    def _default_of(self, name: str, holder: type) -> Any:
        return holder(**self.defaults) if name == "training" else holder()

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        run: Run | Path | str | None = None,
        callbacks: Sequence[Callback] = (),
    ) -> Self:
        """Learn from X and y.

        Args:
            X: Inputs of the estimator's kind, e.g. a table (n, D).
            y: Targets of its task, e.g. (n,) or (n, T).
            sample_weight: Weights of the rows; k copies of a row are weight k.
            X_val: Rows for validation instead of a share of X.
            y_val: Their targets.
            run: Folder for metrics and checkpoints; continued if parameters and data agree.
            callbacks: Called in every step and after every epoch, beside the estimator's own.

        Returns:
            The estimator itself.
        """
        self._check_parameters()
        context: Any = self._init_callback_context(max_subtasks=self.rounds())
        context.rows = {"X": X, "y": y}  # what scikit-learn's callbacks are told in every epoch too
        context.call_on_fit_task_begin(estimator=self, **context.rows)
        with nullcontext() if run is None else run if isinstance(run, Run) else Run(run) as folder:
            known = facts_of(folder) if folder and folder.has("fit.json") else {}
            learn = not (self.warm_start and hasattr(self, "input_"))
            self.seed_ = known["seed"] if known else seed_of(self.random_state)
            data, held = self.read(X, y, sample_weight, X_val, y_val, share=self.validation, learn=learn)
            if not (folder and self._finished(folder, known, data, held)):
                process = self.process(data, held)
                self._run(process, self.rounds(), folder, callbacks, history=[])
                if folder:
                    self._save_into(folder)
                self.warning_ = self.unfinished(process)
                if self.warning_:
                    warnings.warn(self.warning_, ConvergenceWarning, stacklevel=3)
        context.call_on_fit_task_end(estimator=self, **context.rows)
        return self

    def _finished(self, run: Run, known: Mapping[str, Any], *rows: Data | None) -> bool:
        """Compare with what a run was started with; take over the model of a finished one."""
        settings = {k: v for k, v in asdict(self.settings).items() if k not in HARMLESS}
        own = {k: v for k in self.code if callable(v := getattr(self, k, None))}
        params = {**self._params_tree(), **own, "training": settings, **self.started_from()}
        told = json.loads(json.dumps(params, default=_name_of))
        facts = {"class": type(self).__name__, "parameters": told, "data": digest(*rows)}
        if not known:
            run.write("fit.json", json.dumps({**facts, "seed": self.seed_}, indent=2) + "\n")
        elif differing := [key for key in facts if facts[key] != known[key]]:
            rest = "it is continued with the same only. Choose another run folder."
            raise RunError(f"{run.path} was started with other {' and '.join(differing)}; {rest}")
        if run.status != "finished":
            return False
        with described(run.path):
            restore(self, run.check().tree("model.safetensors")["state"], f"{run.path}/model.safetensors")
        self.history_ = run.rows()  # with its times
        return True

    def _run(
        self,
        process: Any,
        rounds: int,
        run: Run | None = None,
        callbacks: Sequence[Callback] = (),
        *,
        history: list[dict[str, float]],
    ) -> None:
        settings, self.history_, self.stop_reason_ = self.settings, history, ""
        try:
            iterate(
                process,
                rounds=rounds,
                seconds=settings.seconds,
                callbacks=[*self.callbacks(), *callbacks, _Told(self), Progress(settings.progress)],
                run=run,
                every=settings.every,
                history=history,
            )
        finally:
            self.n_iter_ = getattr(process, "epoch", len(history))  # a damaged log may have lost rows
            self.finish(process)

    # ---- rows

    def read(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        X_val: Any = None,
        y_val: Any = None,
        *,
        share: float = 0.0,
        classes: Any = None,
        learn: bool = True,
    ) -> tuple[Data, Data | None]:
        """Rows to learn from and rows held out, checked and encoded; `input_` and `target_` come from the former.

        Args:
            X: Inputs.
            y: Targets.
            sample_weight: Weights of the rows.
            X_val: Rows for validation.
            y_val: Their targets.
            share: Share of X to hold out.
            classes: All classes, where y need not have every one of them.
            learn: Whether `input_` and `target_` are learned anew.
        """
        if y_val is not None and X_val is None:
            raise InputError("y_val was given without X_val. Pass both, or validation=0.1 for a share of X.")
        if X_val is not None and share:
            raise InputError(f"validation={share} and X_val were both given. Pass one of the two.")
        kind = self.kind()
        x: Any = kind.check(X, self, None if learn else self.input_)
        y = getattr(x, "labels", None) if y is None else y
        n, weight = len(x), check.weights(sample_weight, len(x))
        kept = np.arange(n) if weight is None else np.flatnonzero(weight)
        if (len(kept) < n or share) and hasattr(y, "__len__") and len(y) != n:
            raise check.unequal(n, "y", len(y))
        kept, aside = self._split(kind, x, y, kept, share)
        part = x if len(kept) == n else x.take(kept)
        if learn:
            self.input_ = kind.learn(part) if len(aside) else x.spec
        targets = y if len(kept) == n else taken(y, kept)
        data = self._encoded(part, targets, taken(weight, kept), learn=learn, classes=classes)
        if X_val is not None:
            return data, self.checked(X_val, y_val, train=True)
        return data, self._encoded(x.take(aside), taken(y, aside), taken(weight, aside)) if len(aside) else None

    def _encoded(self, x: Any, y: Any, weight: Any, *, learn: bool = False, classes: Any = None) -> Data:
        """Rows to train on or to validate with."""
        task, name, n = self.task(), type(self).__name__, len(x)
        if learn:
            self.target_ = task.learn(name, y, n, weight, classes)
        task.match(name, x, y)
        found = Data(replace(x, spec=self.input_), task.encode(name, y, n, self.target_), weight)
        return self._weighed(found, train=True)

    def _split(self, kind: Kind, x: Inputs, y: Any, kept: np.ndarray, share: float) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of the rows to learn from, and of those held out."""
        if not share:
            return kept, kept[:0]
        self.input_ = x.spec if not hasattr(self, "input_") else self.input_
        how, labels = kind.split, None
        if how == "random" and self.task().stratify and np.size(check.plain(y)) == len(x):
            how, labels = "stratified", np.unique(np.ravel(check.plain(y))[kept], return_inverse=True)[1]
        first, last = holdout(len(kept), share, Draw(self.seed_).at("split"), split=how, y=labels)
        return kept[first], kept[last]

    def checked(self, X: Any, y: Any = None, sample_weight: Any = None, *, train: bool = False) -> Data:
        """Rows for a fitted estimator; with `train` they are weighed by class too."""
        if not hasattr(self, "input_"):
            check_is_fitted(self)
        x = self.kind().check(X, self, self.input_)
        if y is None and sample_weight is None and not train:
            return Data(x)
        task = self.task()
        wanted = y is not None or (train and task.needs_y)
        task.match(type(self).__name__, x, y)
        targets = task.encode(type(self).__name__, y, len(x), self.target_) if wanted else None
        return self._weighed(Data(x, targets, check.weights(sample_weight, len(x))), train=train)

    def _weighed(self, data: Data, *, train: bool) -> Data:
        if data.y is not None:
            data = data._replace(weight=self.task().weigh(data.y, data.weight, self.target_, train=train))
        data = data.without_zeros()
        if not len(data.x):
            raise InputError("All rows have weight 0. Check sample_weight, class_weight and ignored labels.")
        return data

    # ---- state

    def get_state(self) -> dict[str, Tree]:
        """What was learned; the history is without its times: two equal fits are equal files."""
        state = {k: list(v) if k in ("input_", "target_") else v for k, v in super().get_state().items()}
        state.pop("warning_", None)  # of the fit, not of the model
        if "history_" in state:
            state["history_"] = [{k: v for k, v in row.items() if k != "seconds"} for row in self.history_]
        return state

    def set_state(self, state: Mapping[str, Tree]) -> None:
        super().set_state(state)
        self.input_ = InputSpec(tuple(self.input_[0]), self.input_[1])
        self.target_ = TargetSpec(*self.target_)
        self.kind().verify(self.input_)
        self.task().verify(self.target_)

    def _html_repr(self) -> str:
        """scikit-learn's box, below one line about the fit."""
        return _fit_in_words(self) + super()._html_repr()


def _fit_in_words(estimator: Any) -> str:
    """Parameters, epochs and last losses as a paragraph; nothing before the fit."""
    rows = getattr(estimator, "history_", None) or [{}]
    n = sum(p.numel() for p in estimator.module_.parameters()) if hasattr(estimator, "module_") else 0
    epochs = getattr(estimator, "n_iter_", 0)
    losses = [f"{key.replace('_', ' ')} {rows[-1][key]:.4g}" for key in ("loss", "valid_loss") if key in rows[-1]]
    words = [f"{n:,} parameters" * (n > 0), f"{epochs} epoch{'s' * (epochs != 1)}" * (epochs > 0), *losses]
    said = ", ".join(filter(None, words))
    return f"<p>{said}</p>\n" if said else ""


def _name_of(code: Any) -> str:
    """A class or a function of the user's, as a run is compared with it."""
    return f"{getattr(code, '__module__', '')}:{getattr(code, '__qualname__', type(code).__qualname__)}"


class _Told(Callback):
    """Tells scikit-learn's callbacks of every epoch, and the estimator why it ended."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def on_row(self, ctx: Context, row: Mapping[str, float]) -> None:
        """One task per epoch; a callback may ask to stop."""
        estimator = self.estimator
        if getattr(estimator, "_skl_callbacks", None) and hasattr(estimator, "_callback_fit_ctx"):
            self._tell(ctx, estimator, estimator._callback_fit_ctx)
        module = getattr(estimator, "module_", None)
        if module is not None and not module.training and hasattr(ctx.process, "train_mode"):
            ctx.process.train_mode()  # type: ignore[attr-defined]  # a callback has used the module

    def _tell(self, ctx: Context, estimator: Any, context: Any) -> None:
        task = context.subcontext("epoch").call_on_fit_task_begin(estimator=estimator)

        def learned() -> dict[str, Any]:  # a copy, which training does not change
            return {"n_iter_": ctx.round, **{k: deepcopy(v) for k, v in vars(estimator).items() if k == "module_"}}

        if task.call_on_fit_task_end(estimator=estimator, reconstruction_attributes=learned, **context.rows):
            ctx.stop("a callback asked to stop")

    def on_end(self, ctx: Context) -> None:
        self.estimator.stop_reason_ = ctx.reason
