"""The data of the toys as data sets with names."""

import numpy as np

from ftheta.data import Dataset
from tests.toys import examples


def ragged():
    x, y = examples.sequences()
    return Dataset("toy-ragged", x, y, ("a", "b"), tuple(np.unique(y)), "binary", kind="sequence")


def lines():
    return Dataset("toy-lines", examples.text()[0], None, ("text",), (), "none", kind="text")


def squares():
    x, y = examples.boxes()
    return Dataset("toy-squares", x, y, (), ("large", "small"), "detect", kind="boxes", shape=(16, 16))


class Maker:
    """Makes corridors; one environment."""

    __qualname__ = "Corridor"

    def __len__(self):
        return 1

    def __call__(self):
        return examples.Corridor()


def corridor():
    return Dataset("toy-corridor", Maker(), None, (), (), "none", kind="environment")
