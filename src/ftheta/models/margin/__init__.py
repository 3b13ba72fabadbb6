"""Margins: support vector machines, their kernels and solvers, and what they show."""
