"""Small networks: activations, early stopping, a surface, and noise in the targets."""
