"""How many parameters and images does a dense network need to be as accurate as a convolutional one?

Digits in the middle of the image, and digits at random positions in a border of three dark pixels. How accurate are
dense networks of 8 to 256 hidden units and convolutional networks of 8, 16 and of 16, 32 maps, by number of images?

    dense: D H + H + 10 H + 10 parameters, D = 64 or 196 pixels;      all networks have the same number of updates

For the curves over images, the dense network is the best of all widths in each seed, judged on the test images, which
favors the dense networks.
"""

import numpy as np
from torch import nn

from ...nn import MLP, ConvNet
from .. import Checks, Measured, Study, holds, more
from ._nets import accuracy, n_parameters, shuffled, trained

POSITIONS = ("in the middle", "at random positions")
NETS = ("conv 8", "conv 16", "dense 8", "dense 16", "dense 32", "dense 64", "dense 256")


def network(name: str, shape: tuple[int, ...]) -> nn.Module:
    """A convolutional or dense network of a size."""
    kind, _, size = name.partition(" ")
    if kind == "conv":
        return ConvNet(shape, 10, (int(size), 2 * int(size)), padding="same")
    return nn.Sequential(nn.Flatten(), MLP(int(np.prod(shape)), 10, (int(size),)))


def measure(
    seed: int, position: str, net: str, n_images: int, *, test: int = 797, border: int = 3, updates: int = 400
) -> dict[str, float]:
    """Test accuracy in % and number of parameters."""
    apart = position == POSITIONS[1]
    x, y = shuffled("digits", seed, border=border if apart else 0, shifted=apart)
    shape = tuple(x.shape[1:])
    found = trained(lambda: network(net, shape), (x[:n_images], y[:n_images]), steps=updates, seed=seed)
    return {"test accuracy (%)": 100 * accuracy(found, (x[-test:], y[-test:])), "parameters": n_parameters(found)}


TINY = {"seeds": 2, "net": ("conv 2", "conv 4", "dense 4"), "n_images": (20, 40), "test": 100, "updates": 3}
study = Study(measure, {"position": POSITIONS, "net": NETS, "n_images": (50, 200, 1000)}, seeds=5, tiny=TINY)


@study.claim("A209", says="a convolutional network needs fewer parameters")
def fewer(m: Measured) -> Checks:
    value = m["test accuracy (%)"][:, :, -1]  # (position, net, seed)
    size = m["parameters"][:, :, -1, 0]  # (position, net)
    for p, position in enumerate(m.axes["position"]):
        for k in range(2):
            equal = value[p, 2:] >= value[p, k]  # dense networks that are as accurate: (dense, seed)
            needed = np.where(equal, size[p, 2:, None], np.inf).min(0) / size[p, k]
            text = f"a dense network as accurate as {m.axes['net'][k]} needs more, digits {position}"
            number = ", ".join(f"{v:.1f} times" if np.isfinite(v) else "none is" for v in needed)
            yield holds(text, (needed > 1).all(), number)


@study.claim("A211", says="fewer samples needed to learn distributions to similar degrees of precision")
def above(m: Measured) -> Checks:
    value = m["test accuracy (%)"]
    for p, position in enumerate(m.axes["position"]):
        yield more(f"digits {position}, every number of images (points)", value[p, 1], value[p, 2:].max(0))
