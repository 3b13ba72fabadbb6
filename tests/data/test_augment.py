"""Augmentation: what is drawn, what stays, what is exact, what is refused."""

import math
from itertools import product

import numpy as np
import pytest
import torch
from scipy import stats

from ftheta import data
from ftheta.data import AUGMENTATIONS, Batch, augmentation, rand_augment, views, warp
from ftheta.draw import Draw
from ftheta.errors import InputError

DRAW = Draw(3).at("train", 7)
MOVES = ["shift", "rotate", "scale", "shear", "crop"]
KEEP_LABELS = [name for name in AUGMENTATIONS if name not in ("mixup", "cutmix")]
every = pytest.mark.parametrize("name", AUGMENTATIONS)


def batch(n=6, shape=(2, 12, 15), dtype=torch.float):
    x = torch.rand((n, *shape), generator=torch.Generator().manual_seed(0), dtype=dtype)
    return Batch(x, torch.arange(n) % 3, torch.arange(1, n + 1, dtype=dtype), torch.arange(n) + 100)


def ramps(n, size=33):
    """Channels whose pixels are their own column and row, from the middle: a map can be read off its result."""
    at = torch.arange(size, dtype=torch.double) - size // 2
    return Batch(torch.stack((at.expand(size, size), at[:, None].expand(size, size))).repeat(n, 1, 1, 1))


def maps(x):
    """right, down (B,) and A⁻¹ (B, 2, 2) of images that were ramps, from three pixels in the middle."""
    m = x.shape[-1] // 2
    here = x[:, :, m, m]
    inverse = torch.stack((x[:, :, m, m + 1] - here, x[:, :, m + 1, m] - here), 2)
    shift = -torch.linalg.solve(inverse, here)
    return shift[:, 0].numpy(), shift[:, 1].numpy(), inverse.numpy()


def moves(x):
    """right, down, degrees, scale, degrees of shear, from A = s R Sh."""
    right, down, inverse = maps(x)
    a = np.linalg.inv(inverse)
    degrees = np.degrees(np.arctan2(-a[:, 1, 0], a[:, 0, 0]))
    scale = np.sqrt(np.linalg.det(a))
    lean = -(a[:, 0, 0] * a[:, 0, 1] + a[:, 1, 0] * a[:, 1, 1]) / scale**2
    return right, down, degrees, scale, np.degrees(np.arctan(lean))


def uniform(values, strength):
    return stats.kstest(values, stats.uniform(-strength, 2 * strength).cdf).pvalue > 0.01


# ---- what every one owes


@every
def test_the_same_draw_gives_the_same_batch_and_another_draw_another(name):
    f, before = augmentation(name, 3), torch.get_rng_state()
    one, again, other = f(batch(), DRAW), f(batch(), DRAW), f(batch(), DRAW.at(1))
    assert torch.equal(torch.get_rng_state(), before) and f(batch(1), DRAW).x.shape == (1, 2, 12, 15)
    assert torch.equal(one.x, again.x) and torch.equal(one.y, again.y)
    assert not torch.equal(one.x, other.x) and not torch.equal(one.x, batch().x)


@pytest.mark.ledger("C293", covers="ftheta.data.augmentation")
@pytest.mark.parametrize("name", KEEP_LABELS)
@pytest.mark.parametrize("dtype", [torch.float, torch.double])
@pytest.mark.parametrize("shape", [(1, 8, 8), (3, 12, 15), (2, 9, 4)])
def test_labels_weights_index_shape_and_dtype_stay(name, dtype, shape):
    given = batch(shape=shape, dtype=dtype)
    found = augmentation(name)(given, DRAW)
    assert found.x.shape == given.x.shape and found.x.dtype == dtype and found.x.isfinite().all()
    assert found.y is given.y and found.weight is given.weight and found.index is given.index
    assert torch.equal(given.x, batch(shape=shape, dtype=dtype).x)


