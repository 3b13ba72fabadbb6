"""The estimator: scikit-learn's conventions, plus a state that is a value, and files without code in them.

`__init__` only stores, `fit` checks and learns, what was learned ends in `_`. Every estimator is a keyword-only
dataclass; its fields are its parameters.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from functools import cache
from inspect import cleandoc
from pathlib import Path
from typing import Any, ClassVar, Self, dataclass_transform, get_args, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator

from . import catalog
from .check import constraints, parameters
from .errors import InputError, InputTypeError
from .store import Run, Tree

__all__ = ["FORMAT", "Estimator", "card_of", "documented"]

FORMAT = 2  # of saved models
MODEL, CONFIG = "model.safetensors", "config.json"


def card_of(cls: type) -> tuple[str, str, str]:
    """Name, kind of data and task under which the catalog lists a class."""
    here = f"{cls.__module__}:{cls.__qualname__}"
    catalog.install()
    for card in catalog.CARDS.values():
        for (kind, task), where in card.targets.items():
            if where == here:
                return card.name, kind, task
    raise InputError(
        f"{cls.__qualname__} is not in the catalog, so no file can name it. Add its card: catalog.register(Card(...))."
    )


def documented(cls: type) -> dict[str, str]:
    """The lines under `Args:` in the docstring of a class, by the name of the parameter."""
    section = re.search(r"^Args:\n((?:    .*\n|\n)*)", cleandoc(cls.__dict__.get("__doc__") or "") + "\n", re.MULTILINE)
    return dict(re.findall(r"^    (\w+): (.*(?:\n {5,}.*)*)", section[1] if section else "", re.MULTILINE))


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
@dataclass(kw_only=True, eq=False, repr=False)
class Estimator(BaseEstimator):
    """Base of all estimators: every subclass is a dataclass by itself, whose fields are the parameters; learned
    attributes end in `_`.

    The docstring of a class needs to name only its own parameters: those that its bases or its net document are added.
    """

    net: ClassVar[type | None] = None  # the module that has parameters of the same names
    refused: ClassVar[tuple[str, ...]] = ()  # parameters that no file can hold
    code: ClassVar[tuple[str, ...]] = ("optimizer",)  # parameters that may be code, which a fitted model does not need

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        hints: dict[str, Any] = {}
        for base in cls.__mro__:
            hints |= {k: v for k, v in vars(base).get("__annotations__", {}).items() if k not in hints}
        known = [name for name, hint in hints.items() if "ClassVar" not in str(hint).partition("[")[0]]
        others = [*([cls.net] if cls.net else []), *reversed(cls.__mro__[1:])]
        own, inherited = documented(cls), {k: v for other in others for k, v in documented(other).items()}
        added = [f"    {name}: {inherited[name]}" for name in known if name in inherited.keys() - own]
        text = cleandoc(cls.__doc__ or "")
        head, example, rest = text.partition("\n\nExample:")
        head += "" if "\nArgs:\n" in head or not added else "\n\nArgs:"
        cls.__doc__ = "\n".join([head, *added]) + example + rest
        dataclass(kw_only=True, eq=False, repr=False)(cls)

    @property
    def _parameter_constraints(self) -> dict[str, Any]:
        return constraints(type(self), self.get_params(deep=False))

    def _check_parameters(self) -> None:
        """Raise scikit-learn's InvalidParameterError for the first parameter out of its range."""
        parameters(type(self).__name__, self._parameter_constraints, self.get_params(deep=False))

    def __new__(cls, *args: Any, **params: Any) -> Self:
        """An unknown parameter is answered with the one that is meant, also where scikit-learn calls it otherwise."""
        for key in params.keys() - {f.name for f in fields(cls)}:
            raise InputTypeError(_unknown(cls, key, [f.name for f in fields(cls)]))
        return super().__new__(cls)

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(f.name for f in fields(cls) if f.init)  # without reading the signature each time

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Parameters by name; `deep` also gives those of estimators, and fields as `training__name`, inside them."""
        params = super().get_params(deep=deep)
        for name in list(params) if deep else ():
            holder = None if "__" in name else self._dataclass_of(name)
            if holder is not None and isinstance(params[name], holder | None):
                value = self._default_of(name, holder) if params[name] is None else params[name]
                params |= {f"{name}__{field.name}": getattr(value, field.name) for field in fields(holder)}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `training__name` replaces one field of a dataclass parameter, creating it if it is None."""
        known = self.get_params(deep=False)
        for key in params:
            if key.split("__")[0] not in known:
                raise InputError(_unknown(type(self), key, known))
        for key in [k for k in params if "__" in k]:
            name, _, inner = key.partition("__")
            holder = self._dataclass_of(name)
            if holder is not None:
                self._set_field(name, holder, inner, params.pop(key))
        return super().set_params(**params)

    def _dataclass_of(self, name: str) -> type | None:
        hint = _hints(type(self))[name]
        return next((t for t in (hint, *get_args(hint)) if isinstance(t, type) and is_dataclass(t)), None)

    def _set_field(self, name: str, holder: type, inner: str, value: Any) -> None:
        known = [f.name for f in fields(holder)]
        if inner not in known:
            raise InputError(catalog.nearest(f"parameter of {holder.__name__}:", inner, known))
        current = getattr(self, name)
        setattr(self, name, replace(self._default_of(name, holder) if current is None else current, **{inner: value}))

    def _default_of(self, name: str, holder: type) -> Any:
        """What None means for a dataclass parameter."""
        return holder()

    def get_state(self) -> dict[str, Tree]:
        """What was learned, as a tree of arrays and plain values."""
        return {name: value for name, value in sorted(vars(self).items()) if _is_learned(name)}

    def set_state(self, state: Mapping[str, Tree]) -> None:
        """Restore what `get_state` returned."""
        for name, value in state.items():
            if not _is_learned(name):
                raise InputError(f"{name!r} is not learned by {type(self).__name__}: what is learned ends in '_'.")
            setattr(self, name, value)

    def _params_tree(self) -> dict[str, Tree]:
        params = {k: _as_dict(v) for k, v in self.get_params(deep=False).items()}
        for name, value in params.items():
            if name not in self.refused and not _is_json(value) and not (name in self.code and callable(value)):
                raise InputError(
                    f"Parameter {name}={value!r} of {type(self).__name__} cannot be put into a file: it is neither "
                    "a plain value nor registered. Use a name or plain values instead."
                )
        return {k: v for k, v in params.items() if k not in self.refused and not (k in self.code and callable(v))}

    def save(self, path: str | Path, *, overwrite: bool = False) -> Path:
        """Write the fitted estimator into a folder: model.safetensors, config.json, manifest.json; no code.

        Args:
            path: A folder that does not exist or is empty.
            overwrite: Replace a model that was saved there; a run is never replaced.

        Returns:
            The path.
        """
        files, run = self._files(), Run(path)
        _refuse_other(run, overwrite)
        self._save_into(run, files)
        return run.path

    def _files(self) -> tuple[str, dict[str, Tree]]:
        from . import __version__

        name, kind, task = card_of(type(self))
        params, state = self._params_tree(), self.get_state()
        if not Estimator.get_state(self):
            raise InputError(f"This {type(self).__name__} instance is not fitted yet. Call fit before save.")
        config = {"format": FORMAT, "ftheta": __version__, "model": name, "kind": kind, "task": task, "params": params}
        return json.dumps(config, indent=2) + "\n", {"params": params, "state": state}

    def _save_into(self, run: Run, files: tuple[str, dict[str, Tree]] | None = None) -> None:
        config, tree = files or self._files()
        run.finish({MODEL: tree, CONFIG: config})


