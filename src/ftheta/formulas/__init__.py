"""One equation per function, without state."""

from __future__ import annotations

from .stable import log_softplus, softplus

__all__ = ["log_softplus", "softplus"]