@every
def test_strength_0_is_the_batch_itself_bit_for_bit(name):
    found = augmentation({name: 0}, 3)(batch(), DRAW)
    assert all(torch.equal(a, b) for a, b in zip(found, batch(), strict=True) if a.dtype == torch.long)
    assert torch.equal(found.x, batch().x)


@every
def test_each_image_has_its_own_draw(name):
    alike = batch(8)._replace(x=batch(1).x.repeat(8, 1, 1, 1) if name not in ("mixup", "cutmix") else batch(8).x)
    found = augmentation(name, 3)(alike, DRAW).x
    assert len({tuple(row.flatten().tolist()) for row in found}) > (1 if name == "flip" else 4)


# ---- what is drawn


def test_moves_are_uniform_in_their_strengths():
    f = augmentation({"shift": 2.5, "rotate": 20, "scale": 0.3, "shear": 15})
    right, down, degrees, scale, lean = moves(f(ramps(400), DRAW).x)
    assert uniform(right, 2.5) and uniform(down, 2.5) and uniform(degrees, 20) and uniform(lean, 15)
    assert uniform(np.log(scale), math.log(1.3))
    assert np.abs(np.corrcoef([right, down, degrees, scale, lean]) - np.eye(5)).max() < 0.2


@pytest.mark.parametrize("name", MOVES)
def test_a_move_alone_leaves_the_others_at_rest(name):
    read = moves(augmentation(name)(ramps(50), DRAW).x)
    found = dict(zip(("shift", "down", "rotate", "scale", "shear"), read, strict=True))
    found["scale"] = np.log(found["scale"])
    moved = {key for key, v in found.items() if np.abs(v).max() > 1e-9}
    assert moved == ({"shift", "down"} if name in ("shift", "crop") else {name})


@pytest.mark.ledger("C293", covers="ftheta.data.affine")
def test_crops_are_windows_of_the_image_with_a_rim():
    right, down, _ = maps(data.affine(ramps(2000, 9), DRAW, crop=2).x)
    for counts in (np.unique(right, return_counts=True), np.unique(down, return_counts=True)):
        assert counts[0].tolist() == [-2, -1, 0, 1, 2] and stats.chisquare(counts[1]).pvalue > 0.01
    given = batch(40, (1, 5, 7))
    found, windows = data.affine(given, DRAW, crop=1).x, torch.nn.functional.pad(given.x, (1, 1, 1, 1))
    for before, after in zip(windows, found, strict=True):
        assert any(torch.equal(after, before[:, i : i + 5, j : j + 7]) for i in range(3) for j in range(3))


@pytest.mark.ledger("C293", covers="ftheta.data.flip")
@pytest.mark.parametrize(("axis", "dim"), [("horizontal", -1), ("vertical", -2)])
def test_two_flips_restore_the_image_exactly(axis, dim):
    given = batch()
    once = data.flip(given, DRAW, 1.0, axis=axis)
    assert torch.equal(once.x, given.x.flip(dim))
    assert torch.equal(data.flip(once, DRAW, 1.0, axis=axis).x, given.x)


def test_a_share_of_the_images_is_flipped():
    given = batch(1000, (1, 2, 2))
    found = data.flip(given, DRAW, 0.3).x
    flipped = (found == given.x.flip(-1)).flatten(1).all(1)
    assert (flipped | (found == given.x).flatten(1).all(1)).all()
    assert abs(flipped.double().mean() - 0.3) < 0.05


def test_noise_has_its_standard_deviation_and_any_shape():
    found = data.noise(Batch(torch.zeros(200, 50)), DRAW, 0.25).x
    assert stats.kstest(found.flatten().numpy(), stats.norm(0, 0.25).cdf).pvalue > 0.01


@pytest.mark.parametrize(("side", "seen"), [(4, (2, 3, 4)), (3, (2, 3))])
def test_cutout_blanks_one_square_about_a_pixel_that_is_cut_off_at_the_edge(side, seen):
    found = data.cutout(Batch(torch.ones(400, 2, 10, 13)), DRAW, side).x
    assert torch.equal(found[:, 0], found[:, 1])
    sizes = set()
    for image in found[:, 0]:
        rows, columns = (image == 0).any(1).nonzero().flatten(), (image == 0).any(0).nonzero().flatten()
        box = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
        assert not box.any() and int((image == 0).sum()) == box.numel()
        assert len(rows) == side or rows[0] == 0 or rows[-1] == 9
        sizes.add((len(rows), len(columns)))
    assert sizes == set(product(seen, repeat=2)) and (found == 0).any(0).all()


