"""The parameters of a model with types, defaults and meanings, for help and for the lab."""

from __future__ import annotations

import re
from dataclasses import MISSING, Field, fields
from functools import cache
from typing import Any, NamedTuple

from .. import catalog
from ..base import documented
from ..train import Training

ELSEWHERE = ("random_state", "training", "validation")  # have options of their own


class Parameter(NamedTuple):
    """One parameter."""

    name: str
    type: str  # as it is annotated
    default: str
    text: str  # its meaning


def parameters(model: str) -> dict[str, list[Parameter]]:
    """Parameters by groups: the family's own, those of all nets, and those of the training loop."""
    classes = [catalog.load(target) for target in dict.fromkeys(catalog.card(model).targets.values())]
    own: dict[str, Parameter] = {}
    shared: dict[str, Parameter] = {}
    for cls in classes:
        for field in fields(cls):
            group = shared if "._base." in _owner(cls, field.name).__module__ else own
            if field.name not in ELSEWHERE:
                group.setdefault(field.name, _parameter(cls, field))
    stepped = any("training" in {f.name for f in fields(cls)} for cls in classes)
    training = [_parameter(Training, field, "training.") for field in fields(Training)] if stepped else []
    groups = {
        f"Parameters of {model} (--set NAME=VALUE)": list(own.values()),
        "Parameters of training": list(shared.values()),
        "Settings of the training loop (--set training.NAME=VALUE)": training,
    }
    return {name: rows for name, rows in groups.items() if rows}


def _owner(cls: type, name: str) -> type:
    return next(base for base in cls.__mro__ if name in base.__dict__.get("__annotations__", {}))


def _parameter(cls: type, field: Field[Any], prefix: str = "") -> Parameter:
    default = field.default
    if default is MISSING:
        default = field.default_factory() if field.default_factory is not MISSING else "required"
    text = next(filter(None, (_meanings(base).get(field.name, "") for base in cls.__mro__)), "")
    return Parameter(prefix + field.name, re.sub(r"\s+", " ", str(field.type)), str(default), text)


@cache
def _meanings(cls: type) -> dict[str, str]:
    """The line of each parameter under `Args:` in the docstring of a class."""
    return {name: " ".join(text.split()) for name, text in documented(cls).items()}
