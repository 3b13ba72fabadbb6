"""The exceptions that fθ raises on purpose.

Each is also what a caller of scikit-learn, PyTorch or Python already catches. A message says what was passed, what was
expected and what to do.
"""

__all__ = ["FThetaError", "FileFormatError", "InputError", "InputTypeError", "NonFiniteError", "RunError", "StoreError"]


class FThetaError(Exception):
    """Base of all errors that fθ raises on purpose."""


class InputError(FThetaError, ValueError):
    """A value that cannot be used: its shape, its range, its name."""


class InputTypeError(FThetaError, TypeError):
    """A value of a kind that cannot be used."""


class FileFormatError(FThetaError, ValueError):
    """A file that is damaged, truncated or of another kind."""


class StoreError(FThetaError, OSError):
    """A file that could not be written; what was there before is intact."""


class NonFiniteError(FThetaError, ArithmeticError):
    """Training met a number that is not finite; nothing of it was written."""


class RunError(FThetaError, RuntimeError):
    """A run that cannot be opened, continued or used as asked."""
