"""Training: the loop, the gradient process, objectives, callbacks."""

from ..catalog import lazy

lazy(__name__)
