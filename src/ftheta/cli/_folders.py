"""Where runs are: `runs/<name>/<id>/`; a RUN is a path, an id, or `last`."""

from __future__ import annotations

import secrets
from datetime import datetime
from pathlib import Path

from ..catalog import nearest
from ..errors import InputError
from ..store import Run

__all__ = ["ROOT", "all_runs", "find_run", "new_path"]

ROOT = Path("runs")


def new_path(model: str, data: str) -> Path:
    """A folder for a new run, named by model, data and time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    return ROOT / f"{model}-{Path(data).stem}" / f"{stamp}-{secrets.token_hex(2)}"


def all_runs() -> list[Path]:
    """Every run below `runs/`, oldest first."""
    found = [p.parent for p in ROOT.glob("*/*/config.toml")]
    return sorted(found, key=lambda p: (p / "config.toml").stat().st_mtime)


def find_run(text: str) -> Run:
    """The run of a path, an id, or `last`."""
    if Path(text).is_dir():
        run = Run(text)
        if not run.exists():
            raise InputError(f"{text} is a folder, but not a run: it has no config.toml. `ftheta runs` lists runs.")
        return run
    known = all_runs()
    if text == "last" and known:
        return Run(known[-1])
    matching = [p for p in known if p.name == text]
    if not matching:
        hint = nearest("run", text, [p.name for p in known]) if known else f"Unknown run {text!r}; {ROOT}/ holds none."
        raise InputError(f"{hint} Give a folder, an id or `last`.")
    return Run(matching[-1])
