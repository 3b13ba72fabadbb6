"""Images changed at random while their labels stay right; `ftheta.data` has the names."""
