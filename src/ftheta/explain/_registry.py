"""Explanations by name. What an object must have, and what arguments may be, is checked in one place.

An explanation is a function (obj, ...) -> Result. Its parameters X and y, where it has them, are the rows to explain.
Arguments are declared by annotations (`Count`, `Positive`, `Literal[...]`) and checked before the function runs.
"""

import types
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache, wraps
from inspect import Parameter, cleandoc, signature
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from sklearn.utils._param_validation import InvalidParameterError
from torch import nn

from .. import catalog, check
from ..errors import InputError, InputTypeError
from ..results import Result
from ..train import threads

P = ParamSpec("P")
R = TypeVar("R")
Names = Sequence[str] | None  # of columns or classes; None: as the model knows them
OBJECTIVE = "module_ target_ objective batch"  # what an estimator with a loss of its own has
_NEEDS = {
    "module_": "an nn.Module or a fitted estimator with its net in module_",
    "history_": "a fitted estimator with the rows of its training in history_",
}
_COMMON = {  # arguments that mean the same everywhere
    "obj": "A fitted estimator with a net in `module_`, or an nn.Module.",
    "model": "A fitted estimator, of scikit-learn too. Where it is a pipeline, X is what the pipeline takes.",
    "X": "Rows.",
    "y": "Their targets.",
    "loss": "half-square, square, absolute, bernoulli, categorical, the name of a likelihood, a likelihood, or a "
    "function (raw, y) -> loss of each row; None: the objective of an estimator without penalties; of a module half "
    "the squared error or, where y are integers, the cross-entropy.",
    "max_rows": "At most this many rows, evenly spaced; None: all.",
    "training": "In training mode: with dropout (one fixed draw) and the statistics of this batch.",
    "input_shape": "Shape of one row, where there is no X; an estimator knows it.",
    "random_state": "Seed of what is drawn.",
    "names": "What the columns of X are called; None: as the model knows them.",
    "scales": "Shift and scale of each column, (D, 2), so that shift + scale X is in the user's units; None: X is.",
    "classes": "What the classes are called, in the order of `classes_`; None: as the model knows them.",
    "target": "What y is called.",
}


@dataclass(frozen=True)
class Explanation:
    """A registered explanation; called with (obj, X, y) and the user's words, it takes what it has parameters for."""

    name: str  # on the command line
    function: Callable[..., Any]
    needs: str | type  # attributes that an object must have, as in the catalog, or its class
    when: Callable[[Any], bool] | None = None  # True if an object with them can give it; None: always
    all_rows: bool = False  # it needs all rows that a model was fitted to
    tested: bool = False  # it looks at rows of the test part as they were before encoding, and the model as a pipeline
    fresh: bool = False  # it looks at rows of the test part as the model takes them

    def __call__(self, obj: Any, X: Any = None, y: Any = None, **words: Any) -> Any:
        """The result for these rows, as far as it depends on rows; `words` are names, scales, classes and target."""
        wanted, given = signature(self.function).parameters, {"X": X, "y": y}
        other = "target" in wanted and not isinstance(wanted["target"].default, str)  # a class to explain, not a name
        given |= {k: v for k, v in words.items() if k in wanted and not (other and k == "target")}
        require(obj, self.needs, self.function.__name__)
        for name, value in [("X", X), ("y", y)]:
            if value is None and name in wanted and wanted[name].default is Parameter.empty:
                raise InputError(f"{self.name} looks at rows, but {name} is None; pass {name}.")
        return self.function(obj, **{name: value for name, value in given.items() if name in wanted})


_TABLE: dict[str, Explanation] = {}


def checked(needs: str | type = "", **how: Any) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Check arguments and document the common ones as `explanation` does, without a name for the command line."""
    return explanation("", needs=needs, **how)


def explanation(
    name: str,
    *,
    needs: str | type | None = None,
    when: Callable[[Any], bool] | None = None,
    otherwise: str = "",
    lifted_by: str = "",
    all_rows: bool = False,
    tested: bool = False,
    fresh: bool = False,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Register a function (obj, ...) -> Result under a name, for all objects that have what it needs; check its first
    argument and the declared ones before it runs, and document the common ones.

    Args:
        name: A name that no other explanation has.
        needs: Attributes that an object must have, e.g. "module_ target_"; a|b is one of the two. Or a class. None:
            those of the catalog's line of this name.
        when: As in `Explanation`, and so are all_rows, tested and fresh.
        otherwise: What the others are answered, with {} for the name of the function; empty: the function refuses them.
        lifted_by: An argument; where it is given, `when` does not count.
    """

    if name in _TABLE:
        raise InputError(f"There is already an explanation {name!r}; choose another name.")
    listed = catalog.VIEWS[name].needs if name in catalog.VIEWS else ""
    wanted = listed if needs is None else needs

    def register(function: Callable[P, R]) -> Callable[P, R]:
        bound = signature(function)

        @wraps(function)
        def call(*args: P.args, **options: P.kwargs) -> R:
            given = bound.bind(*args, **options).arguments
            obj = next(iter(given.values()))
            require(obj, wanted, function.__name__)
            if when and otherwise and given.get(lifted_by) is None and not when(obj):
                raise InputTypeError(f"{type(obj).__name__} {otherwise.format(function.__name__)}.")
            allowed = _declared(function)
            try:
                check.parameters(function.__name__, allowed, {n: v for n, v in given.items() if n in allowed})
            except InvalidParameterError as error:
                raise InputError(str(error)) from None
            return function(*args, **options)

        call.__doc__ = _documented(function)
        if name:
            stated = wanted if isinstance(wanted, type) else listed or wanted
            _TABLE[name] = Explanation(name, call, stated, when, all_rows, tested, fresh)
            vars(call)["explanation"] = _TABLE[name]
        return call

    return register


