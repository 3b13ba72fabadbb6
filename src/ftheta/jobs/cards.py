"""The first numbers of a report: each with its interval, and a mark where the simplest answer scores."""

from collections.abc import Mapping
from typing import Any

from ..results import Table, percent
from ..tasks.base import LEVEL, Headline
from . import files


def number(value: float | None) -> str:
    """As tables show it."""
    return "none" if value is None else Table({"": [value]}).text().split("\n")[-1]


def cards(trained: Any, result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the template shows of each headline of the task; the first has a picture of interval and baseline."""
    answers = files.answers(trained.run)
    found = trained.task.headlines(result["scores"], answers["y"], answers)
    known = [line for line in found if result["scores"].get(line.score) is not None]
    return [_card(line, result, drawn=i == 0) for i, line in enumerate(known)]


def _card(line: Headline, result: Mapping[str, Any], *, drawn: bool) -> dict[str, Any]:
    value, ends = result["scores"][line.score], result.get("intervals", {}).get(line.score)
    simple = result.get("baseline")
    base = simple["scores"].get(line.score) if simple else None
    linear = (simple["linear"] or {}).get(line.score) if simple else None
    between = f"{percent(result.get('level', LEVEL))}: {line.show(ends[0])} to {line.show(ends[1])}" if ends else ""
    others = {} if simple is None else {simple["name"]: base if drawn else None, "linear model": linear}
    notes = [between, line.note, *(f"{name}: {line.show(v)}" for name, v in others.items() if v is not None)]
    notes = [note.replace("± ", "") if note != line.note else note for note in notes if note]
    low, high = ends or (value, value)
    marks = [v for v in (value, low, high, base) if v is not None]
    start, span = min(marks), (max(marks) - min(marks)) or 1.0
    mark = None
    if drawn and (ends or base is not None):
        at = {name: 8 + 84 * (v - start) / span for name, v in {"value": value, "low": low, "high": high}.items()}
        mark = at | {"base": None if base is None else 8 + 84 * (base - start) / span}
        mark["says"] = "; ".join([f"{line.title} {line.show(value)}", *notes])
    return {"title": line.title, "value": line.show(value), "notes": notes, "mark": mark}
