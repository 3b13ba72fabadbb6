"""The course of a training: what was logged in every epoch, and the norm of the gradient by layer and step.

    best = first argmin_e valid_loss(e),      or of the training loss without validation
    ‖g‖ of a layer = (Σ ‖g of its tensors‖²)^{1/2},      factor = ‖g first layer‖ / ‖g last layer‖, medians over steps

Below 1/100 the gradient vanishes on its way to the input: the first layers stand still. It explodes where it grows
a hundredfold on that way, a thousandfold in time, to a hundred times the weights themselves, or is no longer finite.

Shapes: E epochs; T recorded steps, L layers with weights, from input to output.
"""

from collections.abc import Iterator
from copy import deepcopy
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ... import plots
from ...check import Count
from ...data import Rows
from ...errors import InputError, NonFiniteError
from ...likelihoods import Gaussian
from ...plots import PALETTE, Figure, canvas, distinct, drawn
from ...results import Result
from ...train import GradientNorms, Supervised, Trainer, iterate
from .._point import LossLike, loss_of, usual
from .._probe import batch_of, module_of
from .._registry import explanation
from ..surface.learning_rate import seed_of

_WATCHED = {"loss": "training loss", "valid_loss": "validation loss"}  # the last one there is decides
_COUNTS = ("epoch", "round", "step", "rows")
VANISHING_BELOW, EXPLODING_ABOVE = 1e-2, 1e2  # ‖g‖ of the first layer over that of the last; above: also ‖g‖ / ‖θ‖
GROWTH_ABOVE, FROZEN_BELOW = 1e3, 1e-6  # largest over first gradient; largest ‖g‖ / ‖θ‖
LEAST_EPOCHS, LATE = 4, 0.1  # epochs for a verdict; share of them, at the end, that it looks at
STILL, WORSE = 0.01, 0.02  # shares of the whole fall: what it still falls there, and what it rises above the best
MAX_NAMED = 12  # layers that all stand in the legend
_FLAT = {"Sigmoid": "1/4", "LogSigmoid": "1", "Tanh": "1", "Softsign": "1", "Hardsigmoid": "1/6", "Hardtanh": "1"}


class Curves(Result):
    """The history of a training, by column."""

    history: dict[str, np.ndarray]  # every number that was logged, by name: (E,) each; NaN where a row does not have it
    watched: str | None  # the column that decides which epoch is the best: valid_loss, else loss, else None
    best: int | None  # the epoch with the lowest watched number; the first of several
    spread: float | None = None  # of a Gaussian of fixed width: its standard deviation, in units of y
    floor: float = 0.0  # the loss of such a Gaussian where nothing is wrong
    target: str = "y"
    surrogate: str = ""  # what the training loss is, where it is not to be minimized

    def columns(self) -> dict[str, np.ndarray]:
        integers = {name for name, v in self.history.items() if np.isfinite(v).all() and (v == np.round(v)).all()}
        return {name: v.astype(int) if name in integers else v for name, v in self.history.items()}

    @property
    def caption(self) -> str:
        found = self.verdict and f": {self.verdict}"
        best = "" if self.watched is None else f"Lowest {self.watched} in {self._clock} {self.best}{found}."
        note = f"The training loss is a {self.surrogate}, which is not to be minimized." if self.surrogate else ""
        return " ".join(filter(None, [best, note]))

    @property
    def verdict(self) -> str:
        """What the watched loss says: still falling, overfits, or no better since; empty under four epochs."""
        loss = np.zeros(0) if self.watched is None else _of_last_phase(self.history, self.watched)
        at, loss = self.history[self._clock][: len(loss)][np.isfinite(loss)], loss[np.isfinite(loss)]
        if len(loss) < LEAST_EPOCHS or not np.ptp(loss):
            return ""
        k, late = int(loss.argmin()), max(1, round(LATE * len(loss)))
        fall = loss[0] - loss[k]
        if k >= len(loss) - late:
            return "still falling, train longer" if loss[-1 - late] - loss[k] > STILL * fall else "level at the end"
        worse = self.watched == "valid_loss" and loss[-late:].mean() - loss[k] > WORSE * fall
        return f"{'overfits from' if worse else 'no better since'} {self._clock} {at[k]:.0f}"

    @property
    def excerpt(self) -> list[int]:
        """The first, the best and the last epoch."""
        clock = self.history[self._clock]
        return sorted({0, len(clock) - 1} | ({*np.flatnonzero(clock == self.best)[:1].tolist()}))

    def figure(self) -> Figure:
        """Training and validation loss with the best epoch, and beside them what they mean: the root mean squared error
        in units of the target, or the share of right answers. Where there is not one loss, all that was logged."""
        found = {label: self.history[name] for name, label in _WATCHED.items() if name in self.history}
        panels = {"mean loss per row": found}
        if "loss" not in self.history:
            hidden = (*_COUNTS, *_WATCHED, "seconds", "lr")
            panels = {"logged value": {name: v for name, v in self.history.items() if name not in hidden} | found}
        elif self.surrogate:
            split = [(self.surrogate, "training loss"), ("mean loss per row", "validation loss")]
            panels = {label: {name: found[name]} for label, name in split if name in found}
        elif self.spread is not None:
            with np.errstate(invalid="ignore"):
                errors = {n: self.spread * np.sqrt(2 * np.maximum(v - self.floor, 0)) for n, v in found.items()}
            panels[f"root mean squared error of {self.target}"] = errors
        elif "valid_accuracy" in self.history:
            panels["share of right answers"] = {"validation accuracy": self.history["valid_accuracy"]}
        title = f"Learning curves: {self.verdict}" if self.verdict else "Learning curves"
        return plots.learning(self.history[self._clock], panels, self.best, x=self._clock, title=title)

    @property
    def _clock(self) -> str:
        return next(iter(self.history))


