"""Layers, losses and attention: what is not a matter of rules, which test_primitives.py checks."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from ftheta import autodiff as ad

RNG = np.random.default_rng(0)


def test_dropout_keeps_the_mean_and_depends_on_the_seed_only():
    x = np.ones(10_000)
    found = ad.dropout(x, 0.2, 3)
    assert set(found.tolist()) == {0.0, 1.25} and found.mean() == pytest.approx(1, abs=0.02)
    assert (found == ad.dropout(x, 0.2, 3)).all() and (found != ad.dropout(x, 0.2, 4)).any()
    assert (ad.dropout(x, 0.0, 3) == x).all()


def test_pools_overlap_and_norms_have_the_epsilon_that_is_given():
    x, g, b = RNG.normal(size=(3, 4, 7)), RNG.normal(size=4), RNG.normal(size=4)
    tx, tg, tb = map(torch.tensor, (x, g, b))
    pairs = [
        (ad.max_pool(x, 3, 2), functional.max_pool1d(tx, 3, 2)),
        (ad.mean_pool(x, 3, 2), functional.avg_pool1d(tx, 3, 2)),
        (ad.batch_norm(x, g, b, eps=0.5), functional.batch_norm(tx, None, None, tg, tb, training=True, eps=0.5)),
        (ad.layer_norm(x[..., :4], g, b, eps=0.5), functional.layer_norm(tx[..., :4], (4,), tg, tb, eps=0.5)),
        (ad.rms_norm(x[..., :4], g, eps=0.5), functional.rms_norm(tx[..., :4], (4,), tg, eps=0.5)),
    ]
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("knobs", [{}, {"stride": (2, 1), "padding": (1, 2)}, {"dilation": 2, "groups": 2}])
def test_convolutions_are_torchs(knobs):
    x, w, b = RNG.normal(size=(2, 4, 7, 8)), RNG.normal(size=(6, 4 // knobs.get("groups", 1), 3, 2)), RNG.normal(size=6)
    want = functional.conv2d(*map(torch.tensor, (x, w, b)), **knobs).numpy()
    np.testing.assert_allclose(ad.conv(x, w, b, **knobs), want, rtol=1e-12, atol=1e-12)
    line = functional.conv1d(torch.tensor(x[:, :, 0]), torch.tensor(w[:, :, 0])) if not knobs else None
    if line is not None:
        np.testing.assert_allclose(ad.conv(x[:, :, 0], w[:, :, 0]), line.numpy(), rtol=1e-12, atol=1e-12)


def test_attention_is_torchs_and_sees_what_the_mask_shows():
    q, k, v, mask = (
        RNG.normal(size=(2, 4, 3)),
        RNG.normal(size=(2, 5, 3)),
        RNG.normal(size=(2, 5, 6)),
        RNG.random((4, 5)) < 0.7,
    )
    mask[:, 0] = True
    want = functional.scaled_dot_product_attention(*map(torch.tensor, (q, k, v)), attn_mask=torch.tensor(mask)).numpy()
    np.testing.assert_allclose(ad.attention(q, k, v, mask), want, rtol=1e-12)
    np.testing.assert_allclose(ad.attention(q, k, v), ad.attention(q, k, v, np.ones((4, 5), bool)), rtol=1e-12)
