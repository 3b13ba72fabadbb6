"""What every estimator of images must do: read from the catalog, on small images with a bar that stands or lies."""

import subprocess
import sys
from functools import cache

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import ftheta
from ftheta import catalog
from ftheta.errors import FThetaError, InputError
from ftheta.train import Training

CLASSES = [
    catalog.resolve(card.name, kind, task)
    for card in catalog.CARDS.values()
    for kind, task in card.targets
    if kind == "image"
]
CLASSIFIERS = [cls for cls in CLASSES if cls.__name__.endswith("Classifier")]
each = pytest.mark.parametrize("cls", CLASSES)
classifier = pytest.mark.parametrize("cls", CLASSIFIERS)


def small(cls, **settings):
    return cls(**({"filters": (4, 8), "epochs": 3, "batch_size": 8, "random_state": 0} | settings))


def data(cls, n=24, size=(12, 10), seed=0):
    """Images of bytes with a bar; labels of images, or of pixels."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 40, (n, 1, *size), dtype=np.uint8)
    stands = np.arange(n) % 2 == 0
    for x, up in zip(X, stands, strict=True):
        row, column = rng.integers(2, size[0] - 4), rng.integers(2, size[1] - 4)
        x[0, row : row + (4 if up else 1), column : column + (1 if up else 4)] = 255
    return X, np.where(stands, "stands", "lies") if cls in CLASSIFIERS else (X[:, 0] > 128).astype(int)


def same(a, b):
    np.testing.assert_array_equal(a, b)


@each
def test_parameters_are_stored_cloned_and_not_changed_by_fit(cls):
    made = small(cls)
    before = made.get_params()
    made.fit(*data(cls))
    assert made.get_params() == before and clone(made).get_params() == before


@each
def test_fitting_twice_gives_the_same_and_leaves_global_generators_alone(cls):
    X, y = data(cls)
    torch.manual_seed(5)
    np.random.seed(5)
    expected = torch.rand(3).tolist(), np.random.rand(3).tolist()
    torch.manual_seed(5)
    np.random.seed(5)
    one, two = small(cls).fit(X, y), small(cls).fit(X, y)
    same(one.predict_proba(X), two.predict_proba(X))
    same(one.fit(X, y).predict_proba(X), two.predict_proba(X))
    assert (torch.rand(3).tolist(), np.random.rand(3).tolist()) == expected


@each
def test_an_image_alone_is_answered_as_in_a_batch(cls):
    X, y = data(cls)
    made = small(cls).fit(X, y)
    alone = np.concatenate([made.predict_proba(X[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(alone, made.predict_proba(X)[:5], atol=1e-6)


@each
def test_bytes_floats_and_flat_rows_are_the_same_images(cls):
    X, y = data(cls)
    made = small(cls).fit(X, y)
    expected = made.predict_proba(X)
    np.testing.assert_allclose(made.predict_proba(X / np.float32(255)), expected, atol=1e-6)
    same(made.predict_proba(X[:, 0]), expected)
    same(made.predict_proba(torch.from_numpy(X)), expected)
    flat = small(cls, image_shape=(12, 10)).fit(X.reshape(len(X), -1), y)
    same(flat.predict_proba(X.reshape(len(X), -1)), expected)
    np.testing.assert_allclose(made.predict_proba(X.astype(np.uint16) * 257), expected, atol=1e-6)


CHILD = """
import sys, numpy as np, ftheta
for name in sys.argv[2:]:
    X = np.load(f"{sys.argv[1]}/{name}.npy")
    np.save(f"{sys.argv[1]}/{name}-said.npy", ftheta.load(f"{sys.argv[1]}/{name}").predict_proba(X))
