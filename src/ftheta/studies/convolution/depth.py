"""How many convolutions does a network need to classify digits?

Networks with one to five 3 x 3 convolutions of equal width, one pooling after the last and the same output classify
digits of 8 x 8 pixels. From which depth on do more convolutions not help?

    pixels that a feature sees, after k convolutions:  (2k + 1)²;  after the pooling:  (2k + 2)²,  all of 8 x 8 at k = 3

Reference: Zeiler and Fergus, arXiv:1311.2901 (2013).
"""

from ...nn import ConvNet
from .. import Checks, Measured, Study, more, same
from ._nets import accuracy, images, n_parameters, trained


def measure(
    seed: int, convolutions: int, *, rows: int = 1000, filters: int = 8, updates: int = 500
) -> dict[str, float]:
    """Test accuracy in % of one network."""
    train, test = images("digits", rows, seed)
    shape = tuple(train[0].shape[1:])
    net = trained(
        lambda: ConvNet(shape, 10, (filters,), convs=convolutions, padding="same"), train, steps=updates, seed=seed
    )
    return {"test accuracy (%)": 100 * accuracy(net, test), "parameters": n_parameters(net)}


TINY = {"seeds": 2, "convolutions": (1, 2, 3, 4), "rows": 1700, "filters": 2, "updates": 3}
study = Study(measure, {"convolutions": (1, 2, 3, 4, 5)}, seeds=8, tiny=TINY)


@study.claim("B098", says="two or three conv layers with a suitable number of filters should suffice")
def enough(m: Measured) -> Checks:
    value = m["test accuracy (%)"]
    best = value[1:3].max(0)
    yield more("two or three are better than one (points)", best, value[0])
    yield same("more than three add at most one point to the better of two and three", value[3:], best, within=1.0)
