"""Reports: a run as one self-contained page.

report.page(run, model, (X, y), rows, data=..., result=..., test=..., command="ftheta train mlp iris")      HTML
"""

from __future__ import annotations

from .page import at_most, page

__all__ = ["at_most", "page"]
