"""A study: an experiment or a checked claim, measured once, judged in the open.

    Config -> measure -> evidence -> judge -> findings,      digest = SHA-256(Config, the study's file, its data)

`chapter/name` is the module `studies/chapter/name.py` (a hyphen in the name is an underscore in the file). It has

    CLAIMS      the verdict of each row of the ledger, as the last full run found it
    Config      a frozen dataclass of JSON values; a field `data` names data sets, whose content is in the digest too
    TINY        a Config of a second or two
    measure     (config, run) -> evidence: a tree of arrays and JSON values; its parts are made by `pieces`
    judge       evidence -> findings: pure, it knows no models
    figures     evidence -> figures by name
    tables      evidence -> tables by name; not every study has any
"""

from __future__ import annotations

import ast
import hashlib
import json
import tomllib
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from .. import __version__
from ..catalog import nearest
from ..errors import InputError, RunError
from ..results import Table, svg
from .ledger import recorded, rows

if TYPE_CHECKING:
    from ..store import Run

__all__ = [
    "Card",
    "Evidence",
    "Finding",
    "Outcome",
    "card",
    "conduct",
    "digest",
    "give",
    "keep",
    "load",
    "names",
    "pieces",
]

Evidence = dict[str, Any]
Verdict = Literal["confirmed", "corrected", "refuted", "not reproduced"]
ROOT = Path("runs/study")
RECORDS = Path(__file__).parents[3] / "results" / "studies"  # of a checkout; an installed package has none
_COLUMNS = ("row", "verdict", "printed", "measured", "spread")
PACKAGES = ("numpy", "scikit-learn", "scipy", "torch")


@dataclass(frozen=True)
class Finding:
    """What a study found of one row of the ledger.

    Args:
        row: Its id.
        printed: What the source says: a number, numbers, or words.
        measured: What came out.
        spread: Its standard deviation over seeds, or None where nothing is random.
        verdict: confirmed, corrected, refuted or not reproduced.
        why: One or two sentences.
    """

    row: str
    printed: Any
    measured: Any
    spread: Any
    verdict: Verdict
    why: str


def give(values: Any, form: str = ".2f") -> str:
    """Mean ± standard deviation over seeds, as text.

    Example:
        >>> give([1.0, 2.0, 3.0])
        '2.00 ± 1.00'
    """
    from statistics import fmean, stdev

    each = [float(value) for value in values]
    return f"{fmean(each):{form}} ± {stdev(each):{form}}"


class Card(NamedTuple):
    """What there is to know of a study before it is imported."""

    name: str
    question: str
    claims: dict[str, str]


@dataclass(frozen=True)
class Outcome:
    """A study that was conducted."""

    study: str
    digest: str
    date: str
    versions: dict[str, str]
    seconds: float
    findings: tuple[Finding, ...]
    path: Path
    cached: bool
    config: dict[str, Any] = field(default_factory=dict)
    tables: dict[str, Any] = field(default_factory=dict)

    def table(self) -> Table:
        """One line a finding."""
        item = {row.id: row.item for row in rows()}
        columns = {name: [_words(getattr(f, name)) for f in self.findings] for name in _COLUMNS}
        return Table(columns | {"item": [item[f.row] for f in self.findings]})

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        return {**asdict(self), "path": str(self.path), "findings": [asdict(f) for f in self.findings]}


def _words(value: Any) -> str:
    """A number with three digits, numbers with commas between them."""
    if isinstance(value, list | tuple):
        return ", ".join(map(_words, value))
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)


# ---- which studies there are


@cache
def names() -> tuple[str, ...]:
    """Every study, by chapter; none is imported.

    Example:
        >>> "evidence/digits" in names()
        True
    """
    found = [
        f"{chapter.name}/{file.name.removesuffix('.py').replace('_', '-')}"
        for chapter in files("ftheta.studies").iterdir()
        if chapter.is_dir()
        for file in chapter.iterdir()
        if file.name.endswith(".py") and not file.name.startswith("_")
    ]
    return tuple(sorted(found))


def _known(name: str) -> str:
    """The path of a study inside the room; an unknown name is answered with the nearest."""
    if name not in names():
        raise InputError(nearest("study", name, names()))
    return name.replace("-", "_")


def card(name: str) -> Card:
    """Question and claims of a study, read from its file."""
    tree = ast.parse((files("ftheta.studies") / f"{_known(name)}.py").read_text(encoding="utf-8"))
    stated = [n.value for n in tree.body if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == "CLAIMS"]
    question = (ast.get_docstring(tree) or "").partition("\n")[0]
    return Card(name, question, ast.literal_eval(stated[0]) if stated else {})


def load(name: str) -> Any:
    """The module of a study."""
    return import_module(f"ftheta.studies.{_known(name).replace('/', '.')}")


# ---- measuring


