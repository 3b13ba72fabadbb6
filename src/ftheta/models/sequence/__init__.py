"""Sequences in time: recurrent nets that classify, predict and tag them."""

__all__: list[str] = []