# ---- RandAugment


def strengths(x):
    """Of shifts right and down, rotate, scale, shear, in units of their defaults: (5, B)."""
    right, down, degrees, scale, lean = moves(x[:, :2])
    return np.stack([right / 2, down / 2, degrees / 10, np.log(scale) / np.log(1.1), lean / 10])


def three_channels(n):
    return Batch(torch.cat((ramps(n).x, torch.ones(n, 1, 33, 33, dtype=torch.double)), 1))


@pytest.mark.ledger("C295", covers="ftheta.data.rand_augment")
@pytest.mark.parametrize(("operations", "magnitude"), [(0, 1.0), (3, 0.0), (0, 0.0)])
def test_rand_augment_of_no_operation_or_no_magnitude_is_the_input(operations, magnitude):
    found = rand_augment(batch(), DRAW, magnitude, operations=operations)
    assert torch.equal(found.x, batch().x) and torch.equal(found.y, batch().y)


@pytest.mark.ledger("C295", covers="ftheta.data.rand_augment")
def test_rand_augment_applies_one_operation_to_each_image_at_its_strength():
    x, original = rand_augment(three_channels(700), DRAW, operations=1).x, three_channels(1).x
    cut = ((x == original) | (x == 0)).flatten(1).all(1)
    noisy = (x != original).flatten(1).all(1)
    found = strengths(x[~cut & ~noisy])
    moved = np.abs(found) > 1e-6
    assert (moved.sum(0) == 1).all() and np.allclose(np.abs(found[moved]), 1)
    assert all(0.35 < (found[k, moved[k]] > 0).mean() < 0.65 for k in range(5))  # to either side, whichever it is
    assert 0.09 < (x - original)[noisy].std() < 0.11 and (x[cut] == 0).all(1).flatten(1).sum(1).max() == 64
    counts = [int(cut.sum()), int(noisy.sum()), *moved.sum(1)]
    assert sum(counts) == 700 and stats.chisquare(counts).pvalue > 0.01


@pytest.mark.ledger("C295", covers="ftheta.data.rand_augment")
def test_rand_augment_chooses_different_operations():
    x = rand_augment(three_channels(50), DRAW, 0.5, operations=7).x
    middle = x[:, 2, 12:21, 12:21]
    assert (middle != 1).all() and (x == 0).all(1).flatten(1).any(1).all()  # all have noise, all have a blank square
    x = rand_augment(three_channels(400), DRAW, 0.5, operations=2).x
    found = strengths(x[(x[:, 2, 10:23, 10:23] == 1).flatten(1).all(1)])
    moved = np.abs(found) > 1e-6
    assert np.allclose(np.abs(found[moved]), 0.5, rtol=0.03)  # magnitude, where 1 + share is not linear
    assert set(moved.sum(0)) <= {1, 2} and (moved.sum(0) == 2).mean() > 0.5  # one where the square lies at the edge


# ---- labels


def glyph(*rows):
    return torch.tensor([[float(c == "#") for c in row] for row in rows])[None, None]


SIX, NINE = glyph("###", "#..", "###", "#.#", "###"), glyph("###", "#.#", "###", "..#", "###")


@pytest.mark.ledger("B227", covers="ftheta.data.augmentation")
def test_a_six_turned_by_180_degrees_is_a_nine():
    """Turns and mirrors keep the label of a cat, not of a digit."""
    assert torch.equal(warp(SIX, degrees=180), NINE) and not torch.equal(SIX, NINE)


