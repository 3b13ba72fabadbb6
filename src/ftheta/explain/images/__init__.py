"""Nets for images: filters, maps, receptive fields, and which pixels decide."""

__all__: list[str] = []
