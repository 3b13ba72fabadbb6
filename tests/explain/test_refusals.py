"""What cannot be explained is refused with an error of ours that names what was passed."""

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import (
    CommitteeRegressor,
    ForestClassifier,
    LinearRegression,
    LogisticRegression,
    MLPClassifier,
    MLPRegressor,
    SVMClassifier,
    SVMRegressor,
    TreeClassifier,
    explain,
)
from ftheta.errors import InputError, InputTypeError, NonFiniteError

RNG = np.random.default_rng(0)
X, Y, LABELS = RNG.normal(size=(12, 3)), RNG.normal(size=12), np.arange(12) % 2
NET, MAPS = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1)), nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten())
IMAGES, LINE = RNG.normal(size=(2, 1, 5, 5)), LinearRegression().fit(X, Y)
MODEL = MLPClassifier(hidden=(2,), epochs=1, random_state=0).fit(X, LABELS)
TREE, FOREST = (cls(random_state=0).fit(X, LABELS) for cls in (TreeClassifier, ForestClassifier))
MACHINE, TUBE = SVMClassifier().fit(X, LABELS), SVMRegressor(kernel="linear").fit(X, Y)
MEAN = CommitteeRegressor(members=("linear", "ridge"), random_state=0).fit(X, Y)
REFUSED = {
    "y is missing": (lambda: explain.landscape(MODEL, X), "learns from targets, but y is None"),
    "y of another length": (lambda: explain.row_influence(LINE, X, Y[:5]), r"y has shape \(5,\); pass one target"),
    "y with two axes": (lambda: explain.row_influence(LINE, X, Y[:, None]), r"y has shape \(12, 1\); pass one target"),
    "X of other columns": (
        lambda: explain.row_influence(LINE, X[:, :2], Y),
        r"X has shape \(12, 2\); pass rows of the 3",
    ),
    "X is not finite": (lambda: explain.row_influence(LINE, X * np.nan, Y), r"X holds nan at \[0, 0\]; finite numbers"),
    "rows do not fit": (lambda: explain.activations(NET, X[:, :2]), r"Sequential failed on 12 rows of shape \(2,\)"),
    "text for a module": (lambda: explain.activations(NET, [["a"] * 3]), "X holds <U1; a plain module takes numbers"),
    "no rows": (lambda: explain.activations(NET, X[:0]), "X has no rows"),
    "an unknown loss": (lambda: explain.backprop(NET, X, Y, "half-sqare"), "'half-sqare'.*half-square"),
    "a loss that is a number": (lambda: explain.backprop(NET, X, Y, 3), "loss is int"),
    "targets of another shape": (lambda: explain.backprop(NET, X, X, "square"), r"\(12, 1\) and y \(12, 3\)"),
    "a loss of all rows": (lambda: explain.backprop(NET, X, Y[:, None], nn.MSELoss()), r"\(\) for 12 rows"),
    "an unknown table": (lambda: explain.backprop(NET, X, Y, "square").table("delta"), "'delta'.*deltas"),
    "a row that is not there": (lambda: explain.film(NET, X, Y, row=12), "row=12, but X has 12 rows"),
    "a row before the first one": (lambda: explain.run("votes", FOREST, X, row=-13), "row=-13, but X has 12 rows"),
    "names of other columns": (lambda: explain.run("splits", TREE, X, LABELS, names=["a"]), "names has 1 names"),
    "targets of some rows": (
        lambda: explain.run("splits", TREE, X, LABELS[:5]),
        r"y has shape \(5,\); pass one target",
    ),
    "margins of some rows": (lambda: explain.run("margins", MACHINE, X, LABELS[:5]), r"y has shape \(5,\); pass one"),
    "classes of another model": (lambda: explain.run("margins", MACHINE, X, LABELS + 1), r"classes .*, \[0, 1\]"),
    "one row left out of others": (lambda: explain.run("leave-one-out", MACHINE, X, LABELS + 1), "not classes of the"),
    "a tube of some rows": (lambda: explain.run("tube", TUBE, X, Y[:5]), r"y has shape \(5,\); pass one target"),
    "a committee of some rows": (lambda: explain.run("committee", MEAN, X, Y[:5]), r"\(5,\), and predictions \(12,\)"),
    "frozen parameters": (
        lambda: explain.spectrum(nn.Linear(3, 1).requires_grad_(False), X, Y),
        "All parameters of Linear are frozen",
    ),
    "too few steps": (lambda: explain.spectrum(NET, X, Y, steps=3), "k=5 and steps=3"),
    "a loss that is NaN": (lambda: explain.spectrum(NET, X * np.nan, Y), "loss at the weights is nan"),
    "unknown directions": (lambda: explain.landscape(NET, X, Y, directions="rando"), "Did you mean 'random'"),
    "a path of other weights": (lambda: explain.landscape(NET, X, Y, path=np.zeros((3, 5))), r"'path' has shape"),
    "parallel directions": (lambda: explain.landscape(NET, X, Y, directions=np.ones((2, 21))), "span no plane"),
    "a box that shrinks": (lambda: explain.landscape(NET, X, Y, box=((1, 0), (0, 1))), "The grid would go from"),
    "models that differ": (
        lambda: explain.linear_interpolation(NET, nn.Linear(3, 1), X, Y),
        "parameters; both need the same names",
    ),
    "an unknown rule": (lambda: explain.trajectories("ravine", ["gdd"]), "'gdd'"),
    "a function without a box": (lambda: explain.trajectories(torch.sum, ["gd"]), r"Pass start= and box="),
    "an unknown surface": (lambda: explain.trajectories("ravin", ["gd"]), "'ravin'.*ravine"),
    "a rule without gradients": (lambda: explain.updates("lm", [1.0]), "lm evaluates the loss itself"),
    "an unknown option": (lambda: explain.updates("gd", [1.0], options={"beta": 1}), "Option 'beta'"),
    "an optimizer without a rate": (
        lambda: explain.learning_rate(MLPRegressor(optimizer="lm"), X, Y),
        "finds the length of its steps itself",
    ),
    "an unknown method": (lambda: explain.saliency(MAPS, IMAGES, method="gradients"), "'gradients'.*gradient"),
    "an unknown target": (lambda: explain.saliency(MAPS, IMAGES, target="cat"), "Unknown target 'cat'"),
    "an unknown layer": (lambda: explain.feature_maps(MAPS, IMAGES, ["conv"]), "Unknown layer 'conv'"),
    "images of bytes": (lambda: explain.saliency(MAPS, IMAGES.astype("uint8")), "X holds torch.uint8"),
    "images without channels": (lambda: explain.saliency(MAPS, IMAGES[:, 0]), "Add the missing axes"),
    "units that are not there": (lambda: explain.synthesize(MAPS, units=99, X=IMAGES), "units is 99"),
    "a shape that is not known": (lambda: explain.receptive_field(MAPS), "does not know the shape of its rows"),
    "a transformation that is none": (lambda: explain.equivariance(MAPS, [], IMAGES), r"transform=\[\]"),
    "a kernel of other axes": (lambda: explain.convolve(np.eye(4), [1, 2]), "give both as many axes"),
    "an unknown pooling": (lambda: explain.pool(np.eye(4), 2, "average"), "'average'"),
    "a parameter that is not there": (
        lambda: explain.perturb_weight(NET, X, Y, parameter="0.wieght"),
        "'0.wieght'.*0.weight",
    ),
    "a place that is not there": (lambda: explain.perturb_weight(NET, X, Y, index=99), "index=99 is not a place"),
    "widths that are none": (lambda: explain.network([3, 0]), "expected at least two integers from 1"),
    "a mask that does not fit": (lambda: explain.network([3, 4, 1], dropped=[[True]]), "expected bool masks"),
    "too many features": (lambda: explain.fitted_curve(LINE, X, Y), "not a regressor of one or two features"),
    "columns that are not there": (lambda: explain.regions(MODEL, X, columns=(0, 9)), r"columns=\(0, 9\)"),
    "labels that are not known": (
        lambda: explain.solvers(LogisticRegression().fit(X, LABELS), X, LABELS + 7),
        "labels that are not classes",
    ),
    "not a chain": (lambda: explain.expression(MAPS), "not a chain of Linear layers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused_with_what_was_passed(case):
    call, words = REFUSED[case]
    with pytest.raises((InputError, InputTypeError, NonFiniteError), match=words):
        call()
