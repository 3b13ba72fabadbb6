"""Search spaces of the families: each has one, and every end and choice of it is a setting that trains."""

import warnings

import numpy as np
import pytest

from ftheta import catalog
from ftheta.selection import Range, space_of
from ftheta.selection.space import at

OWN = ("module",)  # whose parameters are those of the user's network
FAMILIES = [
    pytest.param(target, key, id=f"{card.name} {key[1]}")
    for card in catalog.CARDS.values()
    for key, target in card.targets.items()
    if key[1] in ("classify", "regress", "segment") and key[0] in ("table", "image") and card.name not in OWN
]
X = np.random.default_rng(0).normal(size=(40, 4))


@pytest.mark.ledger("A165", covers="ftheta.selection.space_of")
@pytest.mark.parametrize(("target", "key"), FAMILIES)
def test_every_family_names_what_can_be_searched(target, key):
    cls = catalog.load(target)
    space = space_of(cls.space, list(cls().get_params(deep=False)))
    assert space
    for u in (0.0, 0.5, 0.999):
        point = {name.replace(".", "__"): at(where, u) for name, where in space.items()}
        cls().set_params(**point)._validate_params()


@pytest.mark.middle
@pytest.mark.parametrize(("target", "key"), [f for f in FAMILIES if "table" in f.values[1]])
def test_both_ends_of_a_space_train(target, key):
    cls, y = catalog.load(target), X[:, 0] + X[:, 1] if key[1] == "regress" else np.repeat(["a", "b"], 20)
    x = np.abs(X).round() if cls.__name__ == "DiscreteNaiveBayes" else X
    for u in (0.0, 0.999):
        point = {n.replace(".", "__"): at(w, u) for n, w in space_of(cls.space).items() if n != "hidden"}
        model = cls().set_params(**point)
        with warnings.catch_warnings(action="ignore"):
            known = model.get_params()
            model.set_params(**{n: v for n, v in {"epochs": 2, "random_state": 0}.items() if n in known}).fit(x, y)
        assert len(model.predict(x)) == 40


def test_a_range_of_integers_gives_integers():
    assert all(isinstance(at(Range(1, 50, log=True), u), int) for u in (0.0, 0.3, 0.9))
