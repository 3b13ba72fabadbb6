"""What is trained on: files, batches, sources, splits, tables and data sets. `__init__.pyi` lists the names."""

from ..catalog import lazy

lazy(__name__)
