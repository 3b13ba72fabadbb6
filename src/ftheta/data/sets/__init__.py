"""Data sets by name: built in, synthetic, and files; `ftheta.data` has the names."""
