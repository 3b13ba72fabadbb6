"""Faults planted on purpose: a wrong sign, a lost factor, another axis. Each must be caught by a test."""
