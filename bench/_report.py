"""What a benchmark found: lines of a table, and a record that says on which machine and with which versions."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ._timing import CORES, Accuracy, Settings, Summary

__all__ = ["Line", "Report", "machine", "merge"]

PACKAGES = ("ftheta", "torch", "numpy", "scikit-learn", "scipy", "skorch", "keras", "lightning")


@dataclass(frozen=True)
class Line:
    """One contestant.

    Args:
        name: Who.
        seconds: Time of one unit of the report.
        threads: Threads it ran with; None where it chose itself.
        ratio: Times as long as ours.
        at_least: The ratio that is asked for.
        at_most: The time that is asked for, in seconds.
        accuracy: Mean over seeds, beside ours.
    """

    name: str
    seconds: Summary
    threads: int | None = None
    ratio: Summary | None = None
    at_least: float | None = None
    at_most: float | None = None
    accuracy: Accuracy | None = None

    @property
    def holds(self) -> bool | None:
        """Whether what is asked for was found; None where nothing is asked for."""
        if self.at_least is not None and self.ratio is not None:
            return self.ratio.median >= self.at_least
        return None if self.at_most is None else self.seconds.median <= self.at_most

    def cells(self) -> list[str]:
        """The line of the table."""
        ms, ratio, accuracy = self.seconds.scaled(1e3), self.ratio, self.accuracy
        bar = f">= {self.at_least:.3g}" if self.at_least is not None else ""
        bar = f"<= {self.at_most * 1e3:.0f} ms" if self.at_most is not None else bar
        return [
            self.name,
            "" if self.threads is None else str(self.threads),
            f"{ms.median:.3f}",
            f"{ms.low:.3f}-{ms.high:.3f}",
            "" if ratio is None else f"{ratio.median:.3f}",
            "" if ratio is None else f"{ratio.low:.3f}-{ratio.high:.3f}",
            bar,
            {None: "", True: "yes", False: "NO"}[self.holds],
            "" if accuracy is None else f"{accuracy.mean:.4f}",
            "" if accuracy is None else f"{accuracy.difference:+.4f} +- {accuracy.error:.4f}",
            "" if accuracy is None else ("yes" if accuracy.equal else "NO"),
        ]

    def record(self) -> dict[str, Any]:
        """The line as JSON."""
        parts = {"seconds": self.seconds, "ratio": self.ratio, "accuracy": self.accuracy}
        plain = {"name": self.name, "threads": self.threads, "at_least": self.at_least, "at_most": self.at_most}
        return plain | {"holds": self.holds} | {k: None if v is None else v._asdict() for k, v in parts.items()}


HEADER = (
    *("who", "threads", "ms", "quartiles", "ratio", "quartiles", "asked", "holds"),
    *("accuracy", "ours - theirs", "equal"),
)


@dataclass
class Report:
    """What one benchmark found.

    Args:
        name: Name of the benchmark.
        title: What was timed.
        unit: What one time is of.
        against: What the ratio is.
        dtype: Of our nets.
        lines: Contestants.
        notes: Sentences below the table.
        skipped: Peers that are not installed.
    """

    name: str
    title: str
    unit: str
    against: str = "peer/ours"
    dtype: str = "float32"
    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def text(self) -> str:
        """The table, with empty columns left out."""
        rows = [[self.against if cell == "ratio" else cell for cell in HEADER], *(line.cells() for line in self.lines)]
        kept = [c for c in range(len(HEADER)) if any(row[c] for row in rows[1:])]
        widths = {c: max(len(row[c]) for row in rows) for c in kept}
        body = ["  ".join(row[c].ljust(widths[c]) for c in kept).rstrip() for row in rows]
        missing = [f"Skipped, not installed: {', '.join(self.skipped)}."] if self.skipped else []
        return "\n".join([f"{self.name}: {self.title}; ms of {self.unit}", *body, *self.notes, *missing])

    def record(self, settings: Settings) -> dict[str, Any]:
        """The report as JSON, with date, machine and versions."""
        what = {"title": self.title, "unit": self.unit, "ratio": self.against, "dtype": self.dtype}
        found = {"lines": [line.record() for line in self.lines], "notes": self.notes, "skipped": self.skipped}
        return {**what, "repetitions": settings.repetitions, **machine(), **found}


def machine() -> dict[str, Any]:
    """When and where."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": _cpu(),
        "cores": CORES,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {"python": platform.python_version(), **{p: v for p in PACKAGES if (v := _version(p))}},
    }


def merge(path: Path, reports: Sequence[Report], settings: Settings) -> None:
    """Write reports into a JSON file by name; those of other benchmarks stay."""
    old = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    new = old | {report.name: report.record(settings) for report in reports}
    path.parent.mkdir(exist_ok=True)
    part = path.with_suffix(".part")
    part.write_text(json.dumps(dict(sorted(new.items())), indent=2) + "\n", encoding="utf-8")
    part.replace(path)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return getattr(sys.modules.get(package), "__version__", None)


def _cpu() -> str:
    """The name of the processor."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
