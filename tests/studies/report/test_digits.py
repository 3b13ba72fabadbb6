"""What the studies of digits share: parts that do not meet, and facts of a training."""

import numpy as np
import pytest

from ftheta.studies.report._digits import digits, fitted, trained

ARM = {"filters": (4,), "epochs": 2, "patience": 2, "batch_size": 64, "training": {"ema": 0.9}}


def test_the_parts_are_stratified_and_share_no_row():
    parts = digits("digits")
    assert (len(parts.y), len(parts.y_valid), len(parts.y_test)) == (1294, 144, 359)
    everything = np.concatenate([parts.x, parts.x_valid, parts.x_test]).reshape(1797, -1)
    assert len(np.unique(everything, axis=0)) == 1797 and everything.max() == 1
    assert np.bincount(parts.y_test).min() >= 34
    assert len(digits("digits", 100).y) == 100


@pytest.mark.data
def test_mnist_keeps_its_official_test_part(data_dir):
    parts = digits("mnist")
    assert (len(parts.y), len(parts.y_valid), len(parts.y_test)) == (54_000, 6_000, 10_000)
    assert parts.x.dtype == np.uint8 and parts.x.shape[1:] == (1, 28, 28)


def test_a_training_is_told_as_it_was():
    found, parts = trained("digits", ARM, 3), digits("digits")
    model = fitted(parts, ARM, 3)
    assert (found["predicted"] == model.predict(parts.x_test)).all()
    assert found["loss"] == pytest.approx(model.evaluate(parts.x_test, parts.y_test)["loss"], rel=1e-5)
    assert found["valid_accuracy"] == pytest.approx(model.score(parts.x_valid, parts.y_valid))
    assert found["epochs"] == 2 and found["curve"].shape == (2, 3) and found["best"] in (1, 2)
    assert found["parameters"] == sum(p.numel() for p in model.module_.parameters())
