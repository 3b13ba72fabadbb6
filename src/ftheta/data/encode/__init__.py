"""Tables and arrays as numbers for a model; `ftheta.data` has the names."""
