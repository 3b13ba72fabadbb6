"""Studies: experiments and checked claims, and the ledger of what the sources ask for."""

from __future__ import annotations

from ._study import Finding, Outcome, conduct, load, names

__all__ = ["Finding", "Outcome", "conduct", "load", "names"]
