"""Files in; `ftheta.data` has the names."""