def pieces(work: Callable[..., Any], keys: Iterable[tuple[Any, ...]], run: Run | None = None) -> list[Any]:
    """work(*key) for every key, in order. In a run each is kept as soon as it is there, and never made twice.

    Example:
        >>> pieces(pow, [(2, 3), (3, 2)])
        [8, 9]
    """
    from ..train import iterate
    from ._pieces import Pieces, Shown

    process = Pieces(work, keys)
    shown = Shown(None if run is None else True)
    iterate(process, rounds=len(process.keys), run=run, every=0.0, callbacks=[shown])
    return process.done


def digest(study: Any, config: Any) -> str:
    """SHA-256 of the settings, the study's own file and the data that it names."""
    found = hashlib.sha256(json.dumps(asdict(config), sort_keys=True).encode())
    found.update(Path(study.__file__).read_bytes())
    named = getattr(config, "data", ())
    for name in [named] if isinstance(named, str) else named:
        found.update(_content(name))
    return found.hexdigest()


def _content(name: str) -> bytes:
    import numpy as np

    from ..data import load as load_data

    data = load_data(name)
    x = data.x.to_csv().encode() if hasattr(data.x, "to_csv") else np.ascontiguousarray(data.x).tobytes()
    y = b"" if data.y is None else np.asarray(data.y, dtype=str if data.y.dtype == object else None).tobytes()
    return hashlib.sha256(x + y).digest()


def conduct(name: str, config: Any = None, folder: Path | None = None, *, allow_inexact: bool = False) -> Outcome:
    """Measure, judge and draw a study, or take what a finished run of the same digest holds.

    Args:
        name: Its name, e.g. "evidence/digits".
        config: Its settings; None: those of the full study.
        folder: Where; None: below `runs/study/`, named by study and digest.
        allow_inexact: Go on also where what is half done was made with other versions.
    """
    from ..store import Run

    study = load(name)
    config = study.Config() if config is None else config
    key = digest(study, config)
    run = Run(folder or ROOT / name.replace("/", "-") / key[:12], allow_inexact=allow_inexact)
    _refuse_other(run, key)
    cached = run.status == "finished"
    if not cached:
        with run:
            _measure(name, study, config, key, run)
    found = json.loads(run.read("findings.json"))
    return Outcome(**found | {"findings": tuple(Finding(**f) for f in found["findings"])}, path=run.path, cached=cached)


def _refuse_other(run: Run, key: str) -> None:
    """A folder with other things in it, or with another study, is not written into."""
    if run.path.is_file():
        raise InputError(f"--run {run.path} is a file; a study is kept in a folder. Choose another --run.")
    if run.has("config.toml"):
        if tomllib.loads(run.read("config.toml").decode()).get("digest") != key:
            raise RunError(f"{run.path} holds another study, other settings or other data. Choose another --run.")
    elif not run.is_empty():
        raise InputError(f"{run.path} is not empty and holds no study; nothing was changed. Choose another --run.")


def _measure(name: str, study: Any, config: Any, key: str, run: Run) -> None:
    from ..store import to_toml

    if not run.has("config.toml"):
        run.write("config.toml", to_toml({"study": name, "digest": key, "config": asdict(config)}))
    evidence = study.measure(config, run)
    run.write("evidence.safetensors", evidence)
    for title, figure in study.figures(evidence).items():
        run.write(f"figures/{title}.svg", svg(figure))
    tables = study.tables(evidence) if hasattr(study, "tables") else {}
    for title, table in tables.items():
        run.write(f"table-{title}.md", table.markdown() + "\n")
    found = {
        "study": name,
        "digest": key,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": _versions(),
        "seconds": round(sum(row["seconds"] for row in run.rows()), 1),
        "findings": [asdict(finding) for finding in study.judge(evidence)],
        "config": asdict(config),
        "tables": {title: table.as_json() for title, table in tables.items()},
    }
    run.write("findings.json", json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    run.finish()


def _versions() -> dict[str, str]:
    import platform
    from importlib.metadata import version

    return {"ftheta": __version__, "python": platform.python_version()} | {p: version(p) for p in PACKAGES}


def keep(outcome: Outcome) -> Path:
    """Put the findings of a full run into the ledger's findings.json, from where the commands show them.

    In a checkout `results/studies/` gets the whole record too: settings, seeds, tables, versions.
    """
    path = Path(str(files("ftheta.studies") / "ledger" / "findings.json"))
    found = outcome.as_json()
    kept = {k: found[k] for k in ("date", "versions", "seconds", "findings")}
    _write_json(path, dict(sorted({**recorded(), outcome.study: kept}.items())))
    recorded.cache_clear()
    if RECORDS.is_dir():
        whole = {"study": outcome.study, **kept, **{k: found[k] for k in ("digest", "config", "tables")}}
        _write_json(RECORDS / f"{outcome.study.replace('/', '-')}.json", whole)
    return path


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
