"""Optimizers: noise, width and time, rates, batches, schedules, surfaces and minima."""
