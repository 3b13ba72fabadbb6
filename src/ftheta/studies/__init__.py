"""Studies: experiments and checked claims, and the ledger of what the sources ask for."""

from __future__ import annotations

__all__: list[str] = []
