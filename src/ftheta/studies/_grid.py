"""A study: one function measured over a grid of cells and over seeds, and claims judged by named checks.

measure(seed, **cell, **settings) -> {name: number or array}       cell: one value of each axis of the grid
measured[name]: (axis 1, ..., axis k, seed, ...)                   kept cell by cell, never measured twice
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np

from ..errors import InputError
from ..plots import Figure
from ..results import Table
from ._checks import Check, Checks, Verdict, verdict

Claim = Callable[["Measured"], Checks]


@dataclass(frozen=True)
class Finding:
    """The verdict of a study on one row of the ledger."""

    row: str
    source_says: Any  # what the document prints: words or numbers
    verdict: Verdict
    checks: tuple[Check, ...]
    reference: Any = None  # a number of our own
    right: Any = None  # the right value, where the source is wrong and it is known


def mean_sd(values: Any) -> str:
    """Mean ± standard deviation over seeds, as text; NaN is left out.

    Example:
        >>> mean_sd([1.0, 2.0, 3.0])
        '2 ± 1'
    """
    values = np.asarray(values, dtype=float).ravel()
    values = values[np.isfinite(values)]
    if not len(values):
        return ""
    spread = f" ± {values.std(ddof=1):.3g}" if len(values) > 1 else ""
    return f"{values.mean():.3g}{spread}"


class Measured(dict[str, np.ndarray]):
    """Arrays by name, (axis 1, ..., axis k, seed, ...), with the labels of the axes."""

    def __init__(self, arrays: Mapping[str, Any], axes: Mapping[str, Sequence[Any]]) -> None:
        super().__init__({key: np.asarray(value) for key, value in arrays.items()})
        self.axes = {name: list(values) for name, values in axes.items()}

    def at(self, name: str, **where: Any) -> np.ndarray:
        """One measurement where some axes have these values; the other axes and the seeds are left."""
        return self[name][tuple(v.index(where[k]) if k in where else slice(None) for k, v in self.axes.items())]

    @property
    def numbers(self) -> list[str]:
        """Names of measurements that are one number per cell and seed."""
        return [name for name, value in self.items() if value.ndim == len(self.axes) + 1]

    def table(self) -> Table:
        """One row per cell: mean ± standard deviation over seeds."""
        cells = list(product(*self.axes.values()))
        columns: dict[str, list[Any]] = {name: [cell[i] for cell in cells] for i, name in enumerate(self.axes)}
        for name in self.numbers:
            columns[name] = [mean_sd(values) for values in self[name].reshape(len(cells), -1)]
        return Table(columns, "Mean ± standard deviation over seeds")

    def figures(self) -> dict[str, Figure]:
        """One per measurement: lines along a numeric last axis or along a curve, else means with their ranges."""
        return {name: self._figure(name) for name in self if self[name].ndim <= len(self.axes) + 2}

    def _figure(self, name: str) -> Figure:
        from .. import plots

        axes, value = list(self.axes.values()), self[name].astype(float)
        curve = name not in self.numbers
        numeric = bool(axes) and len(axes[-1]) > 1 and all(isinstance(x, int | float) for x in axes[-1])
        if not curve and not numeric:
            cells = zip(product(*axes), value.reshape(-1, value.shape[-1]), strict=True)
            rows = [(" ".join(map(str, cell)) or name, s.mean(), s.min(), s.max()) for cell, s in cells]
            return plots.whiskers({f"{name}: mean and range over seeds": rows})
        middle = np.median(value, axis=len(axes))
        if curve:
            outer, names, at = axes[:-1], axes[-1] if axes else [name], np.arange(value.shape[-1])
        else:
            outer, names, at = axes[:-2], axes[-2] if len(axes) > 1 else [name], axes[-1]
        panels = zip(product(*outer), middle.reshape(-1, len(names), middle.shape[-1]), strict=True)
        lines = {
            " ".join(map(str, panel)) or name: {str(n): (at, y) for n, y in zip(names, part, strict=True)}
            for panel, part in panels
        }
        return plots.panels(lines, x="step" if curve else list(self.axes)[-1], label=name)


@dataclass
class Study:
    """What is measured, where, how often, and what is claimed."""

    measure: Callable[..., Mapping[str, Any]]  # (seed, **cell, *, settings) -> numbers and arrays by name
    grid: Mapping[str, Sequence[Any]]  # axes by name, with their values
    seeds: int  # repetitions of every cell
    tiny: Mapping[str, Any]  # axes, seeds and settings of a run of about a second
    inner: Mapping[str, Sequence[Any]] = field(default_factory=dict)  # axes along which one call gives arrays
    claims: dict[str, tuple[dict[str, Any], Claim]] = field(default_factory=dict, init=False)
    figures: dict[str, Callable[[Measured], Figure]] = field(default_factory=dict, init=False)  # its own

    def claim(self, row: str, *, says: Any, reference: Any = None, right: Any = None) -> Callable[[Claim], Claim]:
        """Enter the checks of a row of the ledger; `says` is what the source prints."""

        def enter(checks: Claim) -> Claim:
            self.claims[row] = ({"source_says": says, "reference": reference, "right": right}, checks)
            return checks

        return enter

    @property
    def settings(self) -> dict[str, Any]:
        """All that can be set: seeds, axes, and the keyword defaults of `measure`."""
        parameters = inspect.signature(self.measure).parameters.values()
        own = {p.name: p.default for p in parameters if p.default is not p.empty}
        return {"seeds": self.seeds, **{name: tuple(values) for name, values in self.grid.items()}, **own}

    def changed(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """The settings with some of them changed, each value of the type of its default."""
        known = self.settings
        return known | {name: like(name, known[name], value) for name, value in changes.items() if name in known}

    def keys(self, settings: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Cell and seed of every call of `measure`."""
        axes = (settings[name] for name in self.grid)
        return [(*cell, seed) for cell in product(*axes) for seed in range(settings["seeds"])]

    def one(self, settings: Mapping[str, Any], key: Sequence[Any]) -> dict[str, Any]:
        """Measure one cell with one seed."""
        own = {name: value for name, value in settings.items() if name != "seeds" and name not in self.grid}
        return dict(self.measure(key[-1], **dict(zip(self.grid, key, strict=False)), **own))

    def gather(self, settings: Mapping[str, Any], results: Sequence[Mapping[str, Any]]) -> Measured:
        """The results of all keys as arrays."""
        axes = {name: settings[name] for name in self.grid}
        shape = (*map(len, axes.values()), settings["seeds"])
        arrays = {key: np.array([one[key] for one in results]) for key in results[0]}
        full = {key: value.reshape(*shape, *value.shape[1:]) for key, value in arrays.items()}
        last = len(axes) + len(self.inner)
        moved = {key: np.moveaxis(v, len(axes), last) if v.ndim > last else v for key, v in full.items()}
        return Measured(moved, {**axes, **self.inner})

    def run(self, **changes: Any) -> Measured:
        """Measure everything here and now, without a folder."""
        settings = self.changed(changes)
        return self.gather(settings, [self.one(settings, key) for key in self.keys(settings)])

    def judge(self, measured: Measured, changed: Sequence[str] = ()) -> list[Finding]:
        """One finding per claim, from the measurements alone; undecided where the user changed axes of the grid."""
        findings = []
        for row, (source, checks) in self.claims.items():
            missing = Check(f"not judged: the claim needs the study's own values of {', '.join(changed)}", None)
            parts = (missing,) if changed else tuple(checks(measured))
            findings.append(Finding(row, verdict=verdict(parts), checks=parts, **source))
        return findings


def like(name: str, default: Any, value: Any) -> Any:
    """A value of the type of the default; a single value of an axis is an axis of one."""
    if isinstance(default, tuple):
        return tuple(value) if isinstance(value, list | tuple) else (value,)
    right = type(value) is type(default) or (isinstance(default, float) and type(value) is int) or default is None
    if not right or (name == "seeds" and value < 1):
        wanted = "at least 1" if name == "seeds" else type(default).__name__
        raise InputError(f"--set {name}={value!r}: expected {wanted}.")
    return float(value) if isinstance(default, float) else value
