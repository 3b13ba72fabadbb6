"""One equation per function, without state."""

from __future__ import annotations

from ..catalog import lazy

lazy(__name__)