@pytest.mark.ledger("B227", covers="ftheta.data.augmentation")
@pytest.mark.parametrize(
    ("spec", "words"),
    [("flip", "flip of 0.5 can change a digit: .*most 0"), ({"rotate": 180}, "rotate of 180 .*a 6 .* Use at most 45")],
)
def test_what_can_change_a_digit_is_refused_where_labels_are_digits(spec, words):
    assert augmentation(spec) is not None
    with pytest.raises(InputError, match=words):
        augmentation(spec, labels="digits")


@pytest.mark.ledger("B227", covers="ftheta.data.augmentation")
def test_defaults_are_safe_for_digits_but_for_flips():
    for name in AUGMENTATIONS:
        if name != "flip":
            assert augmentation(name, 10, labels="digits") is not None
    most = AUGMENTATIONS["rand_augment"].digits
    parts = [AUGMENTATIONS[name] for name in ("shift", "rotate", "scale", "shear", "noise", "cutout")]
    assert all(most * part.strength <= part.digits for part in parts)
    with pytest.raises(InputError, match=r"Unknown labels 'digit'.*Did you mean 'digits'"):
        augmentation("shift", labels="digit")


@pytest.mark.parametrize("name", [*MOVES, "flip"])
def test_labels_and_weights_of_pixels_move_with_them(name):
    """Where pixels and labels are their own column + 100 rows, those of the nearest pixel are half of one away."""
    y = (torch.arange(15) + 100 * torch.arange(12)[:, None]).expand(6, 12, 15)
    strength = {"rotate": 90.0, "flip": 1.0}.get(name, AUGMENTATIONS[name].strength)
    found = augmentation({name: strength})(Batch(torch.stack((y, torch.ones_like(y)), 1).double(), y, y.float()), DRAW)
    assert found.y.dtype == torch.long and found.weight.dtype == torch.float
    assert torch.equal(found.y, found.weight.long()) and not torch.equal(found.y, y)
    inside = found.x[:, 1] > 1 - 1e-9
    assert inside.double().mean() > 0.5
    assert (found.x[:, 0] - found.y)[inside].abs().max() <= (0 if name in ("crop", "flip") else 50.5 + 1e-6)


# ---- by name


def test_moves_are_composed_into_one_resampling_and_come_first():
    spec = {"noise": 0.1, "rotate": 10, "shift": 2, "scale": 0.2, "shear": 5, "crop": 1}
    moved = data.affine(batch(), DRAW.at(0), rotate=10, shift=2, scale=0.2, shear=5, crop=1)
    torch.testing.assert_close(
        augmentation(spec)(batch(), DRAW).x, data.noise(moved, DRAW.at(1), 0.1).x, rtol=0, atol=0
    )


def test_moves_with_another_fill_are_resampled_apart():
    spec = {"rotate": {"degrees": 10, "fill": "border"}, "shift": 2.0}
    truth = data.affine(data.affine(batch(), DRAW.at(0), rotate=10, fill="border"), DRAW.at(1), shift=2.0)
    assert torch.equal(augmentation(spec)(batch(), DRAW).x, truth.x)


