"""Affine maps of images: exact where pixels fall on pixels, SciPy's values elsewhere."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from scipy import ndimage

from ftheta.data import warp
from ftheta.errors import InputError

FILLS = {"zeros": "grid-constant", "border": "nearest", "reflection": "mirror"}  # names of SciPy


def images(*shape, dtype=torch.double):
    return torch.rand(shape, generator=torch.Generator().manual_seed(0), dtype=dtype)


def scipy_warp(x, right, down, degrees, scale, shear, fill, order=1):
    """Content moves to A (p - c) + c + t, which NumPy inverts; SciPy counts (row, column)."""
    cos, sin, lean = np.cos(np.radians(degrees)), np.sin(np.radians(degrees)), np.tan(np.radians(shear))
    back = np.linalg.inv(scale * np.array([[cos, sin], [-sin, cos]]) @ np.array([[1, -lean], [0, 1]]))[::-1, ::-1]
    centre = (np.array(x.shape) - 1) / 2
    return ndimage.affine_transform(
        x, back, centre - back @ (centre + [down, right]), order=order, mode=FILLS[fill], cval=0.0
    )


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("shape", [(28, 28), (9, 14), (16, 5)])
def test_it_agrees_with_scipy(fill, shape):
    x, rng = images(3, 2, *shape), np.random.default_rng(1)
    moves = {"right": rng.uniform(-3, 3, 3), "down": rng.uniform(-3, 3, 3), "degrees": rng.uniform(-180, 180, 3)}
    moves |= {"scale": rng.uniform(0.6, 1.6, 3), "shear": rng.uniform(-40, 40, 3)}
    found = warp(x, fill=fill, **{name: torch.tensor(v) for name, v in moves.items()})
    for i in range(3):
        for c in range(2):
            truth = scipy_warp(x[i, c].numpy(), **{name: v[i] for name, v in moves.items()}, fill=fill)
            np.testing.assert_allclose(found[i, c].numpy(), truth, atol=1e-9)


def test_single_precision_is_as_good_as_it_can_be():
    x = images(2, 1, 28, 28)
    moves = {"right": 1.3, "down": -0.4, "degrees": 17.0, "scale": 1.1, "shear": 8.0}
    torch.testing.assert_close(warp(x.float(), **moves), warp(x, **moves).float(), atol=2e-5, rtol=0)


@pytest.mark.ledger("C293", covers="ftheta.data.warp")
@pytest.mark.parametrize("dtype", [torch.float, torch.double])
@pytest.mark.parametrize("n", [1, 5, 28, 100])
def test_quarter_turns_are_exact_and_four_restore_the_image(n, dtype):
    x = images(2, 3, n, n, dtype=dtype)
    for fill in FILLS:
        y = x
        for k in range(1, 5):
            y = warp(y, degrees=90, fill=fill)
            assert torch.equal(y, torch.rot90(x, k, (2, 3)))
        assert torch.equal(y, x) and torch.equal(warp(x, degrees=-90, fill=fill), torch.rot90(x, -1, (2, 3)))


@pytest.mark.parametrize("dtype", [torch.float, torch.double])
def test_whole_shifts_are_exact_copies(dtype):
    x = images(2, 3, 13, 20, dtype=dtype)
    modes = {"zeros": "constant", "border": "replicate", "reflection": "reflect"}
    for right, down in [(0, 0), (3, 0), (-2, 5), (0, -4), (20, 1)]:
        window = (..., slice(5 - down, 18 - down), slice(5 - right, 25 - right))
        for fill, mode in modes.items():
            if right < 6:
                assert torch.equal(warp(x, right=right, down=down, fill=fill), F.pad(x, (5, 5, 5, 5), mode)[window])
    assert not warp(x, right=20).any() and torch.equal(warp(x), x)


def test_labels_take_the_nearest_pixel():
    x = images(1, 1, 12, 12).mul(5).floor()
    found = warp(x, degrees=33, scale=1.2, mode="nearest")[0, 0].numpy()
    np.testing.assert_array_equal(found, scipy_warp(x[0, 0].numpy(), 0, 0, 33, 1.2, 0, "zeros", order=0))


def test_a_pixel_alone_is_its_own_border_and_mirror_image():
    x = torch.full((1, 1, 1, 1), 3.0)
    for fill in ("border", "reflection"):
        assert warp(x, right=0.7, down=-2, degrees=20, fill=fill).item() == 3.0
    assert warp(x, right=1).item() == 0.0


def test_an_unknown_fill_is_named():
    with pytest.raises(InputError, match=r"Unknown fill 'mirrored'.*Known: zeros, border, reflection"):
        warp(images(1, 1, 4, 4), fill="mirrored")
