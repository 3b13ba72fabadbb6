"""Sequences in time: recurrent nets that classify, predict and tag them, and forecasts of series."""

__all__: list[str] = []
