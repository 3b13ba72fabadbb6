"""Nets for images: filters, maps, receptive fields, and which pixels decide."""