@explanation(
    "curves",
    when=lambda obj: any(name not in (*_COUNTS, "seconds") for row in obj.history_ for name in row),
    otherwise="has no loss in its history_; {} needs one, so train it",
)
def curves(obj: Any, *, target: str = "y") -> Curves:
    """The learning curves of a fitted estimator with `history_`, the best epoch, and what they say."""
    rows = list(obj.history_)
    names = dict.fromkeys(
        name for row in rows for name, value in row.items() if isinstance(value, Real) and not isinstance(value, bool)
    )
    columns = {name: np.array([row.get(name, np.nan) for row in rows], dtype=float) for name in names}
    clock = {"epoch": columns.pop("epoch")} if "epoch" in columns else {"round": np.arange(1.0, len(rows) + 1)}
    columns = clock | columns
    surrogate = getattr(obj, "surrogate", "")
    known = ["valid_loss"] if surrogate else reversed(_WATCHED)
    seen = (name for name in known if name in columns and not np.isnan(_of_last_phase(columns, name)).all())
    watched = next(seen, None)
    best = None if watched is None else int(next(iter(clock.values()))[np.nanargmin(_of_last_phase(columns, watched))])
    law, y, width = getattr(obj, "likelihood_", None), getattr(obj, "target_", None), (None, 0.0)
    if isinstance(law, Gaussian) and y is not None and y.n == 1 and "scale" in y.facts:
        width = float(law.scale * y.facts["scale"]), law.constant
    return Curves(columns, watched, best, *width, target, surrogate)


def _of_last_phase(columns: dict[str, np.ndarray], name: str) -> np.ndarray:
    """A column; NaN in all phases of a training but the last, whose losses are those of other weights or rows."""
    phase = columns.get("phase", np.zeros(1))
    return np.where(phase == phase[-1], columns[name], np.nan)


