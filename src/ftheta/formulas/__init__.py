"""One equation per function, without state."""

from ..catalog import lazy

lazy(__name__)
