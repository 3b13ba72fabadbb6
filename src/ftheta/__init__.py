"""fθ: every learning system of a modern machine-learning course, on one differentiable core.

`import ftheta` loads nothing heavy: rooms (`ftheta.nn`), estimators (`ftheta.MLPClassifier`) and the names of the
table below come when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

__version__ = "0.1.0.dev0"

_NAMES = {
    "FThetaError": "ftheta.errors:FThetaError",
    "FileFormatError": "ftheta.errors:FileFormatError",
    "InputError": "ftheta.errors:InputError",
    "InputTypeError": "ftheta.errors:InputTypeError",
    "NonFiniteError": "ftheta.errors:NonFiniteError",
    "RunError": "ftheta.errors:RunError",
    "StoreError": "ftheta.errors:StoreError",
    "Trainer": "ftheta.train:Trainer",
    "Training": "ftheta.train:Training",
    "all_estimators": "ftheta.catalog:all_estimators",
    "load": "ftheta.models._files:load",
}


def _names() -> dict[str, str]:
    """Every public name with its "module:attribute": the table above and the catalog."""
    from .catalog import CARDS

    targets = (target for card in CARDS.values() for target in card.targets.values())
    return _NAMES | {target.partition(":")[2]: target for target in targets}


def _rooms() -> set[str]:
    from pkgutil import iter_modules

    return {module.name for module in iter_modules(__path__) if not module.name.startswith("_")}


def __getattr__(name: str) -> Any:
    names = {} if name.startswith("_") else _names()
    if name in names:
        module, _, attribute = names[name].partition(":")
        globals()[name] = getattr(import_module(module), attribute)
        return globals()[name]
    if name in _rooms():
        return import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}; dir({__name__}) lists what it has.")


def __dir__() -> list[str]:
    return sorted({"__version__", *_names(), *_rooms()})
