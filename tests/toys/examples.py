"""Small data for each toy: X, y, settings with which it learns them, and the score that shows it."""

from dataclasses import fields

import numpy as np
import torch

from ftheta import catalog


def series():
    """Two waves."""
    t = np.arange(240)
    return np.stack([np.sin(t / 5), 3 + np.cos(t / 7)], 1), None


def sequences():
    """Rising or falling, of 3 to 9 steps."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    lengths = rng.integers(3, 10, 120)
    rows = [
        (2 * k - 1) * np.linspace(-1, 1, n)[:, None] + 0.1 * rng.normal(size=(n, 2))
        for k, n in zip(y, lengths, strict=True)
    ]
    return rows, np.array(["falling", "rising"])[y]


def text():
    """A line again and again."""
    return "the cat sat on the mat. " * 40, None


def boxes():
    """One or two bright squares of two sizes in dark images."""
    rng = np.random.default_rng(0)
    images, y = rng.uniform(0, 0.1, (96, 16, 16)), []
    for image in images:
        found = []
        for side in range(rng.integers(1, 3)):
            size = int(rng.choice([3, 5]))
            row, column = int(rng.integers(0, 16 - size)), int(8 * side + rng.integers(0, 8 - size))
            image[row : row + size, column : column + size] = 1
            found.append(([column, row, column + size, row + size], "large" if size == 5 else "small"))
        y.append({"boxes": [box for box, _ in found], "labels": [label for _, label in found]})
    return images, y


class Corridor:
    """Six rooms in a row: left or right; the last room ends it with a reward of 1, each step costs 0.01."""

    class observation_space:  # noqa: N801
        n, shape = 6, ()

    class action_space:  # noqa: N801
        n = 2

    def reset(self, seed=None):
        self.room = 0
        return self.room, {}

    def step(self, action):
        self.room = max(0, self.room + (1 if action else -1))
        ended = self.room == 5
        return self.room, (1.0 if ended else -0.01), ended, False, {}


def corridor():
    return Corridor, None


EXAMPLES = {  # (kind, task): data, settings, score that it reaches
    ("series", "forecast"): (series, {"epochs": 3, "hidden": 8, "lags": 8, "horizon": 5, "batch_size": 32}, 0.9),
    ("sequence", "classify"): (sequences, {"epochs": 12, "lr": 0.02, "batch_size": 20}, 0.95),
    ("text", "generate"): (text, {"epochs": 40, "lr": 0.02, "batch_size": 8}, -0.5),
    ("boxes", "detect"): (boxes, {"epochs": 25, "lr": 0.01}, 0.7),
    ("environment", "act"): (corridor, {"epochs": 60}, 0.9),
}


def made(pair, target, **settings):
    """A small estimator that is always the same."""
    cls = catalog.load(target)
    chosen, known = EXAMPLES[pair][1] | {"epochs": 3, "random_state": 0} | settings, {f.name for f in fields(cls)}
    return cls(**{k: v for k, v in chosen.items() if k in known})


def state(model):
    """Bytes of everything that was learned, by name."""
    return dict(_leaves("", model.get_state()))


def _leaves(path, tree):
    if isinstance(tree, torch.Tensor | np.ndarray | float):
        yield path, np.asarray(tree).tobytes()
    items = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list | tuple) else ()
    for key, value in items:
        yield from _leaves(f"{path}.{key}", value)
