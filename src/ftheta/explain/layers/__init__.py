"""Layers: what a net is made of, and what its layers give."""
