"""The text that exported scripts are made from."""

from __future__ import annotations

from importlib.resources import files

__all__ = ["script_template"]

_IMPORT = "\nfrom .cells import MISSING, PLAIN, date, days_of, number, numbers, places\n"


def script_template() -> str:
    """`_exported.py` with the functions of `cells.py` in place of their import: a file that needs no fθ."""
    folder = files(str(__package__))
    script, cells = (folder.joinpath(name).read_text(encoding="utf-8") for name in ("_exported.py", "cells.py"))
    script = script.replace(_IMPORT, "").replace("import json\n", "import json\nimport re\n", 1)
    return script.replace("# ---- files", f"# ----{cells.partition('# ----')[2]}\n\n# ---- files", 1)
