"""Images changed at random while their labels stay right."""

from __future__ import annotations

from ...catalog import lazy

lazy(__name__)
