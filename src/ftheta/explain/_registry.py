"""Explanations by name: each states the capability that it needs, and none knows a family.

An explanation is a function (obj, ...) -> Result. Its parameters X and y, where it has them, are the rows to explain.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import Parameter, get_annotations, signature
from typing import Any, ParamSpec, Protocol, TypeVar, get_args, runtime_checkable

from torch import nn

from .. import catalog
from ..data import Batch, TargetSpec
from ..errors import InputError, InputTypeError
from ..results import Result
from ..train import Objective

__all__ = [
    "Explanation",
    "HasHistory",
    "HasModule",
    "HasObjective",
    "available",
    "explanation",
    "get",
    "require",
    "run",
]

P = ParamSpec("P")
R = TypeVar("R", bound=Result)


@runtime_checkable
class HasModule(Protocol):
    """a fitted estimator with its net in module_"""

    module_: nn.Module


@runtime_checkable
class HasObjective(HasModule, Protocol):
    """a fitted estimator with module_, target_, objective and batch, or a module together with loss="""

    target_: TargetSpec

    def objective(self, module: nn.Module, y: TargetSpec) -> Objective:
        """What is minimized."""
        ...

    def batch(self, X: Any, y: Any = None) -> Batch:
        """Rows as the net sees them."""
        ...


@runtime_checkable
class HasHistory(Protocol):
    """a fitted estimator with the rows of its training in history_"""

    history_: list[dict[str, float]]


@dataclass(frozen=True)
class Explanation:
    """A registered explanation; called with (obj, X, y), it takes of these what it has parameters for.

    Args:
        name: What the command line calls it.
        needs: Capability of the object: a runtime-checkable Protocol, a class, or several with `|`.
        function: What computes it.
        when: What a type cannot tell: whether an object with the capability can give it; None: always.
        all_rows: Whether it is of all rows that a model was fitted to, and not of any that are shown to it.
    """

    name: str
    needs: Any
    function: Callable[..., Result]
    when: Callable[[Any], bool] | None = None
    all_rows: bool = False

    def __call__(self, obj: Any, X: Any = None, y: Any = None) -> Result:
        """The result for these rows, as far as it depends on rows."""
        require(obj, self.needs, self.function.__name__)
        wanted, given = signature(self.function).parameters, {"X": X, "y": y}
        for name, value in given.items():
            if value is None and name in wanted and wanted[name].default is Parameter.empty:
                raise InputError(f"{self.name} looks at rows, but {name} is None; pass {name}.")
        return self.function(obj, **{name: value for name, value in given.items() if name in wanted})


_TABLE: dict[str, Explanation] = {}


def explanation(
    name: str,
    *,
    needs: Any,
    when: Callable[[Any], bool] | None = None,
    all_rows: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register a function (obj, ...) -> Result under a name, for all objects with a capability.

    Args:
        name: A name that no other explanation has.
        needs: A runtime-checkable Protocol, a class, or several with `|`.
        when: Asked of an object with the capability, where its type does not tell; the function refuses the others.
        all_rows: Whether it needs all rows that the model was fitted to.
    """

    def register(function: Callable[P, R]) -> Callable[P, R]:
        if name in _TABLE:
            raise InputError(f"There is already an explanation {name!r}; choose another name.")
        entry = Explanation(name, needs, function, when, all_rows)
        _TABLE[name] = vars(function)["explanation"] = entry
        return function

    return register


def available(obj: Any) -> list[str]:
    """Names of the explanations that an object can give.

    Example:
        >>> available(nn.Linear(2, 1))
        ['activations', 'network', 'summary']
    """
    catalog.install()
    listed = [name for name, view in catalog.VIEWS.items() if _has(obj, view.needs)]
    entries = {name: get(name) for name in [*listed, *(_TABLE.keys() - catalog.VIEWS.keys())]}
    fits = {name: entry.when for name, entry in entries.items() if isinstance(obj, entry.needs)}
    return sorted(name for name, when in fits.items() if when is None or when(obj))


def _has(obj: Any, needs: str) -> bool:
    """Whether an object has these attributes; a module counts as its own module_."""
    own = {"module_"} if isinstance(obj, nn.Module) else set()
    return all(any(name in own or hasattr(obj, name) for name in word.split("|")) for word in needs.split())


def get(name: str) -> Explanation:
    """The explanation of this name."""
    return _TABLE[name] if name in _TABLE else catalog.load(catalog.view(name).target).explanation


def run(name: str, obj: Any, X: Any = None, y: Any = None) -> Result:
    """One explanation of an object; rows are given to those that look at rows.

    Example:
        >>> run("summary", nn.Linear(2, 1), [[0.5, 1.5]]).table().columns["parameters"]
        [3]
    """
    return get(name)(obj, X, y)


def require(obj: Any, needs: Any, name: str) -> None:
    """The sentence for an object without the capability."""
    if isinstance(obj, needs):
        return
    kinds = get_args(needs) or (needs,)
    missing = [member for kind in kinds for member in _members(kind) if not hasattr(obj, member)]
    what = f"has no {missing[0]}" if missing else "does not fit"
    raise InputTypeError(f"{type(obj).__name__} {what}; {name} needs {' or '.join(map(_words, kinds))}.")


def _members(kind: type) -> Iterator[str]:
    """What a protocol asks for, bases first; nothing for other classes."""
    if getattr(kind, "_is_protocol", False):
        for base in reversed(kind.__mro__):
            yield from (member for member in (*get_annotations(base), *vars(base)) if not member.startswith("_"))


def _words(kind: type) -> str:
    if kind is nn.Module:
        return "an nn.Module"
    return str(kind.__doc__) if getattr(kind, "_is_protocol", False) else f"an instance of {kind.__name__}"
