"""Figures that only linear models have."""

__all__: list[str] = []
