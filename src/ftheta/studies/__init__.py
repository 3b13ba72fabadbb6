"""Studies: experiments that check what the sources say, and the ledger of what they say."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import ledger as ledger
    from ._checks import Check as Check
    from ._checks import Verdict as Verdict
    from ._checks import holds as holds
    from ._checks import less as less
    from ._checks import missing as missing
    from ._checks import more as more
    from ._checks import near as near
    from ._checks import same as same
    from ._checks import verdict as verdict
    from ._grid import Finding as Finding
    from ._grid import Measured as Measured
    from ._grid import Study as Study
    from ._grid import mean_sd as mean_sd
    from ._running import Outcome as Outcome
    from ._running import StudyInfo as StudyInfo
    from ._running import info as info
    from ._running import load as load
    from ._running import names as names
    from ._running import record as record
    from ._running import run as run


def __getattr__(name: str) -> Any:
    """Names are imported on first use: reading the ledger needs no NumPy."""
    if name == "ledger":
        return import_module(".ledger", __name__)
    for module in ("_checks", "_grid", "_running"):
        public = vars(import_module(f".{module}", __name__))
        if name in public and not name.startswith("_"):
            return public[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
