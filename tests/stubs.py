"""Writes `__init__.pyi` of ftheta and ftheta.models, so that type checkers see the real classes: `make stubs`."""

import sys
from importlib import import_module
from pathlib import Path

from ftheta.catalog import classes

PACKAGES = ("ftheta", "ftheta.models")


def stub(package: str) -> str:
    """The text of the package's `__init__.pyi`: its own table of names and the classes of the catalog."""
    names = {**vars(import_module(package))["_NAMES"], **classes()}
    lines = ["# Written by `make stubs`.", ""]
    for name, target in sorted(names.items(), key=lambda item: (item[1].partition(":")[0], item[0])):
        where, _, attribute = target.partition(":")
        source = where if attribute else where.rpartition(".")[0]
        if source.startswith(package):
            source = f".{source.removeprefix(package).removeprefix('.')}"
        lines.append(f"from {source} import {name} as {name}")
    return "\n".join([*lines, "", "__version__: str", ""] if package == "ftheta" else [*lines, ""])


def main() -> None:
    """Write both files."""
    for package in PACKAGES:
        file = Path(str(import_module(package).__file__)).with_suffix(".pyi")
        file.write_text(stub(package), encoding="utf-8")
        sys.stdout.write(f"{file}\n")


if __name__ == "__main__":
    main()
