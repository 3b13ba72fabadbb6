"""Energy models: Boltzmann machines, associative memories, and what explains them."""

__all__: list[str] = []
