"""Hopfield networks and Boltzmann machines: capacity, recall, likelihood and overfitting."""
