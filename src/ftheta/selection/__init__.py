"""Choosing between models: folds, search, criteria. `__init__.pyi` lists the names.

selection.folds(n, 5, Draw(0), split="stratified", y=y)      rows to learn from and rows to judge, fold by fold
"""

from ..catalog import lazy

lazy(__name__)