class GradientHistory(Result):
    """Norms by layer and step."""

    layers: tuple[str, ...]  # name of each layer with weights
    steps: np.ndarray  # number of each recorded update: (T,)
    norm: np.ndarray  # ‖g‖ as the rule saw it, with penalties and after clipping: (T, L)
    size: np.ndarray  # ‖θ‖ before: (T, L)
    kinds: tuple[str, ...]  # names of the classes of all modules, from which advice is made
    reason: str = ""  # why the training ended before its steps were done; empty where it did not

    @property
    def typical(self) -> np.ndarray:
        """Median of ‖g‖ over the steps where it is finite: (L,)."""
        return np.array([np.median(v[np.isfinite(v)]) if np.isfinite(v).any() else np.nan for v in self.norm.T])

    @property
    def factor(self) -> float:
        """‖g‖ of the first layer over that of the last: what is left of the gradient on its way through the net."""
        first, last = self.typical[[0, -1]]
        return float(first / last) if last else np.nan

    @property
    def relative(self) -> np.ndarray:
        """‖g‖ / ‖θ‖: (T, L); times the learning rate, the relative step of gradient descent."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.norm / self.size

    @property
    def growth(self) -> float:
        """Largest gradient of all layers together over the first."""
        total = np.sqrt((self.norm**2).sum(1))
        finite = total[np.isfinite(total)]
        return float(finite.max() / finite[0]) if finite.size and finite[0] else np.nan

    @property
    def strongest(self) -> float:
        """Largest finite ‖g‖ / ‖θ‖ of all layers and steps."""
        return float(np.nanmax(np.where(np.isfinite(self.relative), self.relative, 0)))

    @property
    def kind(self) -> str:
        """`vanishing`, `exploding` or `healthy`."""
        broken = not np.isfinite(self.norm).all() or self.reason or self.growth > GROWTH_ABOVE
        if broken or self.strongest > EXPLODING_ABOVE or self.factor > EXPLODING_ABOVE:
            return "exploding"
        return "vanishing" if self.factor < VANISHING_BELOW or not self.strongest > FROZEN_BELOW else "healthy"

    @property
    def verdict(self) -> str:
        """What the numbers say, in sentences."""
        each = abs(self.factor) ** (1 / max(len(self.layers) - 1, 1))
        across = f"‖g‖ of {self.layers[0]} is {self.factor:.2g} times that of {self.layers[-1]}, {each:.2g} per layer"
        if len(self.layers) == 1:
            across = f"there is one layer, {self.layers[0]}, and its median ‖g‖ is {self.typical[0]:.2g}"
        if self.kind == "vanishing":
            return f"The gradient vanishes: {across}, and ‖g‖ is at most {self.strongest:.2g} ‖θ‖."
        if self.kind == "healthy":
            return f"The gradient arrives: {across}."
        grown = f" and grows to {self.growth:.2g} times its first length" if self.growth > 2 else ""
        end = f" Training ended: {self.reason}" if self.reason else ""
        return f"The gradient explodes: it is up to {self.strongest:.2g} ‖θ‖{grown}; {across}.{end}"

    @property
    def advice(self) -> tuple[str, ...]:
        """What would help, from what the net is made of."""
        return () if self.kind == "healthy" else tuple(self._advice())

    def _advice(self) -> Iterator[str]:
        if self.kind == "exploding":
            yield "Clip the gradient: training=Training(clip_norm=1.0)."
            yield "Take a smaller learning rate; explain.learning_rate finds one."
            yield "Start with smaller weights: variance 1/fan-in for linear layers and tanh, 2/fan-in for ReLU."
            yield "Standardize inputs and targets."
        else:
            for name, most in _FLAT.items():
                if name in self.kinds:
                    yield f"Replace {name} by ReLU: δ is multiplied by its derivative in every layer, at most {most}."
            if "Sigmoid" in self.kinds:
                yield "Until then start with larger weights: of a sigmoid 1/4 remains, so variance 16/fan-in keeps δ."
            else:
                yield "Start with larger weights: variance 1/fan-in for tanh (Glorot), 2/fan-in for ReLU (He)."
        if not any("Norm" in kind for kind in self.kinds):
            yield "Normalize between the layers, e.g. nn.BatchNorm1d or nn.LayerNorm."
        if self.kind == "vanishing" and not any("Residual" in kind for kind in self.kinds):
            yield "Add residual connections: the identity carries δ past a layer."

    def columns(self) -> dict[str, Any]:
        return {
            "layer": self.layers,
            "first": self.norm[0],
            "median": self.typical,
            "largest": self.norm.max(0),
            "last": self.norm[-1],
            "median ‖g‖/‖θ‖": np.median(self.relative, axis=0),
        }

    @property
    def caption(self) -> str:
        return " ".join([self.verdict, *self.advice])

    @drawn
    def figure(self) -> Figure:
        """One line per layer, dark at the input, on a log scale; steps with a norm that is not finite have a cross."""
        from matplotlib import colormaps

        figure, axes = canvas(width=7.6, height=4.4)
        marks, pattern = distinct(list(self.layers), 22)
        last = len(marks) - 1
        some = set(np.linspace(0, last, min(last + 1, MAX_NAMED)).round().astype(int).tolist())
        for k, name in enumerate(marks):
            shown = np.where(np.isfinite(self.norm[:, k]) & (self.norm[:, k] > 0), self.norm[:, k], np.nan)
            look = {"color": colormaps["viridis"](0.88 * k / max(last, 1)), "marker": "o" if len(shown) <= 12 else ""}
            axes.plot(self.steps, shown, ms=4, lw=1.8, label=name if k in some else "_", **look)
        lost = self.steps[~np.isfinite(self.norm).all(1)]
        if lost.size:
            look = {"color": PALETTE[1], "ls": "", "ms": 8, "transform": axes.get_xaxis_transform()}
            axes.plot(lost, [0.97] * len(lost), marker="X", label="not finite", **look)
        axes.set(xlabel="step", ylabel="norm of the gradient ‖g‖ (log scale)", yscale="log")
        axes.set_title(f"Gradient by layer and step: {self.kind}")
        axes.xaxis.get_major_locator().set_params(integer=True)
        figure.legend(loc="outside right upper", title="layer, input first" + (f"\n* in {pattern}" if pattern else ""))
        return figure


@explanation("gradient-history", needs="prepare|gradient|module_")
def gradient_history(
    obj: Any,
    X: Any = None,
    y: Any = None,
    *,
    loss: LossLike = None,
    steps: Count = 50,
    every: Count = 1,
    optimizer: str = "sgd",
    lr: float | None = None,
    batch_size: Count = 64,
) -> GradientHistory:
    """Norms of gradients over a run: of one that was recorded, or of a copy that is trained for some steps.

    Args:
        obj: `train.GradientNorms` that watched a training; or a neural estimator, fitted or not, of which a copy is
            trained from its first weights as its own parameters say; or a module together with `loss`, of which a copy
            is trained from its present weights.
        X: Rows to train the copy on.
        steps: Updates of the copy.
        every: Steps between two records.
        optimizer: For a module: a name of the optimizer table.
        lr: For a module: learning rate.
        batch_size: For a module: rows of an update.

    Example:
        >>> from ftheta import MLPRegressor
        >>> x = np.linspace(-1, 1, 64)[:, None]
        >>> gradient_history(MLPRegressor(hidden=(16, 16), random_state=0), x, x[:, 0], steps=20).kind
        'healthy'
    """
    if isinstance(obj, GradientNorms):
        return _found(obj, "")
    if X is None:
        raise InputError("gradient_history trains a copy, but X is None; pass rows.")
    norms, reason = GradientNorms(every), ""
    if loss is None and hasattr(obj, "prepare"):
        own: Any = clone(obj)
        trainer = own.set_params(random_state=seed_of(obj)).prepare(X, y)
        trainer.validation = None
    else:
        batch = batch_of(module_of(obj), X, y)
        objective = Supervised(deepcopy(module_of(obj)), usual if loss is None else deepcopy(loss_of(loss)))
        rows = Rows(batch.x, batch.y, batch_size=min(batch_size, batch.n))
        trainer = Trainer(objective, rows, optimizer=optimizer, lr=lr)
    try:
        iterate(trainer, steps=steps, callbacks=[norms])
    except NonFiniteError as error:
        reason = str(error)
    return _found(norms, reason)


def _found(norms: GradientNorms, reason: str) -> GradientHistory:
    """Tensors put together into layers; those without a matrix (a normalization, a variance) are left out.

    Tensors of a list, as `weights.0`, are one layer each.
    """
    if not norms.gradient.any():
        raise InputError(
            "No step had a gradient: all are 0, or the optimizer asks for none, as 'lm', which takes the Jacobian; "
            "look at the loss, or take another optimizer, e.g. 'adam'."
        )
    owners = [name if name.rpartition(".")[2].isdigit() else name.rpartition(".")[0] for name in norms.names]
    weighty = [owner for owner, axes in zip(owners, norms.axes, strict=True) if axes > 1] or owners
    layers = tuple(dict.fromkeys(weighty))
    columns = [np.array([owner == layer for owner in owners]) for layer in layers]
    with np.errstate(over="ignore"):  # what is not finite stays in its own layer
        norm, size = (
            np.stack([np.sqrt((v[:, own] ** 2).sum(1)) for own in columns], 1)
            for v in (norms.gradient, norms.parameter)
        )
    return GradientHistory(tuple(n or "net" for n in layers), norms.steps, norm, size, norms.kinds, reason)