def available(obj: Any) -> list[str]:
    """Names of the explanations that an object can give: those that answer most users first.

    Example:
        >>> available(nn.Linear(2, 1))
        ['summary', 'activations', 'network']
    """
    catalog.install()
    listed = [name for name, view in catalog.VIEWS.items() if has(obj, view.needs)]
    entries = [get(name) for name in [*listed, *(_TABLE.keys() - catalog.VIEWS.keys())]]
    names = sorted(e.name for e in entries if has(obj, e.needs) and (e.when is None or e.when(obj)))
    return sorted(names, key=lambda name: catalog.VIEWS[name].order if name in catalog.VIEWS else 50)


def has(obj: Any, needs: str | type) -> bool:
    """True if an object has these attributes, or is of this class; a module counts as its own module_."""
    if isinstance(needs, type):
        return isinstance(obj, needs)
    own = {"module_"} if isinstance(obj, nn.Module) else set()
    return all(any(name in own or hasattr(obj, name) for name in word.split("|")) for word in needs.split())


def get(name: str) -> Explanation:
    """The explanation of this name."""
    return _TABLE[name] if name in _TABLE else catalog.load(catalog.view(name).target).explanation


def run(name: str, obj: Any, X: Any = None, y: Any = None, **words: Any) -> Result:
    """One explanation of an object; rows are given to those that look at rows, and the user's words (names, scales,
    classes, target) to those that show them.

    Example:
        >>> run("summary", nn.Linear(2, 1), [[0.5, 1.5]]).table().columns["parameters"]
        [3]
    """
    known = catalog.VIEWS.get(name)
    with nullcontext() if known and known.cost == "slow" else threads(1):  # of few rows
        return get(name)(obj, X, y, **words)


def require(obj: Any, needs: str | type, caller: str) -> None:
    """Refuse an object that does not have what an explanation needs."""
    if has(obj, needs):
        return
    if isinstance(needs, type):
        raise InputTypeError(f"{type(obj).__name__} does not fit; {caller} needs an instance of {needs.__name__}.")
    missing = next(word for word in needs.split() if not has(obj, word)).replace("|", " or ")
    what = _NEEDS.get(missing, f"a fitted object with {', '.join(needs.split()).replace('|', ' or ')}")
    raise InputTypeError(f"{type(obj).__name__} has no {missing}; {caller} needs {what}.")


@cache
def _declared(function: Callable[..., Any]) -> dict[str, Any]:
    """scikit-learn's constraints of the arguments whose annotations are numbers, Booleans or literals."""
    hints = get_type_hints(function, include_extras=True)
    names = [name for name in signature(function).parameters if name in hints and _is_declared(hints[name])]
    return check.constraints(function, names)  # pyright: ignore[reportArgumentType]


def _is_declared(hint: Any) -> bool:
    kind = get_origin(hint)
    if kind in (Union, types.UnionType):
        return all(map(_is_declared, get_args(hint)))
    return kind in (Annotated, Literal) or hint in (int, float, bool, type(None))


def _documented(function: Callable[..., Any]) -> str:
    """The docstring, with the common arguments that it leaves out."""
    doc, known = cleandoc(function.__doc__ or ""), signature(function).parameters
    lines = [f"    {n}: {text}" for n, text in _COMMON.items() if n in known and f"\n    {n}: " not in doc]
    if not lines:
        return doc
    head, mark, rest = doc.partition("\n\nArgs:\n" if "\n\nArgs:\n" in doc else "\n\nExample:\n")
    body = rest if "Args" in mark else f"{mark}{rest}".removeprefix("\n")
    return "\n".join([f"{head}\n\nArgs:", *lines, body])
