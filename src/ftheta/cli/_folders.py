"""Where runs are: `runs/<name>/<id>/`; a RUN is a path, an id, or `last`."""

from __future__ import annotations

import json
import secrets
import shlex
import tomllib
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..catalog import nearest
from ..errors import FThetaError, InputError, RunError

if TYPE_CHECKING:
    from ..store import Run

__all__ = ["ROOT", "all_runs", "find_run", "flat", "looks", "new_path", "resume_command", "settings"]

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
    """What config.toml says."""
    if run.status == "new":
        raise RunError(f"{run.path} has no manifest, so its files cannot be verified. Start a new run.")
    if not run.has("config.toml"):
        raise RunError(f"{run.path} is a model saved in Python, not a run of `ftheta train`. Use ftheta.load there.")
    return tomllib.loads(run.read("config.toml").decode())


def looks(run: Run) -> str:
    """How often the test rows of a run were used for testing, by the runs below `runs/`; nothing without a result."""
    from ..store import Run

    found = _result(run)
    if not found:
        return ""
    if found["part"] != "test part":
        return "No rows were set aside for testing."
    others = [_result(Run(path)) for path in all_runs() if path.resolve() != run.path.resolve()]
    by = Counter([found["family"], *(r["family"] for r in others if r.get("data") == found["data"])])
    if by.total() == 1:
        return "These rows were used for testing once."
    whose = ", ".join(f"{family} {n}" for family, n in sorted(by.items()))
    return f"These rows were used for testing {by.total()} times ({whose}): the more often, the less it is worth."


def _result(run: Run) -> dict[str, Any]:
    """The result of a run; empty where there is none, or a damaged one."""
    try:
        return json.loads(run.read("result.json")) if run.has("result.json") else {}
    except FThetaError:
        return {}


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings that are not empty, by the names that `--set` takes."""
    inner = (flat(v, f"{k}.") if isinstance(v, Mapping) else {prefix + k: v} for k, v in table.items() if v != "")
    return {key: value for part in inner for key, value in part.items()}
