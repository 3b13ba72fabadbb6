"""The style of all figures, and figures that several topics share. `__init__.pyi` lists the names."""

from ..catalog import lazy

lazy(__name__)
