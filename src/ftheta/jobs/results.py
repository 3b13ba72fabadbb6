"""The result of a run as a table."""

from __future__ import annotations

from typing import Any

from ..results import Table

__all__ = ["result_table"]


def result_table(found: dict[str, Any]) -> Table:
    """One row per metric; "none" where no interval could be computed."""
    values, intervals = found["scores"], found.get("intervals", {})
    ends = [intervals.get(name) or (None, None) for name in values]
    cells = {
        "metric": list(values),
        "value": [_number(value) for value in values.values()],
        "low": [_number(low) for low, _ in ends],
        "high": [_number(high) for _, high in ends],
    }
    level = f"; low and high: {found['level']:.0%} confidence" if "level" in found else ""
    return Table(cells, f"{found['part']} (n = {found['rows']}){level}")


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"
