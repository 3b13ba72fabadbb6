"""Convolutional networks: depth, shortcuts, norms, shifts and transfer."""
