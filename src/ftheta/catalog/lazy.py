"""Packages whose names are imported on first use."""

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any


def lazy(package: str, names: Mapping[str, str] | None = None, more: Callable[[str], str | None] | None = None) -> None:
    """Let a package import its public names when they are first used.

    Args:
        package: `__name__` of the package.
        names: "module:attribute" of each name; None: what the package's `__init__.pyi` imports.
        more: Gives "module:attribute" of a name that is not among them.
    """
    module = sys.modules[package]
    known = _stub(module) if names is None else names
    vars(module)["__all__"] = sorted(known)  # of `import *`

    class Lazy(ModuleType):
        def __getattr__(self, name: str) -> Any:
            target = None if name.startswith("_") else known.get(name) or (more(name) if more else None)
            if target is None:
                raise AttributeError(f"module {package!r} has no attribute {name!r}; dir({package}) lists its names.")
            where, _, attribute = target.partition(":")
            found = import_module(where)
            vars(self)[name] = getattr(found, attribute) if attribute else found
            return vars(self)[name]

        def __setattr__(self, name: str, value: Any) -> None:
            """A module of the package does not hide the function of the same name."""
            if not (isinstance(value, ModuleType) and known.get(name, ":").partition(":")[2]):
                super().__setattr__(name, value)

        def __dir__(self) -> list[str]:
            return sorted({*known, *(name for name in vars(self) if name.startswith("__"))})

    module.__class__ = Lazy


def _stub(module: ModuleType) -> dict[str, str]:
    """Names that `__init__.pyi` imports from the modules of its package, `from .module import name as name`."""
    text = Path(str(module.__file__)).with_suffix(".pyi").read_text(encoding="utf-8")
    return {
        name: f"{module.__name__}.{where}:{name}" if where else f"{module.__name__}.{name}:"
        for where, many in re.findall(r"^from \.([\w.]*) import (\([^)]*\)|[^\n]*)", text, re.MULTILINE)
        for name in re.findall(r"(\w+) as \w+", many)
    }