def test_words_lists_and_mappings_say_the_same():
    forms = ["shift, rotate=20", ["shift", "rotate=20"], {"shift": 2.0, "rotate": {"degrees": 20}}]
    results = [augmentation(form)(batch(), DRAW).x for form in forms]
    assert all(torch.equal(results[0], x) for x in results)
    assert all(augmentation(nothing) is None for nothing in ("", [], {}))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("rotat", r"Unknown augmentation 'rotat'. Did you mean 'rotate'.*Known: shift"),
        ({"rotate": -5}, r"strength of rotate must be a number of at least 0, got -5; 0 switches it off"),
        ("noise=much", r"strength of noise must be a number of at least 0, got 'much'"),
        ({"shift": math.inf}, r"strength of shift .* got inf"),
        ({"flip": 1.5}, r"strength of flip must be a number between 0 and 1, got 1.5"),
        ({"shear": 90}, r"strength of shear must be a number between 0 and 89, got 90"),
        ({"rand_augment": 9}, r"strength of rand_augment must be a number between 0 and 8.9, got 9"),  # shear below 90°
        (5, r"Augmentations are given by their names, got 5; e.g. 'shift, rotate=10'"),
        ({"shift": {"fill": ["mirror"]}}, r"Unknown fill .*Known: zeros, border, reflection"),
        ({"rotate": {"degree": 5}}, r"Unknown option of rotate 'degree'. Did you mean 'degrees'\?"),
        (["mixup", "cutmix"], r"mixup and cutmix are both named, but labels can be mixed once only; name one"),
    ],
)
def test_what_makes_no_sense_is_named(spec, words):
    with pytest.raises(InputError, match=words):
        augmentation(spec, 3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: data.flip(batch(), DRAW, axis="vertically"), "Unknown axis 'vertically'. Did you mean 'vertical'"),
        (lambda: views(0), "1 to 25 of them, got k=0"),
        (lambda: views(26), "1 to 25 of them, got k=26"),
        (lambda: rand_augment(batch(), DRAW, operations=-1), "7 operations to choose from, got operations=-1"),
        (lambda: rand_augment(batch(), DRAW, operations=8), "got operations=8; use 0 to 7"),
    ],
)
def test_arguments_that_make_no_sense_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()


@pytest.mark.parametrize("name", [name for name in KEEP_LABELS if name != "noise"])
def test_rows_that_are_no_images_are_refused(name):
    with pytest.raises(InputError, match=r"\(rows, channels, height, width\), got shape \(6, 180\); reshape"):
        augmentation(name)(Batch(torch.rand(6, 180)), DRAW)
    with pytest.raises(InputError, match=r"tensor of floats, got torch.uint8; divide integers by 255"):
        augmentation(name)(Batch(torch.zeros(6, 1, 5, 5, dtype=torch.uint8)), DRAW)
    with pytest.raises(InputError, match="tensor of floats, got dict"):
        augmentation(name)(Batch({"a": torch.rand(6, 1, 5, 5)}), DRAW)


# ---- at test time


def test_views_are_the_image_and_its_nearest_shifts():
    x = batch().x
    seen = [view(x) for view in views(9)]
    assert torch.equal(seen[0], x) and len(views(1)) == 1
    truth = [warp(x, right=i, down=j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    assert all(any(torch.equal(a, b) for a in seen[1:]) for b in truth)
    straight = [warp(x, right=i, down=j) for i, j in ((-1, 0), (1, 0), (0, 1), (0, -1))]
    assert all(any(torch.equal(a, b) for a in seen[1:5]) for b in straight)


# ---- options of each move


@pytest.mark.parametrize("fill", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("name", MOVES)
def test_every_move_fills_what_it_uncovers_as_it_is_told(name, fill):
    moved = data.affine(Batch(torch.ones(4, 1, 9, 9)), DRAW, **{name: 3.0}, fill=fill)
    assert (moved.x < 0.99).any() == (fill == "zeros")


@pytest.mark.parametrize("fill", ["border", "reflection"])
def test_the_rim_that_comes_in_is_the_border_or_the_mirror_image(fill):
    x = torch.rand(5, 1, 1, 8, dtype=torch.double, generator=torch.Generator().manual_seed(1))
    moved = data.affine(Batch(x), DRAW, crop=3, fill=fill).x.numpy()
    padded = np.pad(x.numpy(), ((0, 0), (0, 0), (0, 0), (3, 3)), {"border": "edge", "reflection": "reflect"}[fill])
    offsets = [[s for s in range(7) if np.allclose(m, p[..., s : s + 8])] for m, p in zip(moved, padded, strict=True)]
    assert all(offsets) and len({o[0] for o in offsets}) > 1


def test_labels_of_pixels_are_never_mixed():
    y = torch.where(torch.arange(12) % 3 == 0, 7, 0).expand(6, 12, 12)
    for name in ("rotate", "shift", "scale", "shear"):
        found = augmentation({name: 0.7 if name == "scale" else 30.0})(Batch(torch.rand(6, 1, 12, 12), y), DRAW)
        assert set(found.y.unique().tolist()) <= {0, 7} and not torch.equal(found.y, y)
