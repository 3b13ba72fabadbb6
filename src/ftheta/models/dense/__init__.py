"""Dense nets, and nets of the user's own."""

__all__: list[str] = []
