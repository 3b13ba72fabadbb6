"""Where runs are: `runs/<name>/<id>/`; a RUN is a path, an id, or `last`."""

from __future__ import annotations

import secrets
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..catalog import nearest
from ..errors import FThetaError, InputError
from ..results import Table
from . import files
from .config import Config

if TYPE_CHECKING:
    from ..store import Run

ROOT = Path("runs")
KEPT = ("model", "data", "target", "task", "test", "validation", "seed")  # settings that are always listed


def new_path(model: str, data: str) -> Path:
    """A folder for a new run, named by model, data and time."""
    stamp = datetime.now().strftime("%Y%m%d-%H%M%S")
    return ROOT / f"{model}-{Path(data).stem}" / f"{stamp}-{secrets.token_hex(2)}"


def all_runs() -> list[Path]:
    """Every run below `runs/`, oldest first; `--run runs/mine` is one too."""
    found = [p.parent for pattern in ("*/config.toml", "*/*/config.toml") for p in ROOT.glob(pattern)]
    return sorted(found, key=lambda p: (p / "config.toml").lstat().st_mtime)


def chosen(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings that are not the usual ones, and those that are always listed."""
    usual = flat(asdict(Config()))
    return {k: v for k, v in flat(settings).items() if v is not None and (k in KEPT or v != usual.get(k))}


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


def stopped(run: Run) -> str:
    """What is saved of a run that was stopped, and how to continue it."""
    if run.status == "finished":
        kept = "the trained model is kept"
    elif found := run.latest():
        kept = f"kept up to step {found[1]}, after {found[0]['round']} epochs"
    else:
        kept = "there is no checkpoint yet, and training will start again"
    return f"Interrupted; {kept}. Continue with: {resume_command(run.path)}"


def times_tested(run: Run) -> str:
    """How often the test rows of a run were used for testing, by the runs below `runs/`; nothing without a result.

    The same command again gives the same result and does not count.
    """
    from ..store import Run

    if not run.has("result.json"):
        return ""
    found = files.result(run)
    if found["part"] == "training rows":
        return "No rows were held out for testing."
    others = [_tested(Run(path)) for path in all_runs()]
    uses = {config: family for config, family, data in [*others, _tested(run)] if data == found["data"]}
    by = Counter(uses.values())
    if by.total() == 1:
        return "These rows were used for testing once."
    whose = ", ".join(f"{family} {n}" for family, n in sorted(by.items()))
    return f"These rows were used for testing {by.total()} times ({whose}): the more often, the less it is worth."


def _tested(run: Run) -> tuple[bytes, str, str]:
    """Settings, model and digest of the test rows of a run; empty where there is no result, or a damaged one."""
    try:
        found = files.result(run)
        return run.read("config.toml"), found["family"], found["data"]
    except FThetaError:
        return b"", "", ""


def score_of(found: Mapping[str, Any], metric: str) -> tuple[Any, Any, Any]:
    """Value, low and high of a score; None where there is none."""
    low, high = found.get("intervals", {}).get(metric) or (None, None)
    return found["scores"].get(metric), low, high


def result_table(found: Mapping[str, Any]) -> Table:
    """One row per metric, with what the simplest answer scores; None where no interval could be computed."""
    names, baseline = list(found["scores"]), found.get("baseline")
    values, low, high = map(list, zip(*(score_of(found, name) for name in names), strict=True))
    columns = {"metric": names, "value": values, "low": low, "high": high}
    columns |= {} if baseline is None else {"baseline": [baseline["scores"].get(name) for name in names]}
    level = f"; intervals of {100 * found['level']:g} % confidence" if "level" in found else ""
    of = "" if baseline is None else f"; baseline: {baseline['name']}"
    how = f": {found['how']}" if "how" in found else ""
    return Table(columns, f"{found['part']} (n = {found['rows']}){how}{level}{of}", "none")


def verdicts(found: Mapping[str, Any]) -> list[str]:
    """What a result says in sentences."""
    return [sentence for sentence in (found.get("verdict"), *found.get("errors", ())) if sentence]


PACKAGES = ("torch", "numpy", "scipy", "scikit-learn", "pandas", "safetensors", "matplotlib")


def versions(*more: str) -> dict[str, str]:
    """Versions of fθ, Python and the packages that decide about numbers."""
    import platform
    from importlib.metadata import PackageNotFoundError, version

    from .. import __version__

    found = {"ftheta": __version__, "python": platform.python_version()}
    for name in (*PACKAGES, *more):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "missing"
    return found


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Settings that are not empty, by the names that `--set` takes."""
    inner = (flat(v, f"{k}.") if isinstance(v, Mapping) else {prefix + k: v} for k, v in table.items() if v != "")
    return {key: value for part in inner for key, value in part.items()}
