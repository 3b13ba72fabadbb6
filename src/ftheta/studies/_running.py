"""Running studies: measured once, cached by what they depend on, judged again on every call, recorded on demand.

    settings, code that `measure` reaches, data  ->  digest  ->  folder with evidence  ->  findings, tables, figures

`chapter/name` is the module `studies/chapter/name.py` (a hyphen in the name is an underscore in the file). Its first
line is the question; each `Study` among its variables is measured.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import re
import sys
import textwrap
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..catalog import nearest
from ..errors import InputError, RunError
from ..plots import Figure
from ..results import Table, svg
from ._checks import verdict
from ._grid import Finding, Measured, Study
from .ledger import recorded

if TYPE_CHECKING:
    from ..store import Run

ROOT = Path("runs/study")
RECORDS = Path(__file__).parents[3] / "results" / "studies"  # of a checkout; an installed package has none


class StudyInfo(NamedTuple):
    """What is known about a study before it is imported."""

    name: str
    question: str
    rows: tuple[str, ...]  # of the ledger, that it claims
    about: str = ""  # the rest of its first docstring
    reads: tuple[str, ...] = ()  # texts in its claims: among them the names of the measurements that they judge


@dataclass(frozen=True)
class Outcome:
    """A study that was run."""

    study: str
    digest: str
    date: str
    versions: dict[str, str]
    seconds: float
    settings: dict[str, Any]
    findings: tuple[Finding, ...]
    tables: dict[str, Table]
    path: Path
    cached: bool
    measured: dict[str, Measured]  # by the variables of its module

    def as_json(self) -> dict[str, Any]:
        """Everything as JSON values."""
        kept = {k: v for k, v in vars(self).items() if k not in ("findings", "tables", "path", "measured")}
        findings = [{**asdict(f), "checks": [c._asdict() for c in f.checks]} for f in self.findings]
        tables = {name: table.as_json() for name, table in self.tables.items()}
        return {**kept, "path": str(self.path), "findings": findings, "tables": tables}


@cache
def names() -> tuple[str, ...]:
    """Every study, by chapter; none is imported.

    Example:
        >>> "optimizers/noise" in names()
        True
    """
    found = Path(__file__).parent.glob("*/[!_]*.py")
    return tuple(sorted(f"{file.parent.name}/{file.stem.replace('_', '-')}" for file in found))


def _path_of(name: str) -> str:
    if name not in names():
        raise InputError(nearest("study", name, names()))
    return name.replace("-", "_")


def info(name: str) -> StudyInfo:
    """Question, claimed rows and description of a study, read from its file."""
    tree = ast.parse((files("ftheta.studies") / f"{_path_of(name)}.py").read_text(encoding="utf-8"))
    question, _, about = (ast.get_docstring(tree) or "").partition("\n")
    nodes = [node for claim, _ in _claims(tree) for part in claim.body for node in ast.walk(part)]
    texts = [n for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    texts.sort(key=lambda node: (node.lineno, node.col_offset))
    reads = tuple(dict.fromkeys(str(node.value) for node in texts))
    return StudyInfo(name, question, tuple(dict.fromkeys(claimed_rows(tree))), about.strip("\n"), reads)


def claimed_rows(tree: ast.Module) -> Iterator[str]:
    """First arguments of the decorators `@....claim("B026", ...)` in a module."""
    return (row for _, row in _claims(tree))


def _claims(tree: ast.Module) -> Iterator[tuple[Any, str]]:
    """Functions that judge, with their rows."""
    for node in tree.body:
        for call in getattr(node, "decorator_list", ()):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "claim":
                yield node, ast.literal_eval(call.args[0])


def load(name: str) -> dict[str, Study]:
    """The studies in a module, by the name of their variable."""
    module = import_module(f"ftheta.studies.{_path_of(name).replace('/', '.')}")
    return {key: value for key, value in vars(module).items() if isinstance(value, Study)}


def run(
    name: str,
    changes: Mapping[str, Any] | None = None,
    *,
    tiny: bool = False,
    folder: Path | None = None,
    allow_inexact: bool = False,
) -> Outcome:
    """Measure, judge and draw a study, or judge again what a finished run with the same digest holds.

    Args:
        name: Its name, e.g. "optimizers/noise".
        changes: Settings other than the study's own.
        tiny: Start from the settings of a run of about a second.
        folder: Where; None: below `runs/study/`, named by study and digest.
        allow_inexact: Continue what was measured in part with other versions.
    """
    from ..store import Run

    studies = load(name)
    changes = changes or {}
    known = sorted({setting for study in studies.values() for setting in study.settings})
    for setting in changes:
        if setting not in known:
            raise InputError(f"{name}: {nearest('setting', setting, known)}")
    settings = {k: study.changed({**(study.tiny if tiny else {}), **changes}) for k, study in studies.items()}
    key = _digest(studies, settings)
    run = Run(folder or ROOT / name.replace("/", "-") / key[:12], allow_inexact=allow_inexact)
    _refuse_other(run, key)
    cached = run.status == "finished"
    if not cached:
        with run:
            _measure(name, studies, settings, key, run)
    evidence, facts = run.tree("evidence.safetensors"), json.loads(run.read("facts.json"))
    axes = {k: {name: settings[k][name] for name in study.grid} | dict(study.inner) for k, study in studies.items()}
    measured = {k: Measured(evidence[k], axes[k]) for k in studies}
    part = {k: [name for name in changes if name in study.grid] for k, study in studies.items()}
    findings = _joined([f for k, study in studies.items() for f in study.judge(measured[k], part[k])])
    return Outcome(
        findings=findings,
        tables=_tables(measured),
        path=run.path,
        cached=cached,
        settings=settings,
        measured=measured,
        **facts,
    )


def _joined(findings: list[Finding]) -> tuple[Finding, ...]:
    """One finding per row: where several studies of a module claim it, their checks are judged together."""
    rows: dict[str, Finding] = {}
    for f in findings:
        checks = (*rows[f.row].checks, *f.checks) if f.row in rows else f.checks
        rows[f.row] = replace(rows.get(f.row, f), checks=checks, verdict=verdict(checks))
    return tuple(rows.values())


def _tables(measured: Mapping[str, Measured]) -> dict[str, Table]:
    return {name: m.table() for name, m in measured.items() if m.numbers}


def _refuse_other(run: Run, key: str) -> None:
    """Nothing is written into a folder that holds other things or another study."""
    if run.path.is_file():
        raise InputError(f"--run {run.path} is a file; a study needs a folder. Choose another --run.")
    if run.has("config.toml"):
        if tomllib.loads(run.read("config.toml").decode()).get("digest") != key:
            raise RunError(f"{run.path} holds another study, other settings or other data. Choose another --run.")
    elif not run.is_empty():
        raise InputError(f"{run.path} is not empty and holds no study; nothing was changed. Choose another --run.")


def _measure(name: str, studies: dict[str, Study], settings: dict[str, Any], key: str, run: Run) -> None:
    from ..jobs.runs import versions
    from ..store import to_toml
    from ..train import iterate
    from ._cells import CellProgress, Cells

    if not run.has("config.toml"):
        run.write("config.toml", to_toml({"study": name, "digest": key, "settings": settings}))
    keys = [(k, *cell) for k, study in studies.items() for cell in study.keys(settings[k])]
    cells = Cells(lambda k, *cell: studies[k].one(settings[k], cell), keys)
    iterate(cells, rounds=len(keys), run=run, every=0.0, callbacks=[CellProgress(True)])
    parts = {k: [r for (of, *_), r in zip(keys, cells.done, strict=True) if of == k] for k in studies}
    measured = {k: study.gather(settings[k], parts[k]) for k, study in studies.items()}
    run.write("evidence.safetensors", {k: dict(m) for k, m in measured.items()})
    for k, study in studies.items():
        for title, figure in figures_of(study, measured[k]).items():
            plain = re.sub(r"\W+", "-", title.replace("%", "percent")).strip("-")
            run.write(f"figures/{k}-{plain}.svg", svg(figure))
    for title, table in _tables(measured).items():
        run.write(f"table-{title}.md", table.markdown() + "\n")
    facts = {
        "study": name,
        "digest": key,
        "date": datetime.now(UTC).date().isoformat(),
        "versions": versions(),
        "seconds": round(sum(row["seconds"] for row in run.rows()), 1),
    }
    run.write("facts.json", json.dumps(facts, indent=1) + "\n")
    run.finish()


def figures_of(study: Study, measured: Measured) -> dict[str, Figure]:
    """Those of every measurement, and the study's own."""
    return measured.figures() | {title: draw(measured) for title, draw in study.figures.items()}