"""


@pytest.mark.middle
def test_saved_models_are_loaded_by_a_new_process(tmp_path):
    made = {cls.__name__: small(cls).fit(*data(cls)) for cls in CLASSES}
    for cls in CLASSES:
        made[cls.__name__].save(tmp_path / cls.__name__)
        np.save(tmp_path / f"{cls.__name__}.npy", data(cls)[0])
    subprocess.run([sys.executable, "-c", CHILD, str(tmp_path), *made], check=True)
    for cls in CLASSES:
        same(np.load(tmp_path / f"{cls.__name__}-said.npy"), made[cls.__name__].predict_proba(data(cls)[0]))


@each
def test_a_stopped_run_goes_on_bit_for_bit(cls, tmp_path):
    X, y = data(cls)
    knobs = {"training": Training(ema=0.9, every=0.0), "augment": "shift", "norm": "batch"}
    whole = small(cls, **knobs).fit(X, y)
    with pytest.raises(KeyboardInterrupt):
        small(cls, **knobs).fit(X, y, run=_Broken(tmp_path))
    same(small(cls, **knobs).fit(X, y, run=tmp_path).predict_proba(X), whole.predict_proba(X))


class _Broken(ftheta.store.Run):
    """A run whose fourth checkpoint is the last."""

    count = 0

    def checkpoint(self, tree, step):
        super().checkpoint(tree, step)
        self.count += 1
        if self.count == 4:
            raise KeyboardInterrupt


@each
def test_six_partial_fits_are_a_fit_of_six_epochs(cls):
    X, y = data(cls)
    knobs = {"epochs": 6, "training": Training(ema=0.9, schedule="cosine"), "augment": {"rotate": 5}}
    whole, parts = small(cls, **knobs).fit(X, y), small(cls, **knobs)
    for _ in range(6):
        parts.partial_fit(X, y)
    same(parts.predict_proba(X), whole.predict_proba(X))


@each
def test_weights_of_rows_are_copies_and_rows_of_weight_zero_are_not_seen(cls):
    X, y = data(cls, n=12)
    weight = np.array([1, 2, 3] * 4)
    knobs = {"batch_size": "auto", "norm": "none" if cls in CLASSIFIERS else "layer"}
    weighted = small(cls, **knobs).fit(X, y, sample_weight=weight)
    copied = small(cls, **knobs).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight, axis=0))
    np.testing.assert_allclose(weighted.predict_proba(X), copied.predict_proba(X), atol=1e-5)
    aside = small(cls).fit(X, y, sample_weight=np.repeat([1, 0], 6))
    np.testing.assert_allclose(aside.predict_proba(X), small(cls).fit(X[:6], y[:6]).predict_proba(X), atol=1e-6)


@each
def test_scikit_learns_tools_take_it(cls):
    X, y = data(cls)
    made = small(cls, epochs=2)
    assert len(cross_val_score(made, X, y, cv=2)) == 2
    found = GridSearchCV(made, {"epochs": [1, 2]}, cv=2).fit(X, y)
    assert found.best_params_["epochs"] in (1, 2)
    piped = make_pipeline(FunctionTransformer(lambda x: x / 255.0), made).fit(X, y)
    assert len(piped.predict(X[:3])) == 3


@each
def test_before_fit_it_says_so(cls):
    with pytest.raises(NotFittedError):
        small(cls).predict(data(cls)[0])


BAD = {
    "one image": (lambda X: X[0, 0], r"One image alone is X\[None\]"),
    "another size": (
        lambda X: X[:, :, :8],
        r"X has images of 1x8x10 \(channels x height x width\), but \w+ was fitted",
    ),
    "colour": (lambda X: np.repeat(X, 3, axis=1), r"X has images of 3( channel|x12x10)"),
    "channels last": (
        lambda X: np.repeat(X, 3, axis=1).transpose(0, 2, 3, 1),
        r"X has images of 3x12x10 \(channels x height x width\), but \w+ was fitted with 1x12x10",
    ),
    "flat": (lambda X: X.reshape(len(X), -1), r"flat rows with image_shape"),
    "text": (lambda X: X.astype(str), r"X holds <U3; \w+ needs pixels"),
    "no rows": (lambda X: X[:0], r"nothing is in it"),
    "NaN": (lambda X: np.where(X > 200, np.nan, X), r"X contains NaN: \d+ values, first at row"),
    "infinite": (lambda X: np.where(X > 200, np.inf, X), r"X contains inf or a value too large for float32"),
    "sizes mixed": (lambda X: [X[0], X[1, :, :5]], r"bring all images to one size"),
}


@cache
def fitted(cls):
    return small(cls, epochs=1).fit(*data(cls))


@each
@pytest.mark.parametrize("what", [w for w in BAD if w != "another size"])
def test_bad_images_are_one_sentence(cls, what):
    change, said = BAD[what]
    with pytest.raises(FThetaError, match=said) as caught:
        fitted(cls).predict(change(data(cls)[0]))
    assert "\n" not in str(caught.value)


@classifier
def test_images_of_another_size_are_one_sentence(cls):
    with pytest.raises(InputError, match=BAD["another size"][1]):
        fitted(cls).predict(data(cls)[0][:, :, :8])


@classifier
def test_labels_keep_their_kind_and_two_three_and_several_labels_are_learned(cls):
    X, y = data(cls)
    made = small(cls, epochs=1).fit(X, y)
    assert made.classes_.tolist() == ["lies", "stands"] and set(made.predict(X)) <= {"lies", "stands"}
    assert made.predict_proba(X).shape == (24, 2)
    three = small(cls, epochs=1, augment="mixup").fit(X, np.arange(24) % 3)
    assert three.predict_proba(X).shape == (24, 3)
    several = small(cls, epochs=1).fit(X, np.stack([y == "lies", y == "stands"], 1).astype(int))
    assert several.predict(X).shape == (24, 2)


@each
def test_float64_is_learned_in_float64(cls):
    X, y = data(cls)
    made = small(cls, dtype="float64").fit(X, y)
    assert made.predict_proba(X).dtype == np.float64 and next(made.module_.parameters()).dtype == torch.float64
    np.testing.assert_allclose(made.predict_proba(X[:1]), made.predict_proba(X)[:1], atol=1e-12)