ELSEWHERE = {  # names of scikit-learn, and what they are here: the first that begins with a parameter of the class
    "hidden_layer_sizes": ("hidden",),
    "max_iter": ("epochs",),
    "n_iter_no_change": ("patience",),
    "early_stopping": ("patience=10 together with validation=0.1",),
    "validation_fraction": ("validation",),
    "learning_rate_init": ("lr",),
    "learning_rate": ("lr, or training=Training(schedule=...)",),
    "eta0": ("lr",),
    "solver": ("optimizer",),
    "tol": ("training=Training(min_delta=...)",),
    "alpha": ("l2", "training=Training(l2=...)"),
    "momentum": ("training=Training(options={'momentum': 0.9})",),
    "verbose": ("training=Training(progress=...)",),
    "shuffle": ("training=Training(shuffle=...)",),
    "C": ("l2 = 1 / (2 n C)", "training=Training(l2=...), about 1 / (2 n C),"),
    "penalty": ("l1 and l2", "training=Training(l1=..., l2=...)"),
    "n_components": ("n_hidden",),
    "n_estimators": ("epochs",),
    "n_jobs": ("training=Training(threads=...)",),
}


_hints = cache(get_type_hints)


def _unknown(cls: type, key: str, known: Iterable[str]) -> str:
    known = list(known)
    message = catalog.nearest(f"parameter of {cls.__name__}:", key, known)
    for here in ELSEWHERE.get(key, ()):
        for_nets = "Training(" in here and not re.search("progress|threads", here)
        if re.match(r"\w+", here)[0] in known and ("optimizer" in known or not for_nets):  # type: ignore[index]
            return f"{message} scikit-learn's {key} is {here} here."
    return message


def _refuse_other(run: Run, overwrite: bool) -> None:
    """A model is saved into an empty folder, or over another saved model; a run has more files than those."""
    if run.is_empty():
        return
    if run.status != "finished" or not {MODEL, CONFIG}.issuperset(run.names()) or run.rows():
        what = "holds a run, which is not replaced" if run.exists() else "exists and holds no saved model"
        raise InputError(f"{run.path} {what}; nothing was changed. Choose another path.")
    if not overwrite:
        advice = "Pass overwrite=True to replace it, or choose another path."
        raise InputError(f"{run.path} holds a saved model; nothing was changed. {advice}")


def _as_dict(value: Any) -> Any:
    if isinstance(value, np.generic):  # as a search over a grid of numbers sets them
        return value.item()
    if not is_dataclass(value) or isinstance(value, type):
        return value
    return {k: v for k, v in asdict(value).items() if not callable(v)}  # e.g. a schedule of the user's


def _is_learned(name: str) -> bool:
    return name.endswith("_") and not name.startswith("_")


def _is_json(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(isinstance(k, str | int) and _is_json(v) for k, v in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    return value is None or isinstance(value, bool | int | float | str)
