"""Experiments of the ANN & DL Report, repeated on the real data with their numbers beside the printed ones."""
