"""Do more passes improve a restricted Boltzmann machine of 100 units, and by how much?

The last rows of Table 4 of the ANN & DL Report, as in `report/rbm`, with five seeds: three had not decided about the
third ten passes.
"""

import numpy as np

from .. import Checks, Measured, Study, less, more
from .rbm import TINY, after, table4

study = Study(table4, {"machine": ("100, 0.01",)}, seeds=5, tiny=TINY, inner={"after": (10, 20, 30)})


@study.claim("B130", says="10, 20, 30 iterations: marginally better, -79.74, -76.54, -75.07")
def passes(m: Measured) -> Checks:
    gain = np.diff([after(m, "100, 0.01", n) for n in (10, 20, 30)], axis=0)
    yield more("ten more passes are better (nats)", gain)
    yield less("the next ten add less (nats)", gain[1], gain[0])
