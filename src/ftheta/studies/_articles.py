"""Studies as pages: an article per study, with its finding, the claims and the figures; an index of all.

question -> finding in a sentence -> picture -> what the sources say, check by check -> numbers -> how to repeat it
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from .. import plots
from ..jobs import pages
from ..jobs.pages import Block
from ..plots import Figure
from ..results import Table
from . import ledger
from ._checks import Check
from ._running import Outcome, figures_of, info, load, names, records

NUMBER = r"-?\d[\d.]*(?:e[-+]\d+)?|-?inf"
CELL = re.compile(rf"({NUMBER}|none)?(?: ± ({NUMBER}))?(?: \(\w+\))?")  # of a table over seeds
MAX_LINES = 6  # of a thumbnail


def sentence(findings: Sequence[Mapping[str, Any]]) -> str:
    """What a study found: of several claims the one that holds least, and how many hold.

    Example:
        >>> sentence([{"verdict": "right", "source_says": "2 convolutions are enough", "checks": []}])
        'Confirmed: “2 convolutions are enough”.'
    """
    if not findings:
        return "Numbers for reference; no claim is judged."
    first = min(findings, key=lambda f: ledger.VERDICTS.index(f["verdict"]))
    verdict, checks = first["verdict"], [Check(**check) for check in first["checks"]]
    wanted = {"wrong": False, "loose": False}.get(verdict)
    open_ = [c for c in checks if c.holds is wanted and (c.missing or verdict != "incomplete")]
    reason = open_[0].text.removeprefix("and ") if open_ else ""
    says, right = f"“{_words(first['source_says'])}”", sum(f["verdict"] == "right" for f in findings)
    said = {
        "right": f"Confirmed: {says}.",
        "wrong": f"Not confirmed: {says} fails at “{reason}”.",
        "loose": f"True in part: {says} fails at “{reason}”.",
        "incomplete": f"{says} leaves out {reason}.",
        "undecided": f"Not decided: {says}; open is “{reason}”.",
    }[verdict]
    return said + (f" {right} of {len(findings)} claims {'is' if right == 1 else 'are'} right." * (len(findings) > 1))


def _words(says: Any) -> str:
    return ", ".join(map(str, says)) if isinstance(says, list | tuple) else str(says)


def badge(verdict: str, many: str = "") -> Markup:
    """A verdict as a label."""
    return Markup(f'<span class="badge {escape(verdict)}">{many}{escape(verdict)}</span>')


# ---- an article


def article(outcome: Outcome) -> str:
    """The page of a study that was run."""
    known, findings = info(outcome.study), outcome.as_json()["findings"]
    found = sentence(findings)
    drawn = [figure for key in outcome.measured for figure in _figures(outcome, key)]
    made = [pages.figure_html(figure, f"f{i}", f"{title}. {found}") for i, (title, figure) in enumerate(drawn)]
    others = Block(folded=Markup("").join(made[1:]), summary=f"{pages.counted(len(made) - 1, 'more figure')}")
    numbers = [Block(folded=pages.table_html(t), summary=f"Table: {name}") for name, t in outcome.tables.items()]
    sections = {
        "In one picture": [Block(html=made[0])] if made else [],
        "What the sources say": [block for finding in findings for block in _claim(finding)],
        "What was measured": [*_about(known.about), *([others] if made[1:] else []), *numbers],
        "Repeat it": _repeat(outcome),
    }
    return pages.render(
        title=known.question,
        lead=f"Study {outcome.study}, measured on {outcome.date} in {outcome.seconds:,.0f} s.",
        verdict=_badges(findings) + " " + found,
        sections=sections,
    )


def write_article(outcome: Outcome) -> Path:
    """Its page in its folder; one that is there and the same is left alone."""
    from ..store import Run

    run, text = Run(outcome.path), article(outcome)
    if not run.has("report.html") or run.read("report.html") != text.encode():
        run.write("report.html", text)
    return outcome.path / "report.html"


def _badges(findings: Sequence[Mapping[str, Any]]) -> Markup:
    """Each verdict once, with its number where there are several."""
    counts = Counter(f["verdict"] for f in findings)
    known = [(v, f"{counts[v]} " * (len(findings) > 1)) for v in ledger.VERDICTS if v in counts]
    return Markup(" ").join(badge(verdict, many) for verdict, many in known)


def _figures(outcome: Outcome, key: str) -> list[tuple[str, Figure]]:
    """Title and figure: the study's own, then what its claims look at, then the rest."""
    study, reads = load(outcome.study)[key], info(outcome.study).reads
    drawn = figures_of(study, outcome.measured[key])
    order = {name: i for i, name in enumerate([*study.figures, *reads])}
    return sorted(drawn.items(), key=lambda item: order.get(item[0], len(order)))


def _claim(finding: Mapping[str, Any]) -> Iterator[Block]:
    """What a source says, quoted with its section, and the checks of it."""
    row = next((row for row in ledger.rows() if row.id == finding["row"]), None)
    source = row.source if row else ""
    where = ", ".join(filter(None, [ledger.SOURCES.get(source[:3], ""), source[3:].strip(), f"row {finding['row']}"]))
    checks = [Check(**check) for check in finding["checks"]]
    columns = {"holds": [c.answer for c in checks], "check": [c.text for c in checks]}
    table = pages.table_html(Table(columns | {"mean, 95 % interval": [c.number for c in checks]}))
    said = f"<p>“{escape(_words(finding['source_says']))}”</p><footer>{escape(where)}</footer>"
    judged = f"<p>The source is {badge(finding['verdict'])}</p>"
    yield Block(html=Markup(f"<blockquote>{said}</blockquote>{judged}{table}"))
    for name, value in (("Right", finding["right"]), ("For reference", finding["reference"])):
        if value is not None:
            yield Block(text=f"{name}: {_words(value)}.", soft=True)