def _digest(studies: Mapping[str, Study], settings: Mapping[str, Any]) -> str:
    """SHA-256 of the settings, the code that `measure` reaches and the data that a setting `data` names."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, default=str).encode())
    for key, study in studies.items():
        digest.update(fingerprint(study.measure).encode())
        named = settings[key].get("data", ())
        for name in [named] if isinstance(named, str) else named:
            digest.update(_content(name))
    return digest.hexdigest()


def _content(name: str) -> bytes:
    import numpy as np

    from ..data import load as load_data

    data = load_data(name)
    x = data.x.to_csv().encode() if hasattr(data.x, "to_csv") else np.ascontiguousarray(data.x).tobytes()
    y = b"" if data.y is None else np.asarray(data.y, dtype=str if data.y.dtype == object else None).tobytes()
    return hashlib.sha256(x + y).digest()


def fingerprint(measure: Callable[..., Any]) -> str:
    """SHA-256 of the functions, classes and constants of the studies that `measure` reaches, without docstrings."""
    seen: dict[str, str] = {}
    todo: list[Any] = [inspect.unwrap(measure)]
    while todo:
        part = todo.pop()
        place = f"{part.__module__}.{part.__qualname__}"
        if place in seen:
            continue
        tree = ast.parse(textwrap.dedent(inspect.getsource(part)))
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
                node.body = node.body[1:] or [ast.Pass()]
        seen[place] = ast.dump(tree)
        known = vars(sys.modules[part.__module__])
        for used in sorted({n.id for n in ast.walk(tree) if isinstance(n, ast.Name)} & set(known)):
            value = inspect.unwrap(known[used]) if callable(known[used]) else known[used]
            if str(getattr(value, "__module__", "")).startswith("ftheta.studies") and hasattr(value, "__qualname__"):
                todo.append(value)
            elif isinstance(value, int | float | str | tuple | dict):
                seen[f"{part.__module__}.{used}"] = repr(value)
    return hashlib.sha256(repr(sorted(seen.items())).encode()).hexdigest()


def record(outcome: Outcome) -> Path:
    """Put the findings of a full run into the ledger's findings.json, from where the commands show them.

    In a checkout `results/studies/` gets settings, tables and versions too.
    """
    path = Path(str(files("ftheta.studies") / "ledger" / "findings.json"))
    full = outcome.as_json()
    kept = {k: full[k] for k in ("date", "versions", "seconds", "findings")}
    _write_json(path, dict(sorted({**recorded(), outcome.study: kept}.items())))
    recorded.cache_clear()
    if RECORDS.is_dir():
        everything = {"study": outcome.study, **kept, **{k: full[k] for k in ("digest", "settings", "tables")}}
        _write_json(_record_of(outcome.study), everything)
    return path


def _record_of(name: str) -> Path:
    return RECORDS / f"{name.replace('/', '-')}.json"


def records(name: str) -> dict[str, Any]:
    """Settings and tables of the last full run, as a checkout keeps them; without them nothing."""
    path = _record_of(name)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
