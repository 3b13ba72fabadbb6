"""Reports: a run as one self-contained page.

report.page(run, model, (X, y), rows, command="ftheta train mlp iris")      HTML, with nothing to fetch
"""

from __future__ import annotations

from .page import at_most, page

__all__ = ["at_most", "page"]