def _about(text: str) -> Iterator[Block]:
    """Paragraphs and formulas of a docstring."""
    for part in re.split(r"\n\s*\n", text):
        if part.startswith("    "):
            yield Block(code="\n".join(line[4:] for line in part.split("\n")))
        elif part.strip():
            yield Block(text=" ".join(part.split()))


def _repeat(outcome: Outcome) -> list[Block]:
    settings = {
        f"{key}.{name}" if len(outcome.settings) > 1 else name: _words(value)
        for key, each in outcome.settings.items()
        for name, value in each.items()
    }
    command = f"ftheta study {outcome.study}"
    return [
        Block(code=f"{command}\n{command} --set seeds=3    # other settings\n{command} --tiny    # a second or two"),
        Block("Settings", html=pages.pairs(("setting", "value"), settings)),
        Block("Versions", html=pages.pairs(("package", "version"), outcome.versions)),
        Block(text="SHA-256 of settings, code and data:", soft=True),
        Block(code=outcome.digest),
    ]


# ---- the index


def index(linked: Mapping[str, str] | None = None) -> str:
    """A page of all studies with a picture and a sentence each; `linked` maps names to addresses of articles."""
    chapters: dict[str, list[str]] = {}
    for name in names():
        chapters.setdefault(name.partition("/")[0], []).append(name)
    found = [f["verdict"] for study in ledger.recorded().values() for f in study["findings"]]
    counts = ", ".join(f"{count} {verdict}" for verdict, count in Counter(found).most_common())
    tile = {name: _tile(name, (linked or {}).get(name, "")) for name in names()}
    rows = {chapter: "".join(tile[name] for name in each) for chapter, each in chapters.items()}
    return pages.render(
        title="What the sources say, measured",
        lead=f"{len(tile)} studies; verdicts on their {len(found)} claims: {counts}.",
        sections={
            pages.upper(chapter): [Block(html=Markup(f'<div class="tiles">{tiles}</div>'))]
            for chapter, tiles in rows.items()
        },
    )


def _tile(name: str, address: str) -> str:
    kept = ledger.recorded().get(name, {"findings": [], "date": ""})
    question, drawn, said = escape(info(name).question), "", sentence(kept["findings"])
    if (figure := _thumbnail(name)) is not None:
        drawn = pages.figure_html(figure, pages.slug(name), f"{figure.axes[0].get_ylabel()}. {said}")
    title = f'<a href="{escape(address)}">{question}</a>' if address else question
    small = f'<p class="soft">{" · ".join(filter(None, [name, kept["date"]]))}</p>'
    return f"<article>{drawn}<h3>{title}</h3><p>{_badges(kept['findings'])} {escape(said)}</p>{small}</article>"


@plots.drawn
def _thumbnail(name: str) -> Figure | None:
    """What the claims look at first, from the tables of the last full run; None where they are not kept."""
    for table in records(name).get("tables", {}).values():
        columns = table["columns"]
        values = {key: list(map(_parts, cells)) for key, cells in columns.items()}
        measured = [key for key in dict.fromkeys([*info(name).reads, *columns]) if all(values.get(key, [()]))]
        measured.sort(key=lambda key: len(set(values[key])) == 1)  # what is equal everywhere shows least
        plain = [key for key, cells in columns.items() if not any(isinstance(cell, str) for cell in cells)]
        if label := next(iter(measured or plain), None):  # a table of a study's own has plain numbers
            axes = {key: cells for key, cells in columns.items() if key not in (measured or plain)}
            return _small(axes, label, np.array(values[label] if measured else [(v, 0.0) for v in columns[label]]))
    return None


def _parts(cell: Any) -> tuple[float, ...]:
    """Mean and standard deviation of a cell; of another cell nothing."""
    if not isinstance(cell, str) or not (found := CELL.fullmatch(cell)):
        return ()
    return float((found[1] or "none").replace("none", "nan")), float(found[2] or 0)


def _small(axes: Mapping[str, list[Any]], label: str, values: np.ndarray) -> Figure:
    """Mean and standard deviation (cells, 2): lines along a numeric last axis, else one dot per cell."""
    figure, place = plots.canvas(width=3.1, height=2.0)
    *outer, last = axes or {"": [""] * len(values)}
    at, names = axes.get(last, [""]), [" ".join(str(axes[key][i]) for key in outer) for i in range(len(values))]
    scale = "log" if plots.wide_range(values[:, 0]) else "linear"
    if len(set(at)) > 2 and all(isinstance(v, int | float) for v in at):
        for group in list(dict.fromkeys(names))[:MAX_LINES]:
            here = [i for i, name in enumerate(names) if name == group]
            place.errorbar([at[i] for i in here], *values[here].T, marker="o", ms=3)
        place.set(xlabel=last, ylabel=plots.short(label, 22), yscale=scale)
        place.set_xscale("log" if plots.wide_range(at) else "linear")
    else:
        here = np.arange(min(len(values), MAX_LINES))
        place.errorbar(values[here, 0], here, xerr=values[here, 1], fmt="o", ms=5)
        place.set_yticks(here, [plots.short(f"{names[i]} {at[i]}".strip(), 18) for i in here])
        place.set(xlabel=plots.short(label, 32), ylabel=plots.short(", ".join(axes), 22), xscale=scale)
        place.set_ylim(len(here) - 0.5, -0.5)
    return figure
