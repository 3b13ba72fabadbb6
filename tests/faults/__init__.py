"""Faults planted on purpose: a wrong sign, a lost factor, another axis, a missing detach. Each must be caught by a test."""
