"""Predictions and the course of training."""
