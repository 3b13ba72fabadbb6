"""Segments: the table and the picture say what scikit-learn counts, for any object that labels pixels."""

import numpy as np
from sklearn.metrics import f1_score, jaccard_score, recall_score

from ftheta import UNetSegmenter, explain
from ftheta.data import shapes
from ftheta.measure import boundary_accuracy

MADE = shapes(12, size=16)
X, Y = MADE.x.reshape(-1, 16, 16), MADE.y


class Threshold:
    """A segmenter of one's own: bright pixels are class 5, others class 2."""

    classes_, ignore_label = np.array([2, 5]), None

    def predict(self, X):
        return np.where(np.asarray(X).reshape(-1, 16, 16) > 127, 5, 2)


LABELS = np.where(Y > 0, 5, 2)


def test_the_table_is_that_of_scikit_learn():
    found = explain.segments(Threshold(), X, LABELS)
    columns, t, a = found.table().columns, LABELS.ravel(), Threshold().predict(X).ravel()
    assert columns["class"] == ["2", "5"] and columns["pixels"] == [(t == 2).sum(), (t == 5).sum()]
    np.testing.assert_allclose(columns["found"], recall_score(t, a, average=None))
    np.testing.assert_allclose(columns["IoU"], jaccard_score(t, a, average=None))
    np.testing.assert_allclose(columns["Dice"], f1_score(t, a, average=None))
    outline = 100 * boundary_accuracy(LABELS, Threshold().predict(X))
    assert f"{100 * (t == a).mean():.1f} % of the pixels are right, {outline:.1f} % of those beside" in found.caption
    assert f"mean IoU {jaccard_score(t, a, average='macro', labels=[2, 5]):.3f}." in found.caption


def test_flat_rows_are_images_too_and_one_class_has_no_outline():
    flat = X.reshape(12, -1)
    assert np.array_equal(explain.segments(Threshold(), flat, LABELS).images[:, 0], X)
    alone = explain.segments(Threshold(), 0 * X, np.full_like(LABELS, 2))
    assert "beside" not in alone.caption and np.isnan(alone.table().columns["IoU"][1])


def test_ignored_pixels_are_not_counted():
    own, hidden = Threshold(), LABELS.copy()
    own.ignore_label, hidden[:, :4] = 9, 9
    found = explain.segments(own, X, hidden)
    assert (found.truth[:, :4] == -1).all() and sum(found.table().columns["pixels"]) == 12 * 12 * 16


def test_a_unet_keeps_its_modes_and_is_offered_it():
    net = UNetSegmenter(filters=(2, 2), epochs=1, random_state=0)
    assert "segments" not in explain.available(net)
    net.fit(X, Y)
    net.module_.encoder.train()
    assert "segments" in explain.available(net)
    found = explain.run("segments", net, X, Y)
    assert net.module_.encoder.training and np.array_equal(net.classes_[found.predicted], net.predict(X))
