"""Where runs are: `runs/<name>/<id>/`; a RUN is a path, an id, or `last`."""

from __future__ import annotations

import secrets
import shlex
import tomllib
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..catalog import nearest
from ..errors import InputError, RunError
from ._config import read_config

if TYPE_CHECKING:
    from ..store import Run

__all__ = ["ROOT", "all_runs", "find_run", "new_path", "resume_command", "settings"]

ROOT = Path("runs")


def new_path(model: str, data: str) -> Path:
    """A folder for a new run, named by model, data and time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    return ROOT / f"{model}-{Path(data).stem}" / f"{stamp}-{secrets.token_hex(2)}"


def all_runs() -> list[Path]:
    """Every run below `runs/`, oldest first; `--run runs/mine` is one too."""
    found = [p.parent for pattern in ("*/config.toml", "*/*/config.toml") for p in ROOT.glob(pattern)]
    return sorted(found, key=lambda p: (p / "config.toml").stat().st_mtime)


def resume_command(path: Path) -> str:
    """What to type to continue a run."""
    return f"ftheta train --resume {shlex.quote(str(path))}"


def find_run(text: str) -> Run:
    """The run of a path, an id, or `last`."""
    from ..store import Run

    path, known = Path(text), all_runs()
    if path.is_file():
        raise InputError(f"{path} is a file; a run is the folder that `ftheta train` wrote. `ftheta runs` lists runs.")
    if path.is_dir() and not Run(path).exists():
        raise InputError(f"{path} is a folder, but not a run: it has no config.toml. `ftheta runs` lists runs.")
    if path.is_dir():
        return Run(path)
    if text == "last" and known:
        return Run(known[-1])
    matching = [p for p in known if p.name == text]
    if not matching:
        names = [p.name for p in reversed(known)]
        hint = nearest("run", text, names) if known else f"Unknown run {text!r}; {ROOT}/ holds none."
        raise InputError(f"{hint} Give a folder, an id or `last`.")
    return Run(matching[-1])


def settings(run: Run) -> dict[str, Any]:
    """What config.toml says; where a run was killed before its first manifest, the bare file."""
    if run.status == "new":
        return read_config(run.path / "config.toml")
    if not run.has("config.toml"):
        raise RunError(f"{run.path} is a model saved in Python, not a run of `ftheta train`. Use ftheta.load there.")
    return tomllib.loads(run.read("config.toml").decode())
