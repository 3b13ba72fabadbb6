"""Whitening: covariances by definition, scikit-learn's PCA and scaler, and directions in which nothing varies."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

from ftheta.errors import InputError
from ftheta.models import Whitening, principal_axes

METHODS = ("standard", "pca", "zca")
every = pytest.mark.parametrize("method", METHODS)


def rows(seed, n=None, d=None):
    rng = np.random.default_rng(seed)
    n, d = n or int(rng.integers(20, 200)), d or int(rng.integers(1, 12))
    return rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + 5 * rng.normal(size=d)


def exact(covariance, n=50):
    """Rows whose covariance is exactly this one."""
    z = np.random.default_rng(0).normal(size=(n, len(covariance)))
    z -= z.mean(0)
    return z @ np.linalg.inv(np.linalg.cholesky(z.T @ z / n)).T @ np.linalg.cholesky(covariance).T + [3.0, -1.0]


@pytest.mark.ledger("B204", covers="ftheta.models.Whitening")
def test_scaling_leaves_the_correlation_and_whitening_takes_it_away():
    x = exact(np.array([[4.0, 1.9], [1.9, 1.0]]))
    before, scaled = Whitening(method="standard").fit(x).covariances(x)
    np.testing.assert_allclose(before, [[4, 1.9], [1.9, 1]], rtol=1e-12)
    np.testing.assert_allclose(scaled, [[1, 0.95], [0.95, 1]], rtol=1e-12)  # 1.9 / √(4 · 1)
    assert scaled[0, 1] == pytest.approx(0.949, abs=0.0015)
    for method in ("pca", "zca"):
        model = Whitening(method=method).fit(x)
        np.testing.assert_allclose(model.covariances(x)[1], np.eye(2), atol=1e-12)
        np.testing.assert_allclose(model.inverse_transform(model.transform(x)), x, atol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_pca_is_scikit_learns_up_to_the_divisor_and_standard_is_its_scaler(seed):
    x = rows(seed)
    theirs = PCA(whiten=True, svd_solver="full").fit_transform(x)
    found = Whitening(method="pca").fit_transform(x) * np.sqrt(1 - 1 / len(x))  # they divide by n - 1
    np.testing.assert_allclose(found, theirs, rtol=1e-8, atol=1e-8)
    scaled = Whitening(method="standard").fit_transform(x)
    np.testing.assert_allclose(scaled, StandardScaler().fit_transform(x), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("seed", range(10))
def test_zca_is_the_symmetric_root_of_the_inverse_covariance(seed):
    x = rows(seed)
    values, axes = np.linalg.eigh(np.cov(x.T, ddof=0).reshape(x.shape[1], -1))
    model = Whitening(method="zca").fit(x)
    np.testing.assert_allclose(model.whitening_, axes / np.sqrt(values) @ axes.T, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(model.covariances(x)[1], np.eye(x.shape[1]), atol=1e-9)


def test_of_both_whitenings_zca_moves_the_scaled_columns_less():
    x = Whitening(method="standard").fit_transform(rows(4, d=5))
    moved = {m: np.square(Whitening(method=m).fit_transform(x) - x).sum() for m in ("pca", "zca")}
    assert moved["zca"] < moved["pca"]


def test_axes_are_orthonormal_ordered_and_have_their_sign():
    x = rows(0, 60, 6)
    s, axes = principal_axes(x)
    np.testing.assert_allclose(axes @ axes.T, np.eye(6), atol=1e-12)
    np.testing.assert_allclose(s, np.linalg.svd(x, compute_uv=False), rtol=1e-10)
    assert (np.diff(s) <= 0).all() and (axes[range(6), np.abs(axes).argmax(1)] > 0).all()
    np.testing.assert_allclose(np.linalg.norm(x @ axes.T, axis=0), s, rtol=1e-10)


@every
def test_weights_are_copies(method):
    x = rows(2, 60, 4)
    copies = np.random.default_rng(0).integers(0, 4, 60)
    model = Whitening(method=method).fit(x, sample_weight=copies)
    several = Whitening(method=method).fit(np.repeat(x, copies, axis=0))
    np.testing.assert_allclose(model.transform(x), several.transform(x), rtol=1e-9)
    np.testing.assert_allclose(model.covariances(x, copies)[1].diagonal(), 1, rtol=1e-9)
    assert not np.allclose(model.covariances(x)[1].diagonal(), 1, rtol=1e-3)


# ---- where nothing varies


@every
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_constant_and_doubled_columns_at_every_scale(method, scale):
    base = np.random.default_rng(0).normal(size=(40, 3))
    x = scale * np.c_[base, base[:, 0], np.full(40, 14.62)]
    model = Whitening(method=method).fit(x)
    z = model.transform(x)
    rank = 5 if method == "standard" else 3
    want = {"standard": [1, 1, 1, 1, 0], "pca": [1, 1, 1], "zca": [0.5, 1, 1, 0.5, 0]}[method]
    np.testing.assert_allclose(z.var(0), want, atol=1e-9)
    assert model.n_components_ == rank and z.shape[1] == len(want)
    np.testing.assert_allclose(model.inverse_transform(z) / scale, x / scale, atol=1e-12)


@every
def test_more_columns_than_rows(method):
    x = np.random.default_rng(0).normal(size=(10, 200))
    model = Whitening(method=method).fit(x)
    z = model.transform(x)
    assert z.shape == ((10, 9) if method == "pca" else (10, 200))
    np.testing.assert_allclose(model.inverse_transform(z), x, atol=1e-10)
    if method == "zca":
        after = model.covariances(x)[1]
        np.testing.assert_allclose(after @ after, after, atol=1e-10)  # a projection
        assert np.trace(after) == pytest.approx(9)


def test_rows_that_are_all_equal_have_nothing_to_whiten():
    said = r"No column of X varies over its 3 sample\(s\): there is nothing to whiten"
    for method in ("pca", "zca"):
        with pytest.raises(InputError, match=said):
            Whitening(method=method).fit(np.full((3, 2), 0.1))
    assert not Whitening(method="standard").fit_transform(np.full((3, 2), 0.1)).any()


# ---- names and the way back


def test_columns_have_names_and_frames_stay_frames():
    frame = pd.DataFrame(rows(0, 30, 3), columns=list("abc"), index=range(7, 37))
    for method in ("standard", "zca"):
        assert Whitening(method=method).fit(frame).get_feature_names_out().tolist() == list("abc")
    model = Whitening(method="pca").set_output(transform="pandas").fit(frame)
    assert model.transform(frame).columns.tolist() == ["whitening0", "whitening1", "whitening2"]
    assert model.transform(frame).index.equals(frame.index)
    np.testing.assert_allclose(model.inverse_transform(model.transform(frame)), frame, rtol=1e-9)
    np.testing.assert_allclose(model.covariances(frame)[1], np.eye(3), atol=1e-10)


def test_the_way_back_takes_what_transform_gave():
    x = np.c_[rows(0, 30, 3), np.ones(30)]
    model = Whitening(method="pca").fit(x)
    with pytest.raises(InputError, match=r"X has 4 columns; a transformed row has 3. Pass what transform gave"):
        model.inverse_transform(x)
