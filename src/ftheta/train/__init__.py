"""Training: the loop, the gradient process, objectives, callbacks."""

from __future__ import annotations

from ..catalog import lazy

lazy(__name__)
