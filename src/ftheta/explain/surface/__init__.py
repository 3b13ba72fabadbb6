"""The loss as a surface over the weights, and the paths of optimizers across it."""
