"""Side-by-side benchmarks: `python -m bench [NAME ...]` prints a table of ratios and writes `results/bench.json`."""
