"""Files in; `ftheta.data` has the names."""

__all__: list[str] = []
