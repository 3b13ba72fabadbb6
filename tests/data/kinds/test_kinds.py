"""Kinds: what is taken, what is refused, what is learned, and what a batch of it looks like."""

import numpy as np
import pandas as pd
import pytest
import torch

from ftheta.data import InputSpec
from ftheta.data.kinds import KINDS, Boxes, Environment, Images, Kind, Sequences, Table, Text
from ftheta.data.kinds.sequence import decode, encode
from ftheta.draw import Draw
from ftheta.errors import InputError, InputTypeError


class Owner:
    """What a kind needs of an estimator."""

    def __sklearn_tags__(self):
        from sklearn.base import BaseEstimator

        return BaseEstimator().__sklearn_tags__()


def batches(inputs, y=None, weight=None, *, size=100, shuffle=False, epoch=0):
    source = inputs.source(y, weight, batch_size=size, shuffle=shuffle, dtype=torch.float32, device="cpu")
    return list(source.batches(epoch, 0, Draw(0).at("order", epoch)))


def test_the_table_of_kinds_has_every_kind_under_its_name():
    assert set(KINDS) == {"table", "image", "series", "sequence", "text", "boxes", "environment"}
    assert all(issubclass(kind, Kind) and kind.name == name for name, kind in KINDS.items())
    assert [name for name, kind in KINDS.items() if kind.merge] == ["table"]
    assert [name for name, kind in KINDS.items() if kind.split == "chronological"] == ["series", "text"]


# ---- tables


@pytest.mark.parametrize("form", ["list", "array", "frame", "nullable", "polars", "arrow", "tensor"])
def test_a_table_may_come_in_any_form(form):
    x = np.array([[1.0, 2.0], [3.0, 4.5], [5.0, 6.0]])
    frame = pd.DataFrame(x, columns=["a", "b"])
    forms = {
        "list": x.tolist,
        "array": lambda: x,
        "frame": lambda: frame,
        "nullable": lambda: frame.astype({"a": "Int64", "b": "Float64"}),
        "polars": lambda: pytest.importorskip("polars").from_pandas(frame),
        "arrow": lambda: pytest.importorskip("pyarrow").Table.from_pandas(frame),
        "tensor": lambda: torch.tensor(x),
    }
    owner = Owner()
    found = Table().check(forms[form](), owner)
    assert found.spec == InputSpec((2,)) and owner.n_features_in_ == 2 and len(found) == 3
    np.testing.assert_array_equal(found.values, x)
    (batch,) = batches(found.take([2, 0]), np.array([1.0, 2.0]))
    assert batch.x.tolist() == [[5.0, 6.0], [1.0, 2.0]] and batch.x.dtype == torch.float32
    assert batch.y.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("X", [{"a": [1, 2]}, (np.zeros((3, 2)), np.zeros((3, 4)))])
def test_a_dict_or_a_tuple_of_tables_is_refused_with_what_to_do(X):
    with pytest.raises(InputTypeError, match="takes one table"):
        Table().check(X, Owner())


def test_a_missing_value_of_a_nullable_column_is_named():
    with pytest.raises(InputError, match="NaN.*row 1.*'a'"):
        Table().check(pd.DataFrame({"a": pd.array([1, None], "Int64")}), Owner())


def test_integers_stay_integers_where_they_are_asked_for():
    for x in (np.array([[1, 2]], np.int32), pd.DataFrame([[1, 2]]), [[1, 2]]):
        (batch,) = batches(Table(integers=True).check(x, Owner()))
        assert batch.x.dtype == torch.int64 and batch.x.tolist() == [[1, 2]]
    assert batches(Table().check([[1, 2]], Owner()))[0].x.dtype == torch.float32
    assert batches(Table(integers=True).check([[1.5, 2]], Owner()))[0].x.dtype == torch.float32


def test_bytes_of_several_axes_are_pixels():
    x = np.array([[[0, 51], [255, 102]]], np.uint8)
    (batch,) = batches(Table(axes=True, integers=True).check(x, Owner()))
    np.testing.assert_allclose(batch.x.numpy(), x / 255.0, rtol=1e-6)


@pytest.mark.parametrize(
    ("support", "good", "bad"), [("unit", [0.0, 0.5, 1], [1.5]), ("bit", [0, 1], [0.5]), ("sign", [-1, 1], [0])]
)
def test_values_outside_the_support_are_refused(support, good, bad):
    Table(support=support).check(np.array([good]).T, Owner())
    with pytest.raises(InputError, match="takes values"):
        Table(support=support).check(np.array([bad]).T, Owner())


def test_another_width_is_refused():
    owner = Owner()
    spec = Table().check(np.zeros((2, 3)), owner).spec
    with pytest.raises(InputError, match="4 features"):
        Table().check(np.zeros((2, 4)), owner, spec)


def test_rows_of_more_axes_keep_their_shape():
    owner, kind = Owner(), Table(axes=True)
    spec = kind.check(np.ones((3, 2, 4)), owner).spec
    assert kind.check(np.ones((5, 2, 4)), owner, spec).values.shape == (5, 2, 4) and spec == InputSpec((2, 4))
    with pytest.raises(InputError, match=r"rows of shape \(2, 5\), but Owner was fitted with \(2, 4\)"):
        kind.check(np.ones((5, 2, 5)), owner, spec)


# ---- images


@pytest.mark.parametrize("kind", [Images, Boxes])
def test_images_may_have_channels_last_or_first_or_none(kind):
    x = np.random.default_rng(0).integers(0, 256, (2, 6, 5, 3), dtype=np.uint8)
    last, first = kind().check(x, Owner()), kind().check(x.transpose(0, 3, 1, 2), Owner())
    assert last.spec == first.spec == InputSpec((3, 6, 5))
    np.testing.assert_array_equal(last.values, first.values)
    np.testing.assert_allclose(batches(last)[0].x.numpy(), x.transpose(0, 3, 1, 2) / 255.0, rtol=1e-6)
    assert kind().check(x[..., 0], Owner()).spec == InputSpec((1, 6, 5))
    assert kind(shape=(6, 5)).check(x[..., 0].reshape(2, 30), Owner()).spec == InputSpec((1, 6, 5))


def test_bytes_and_floats_of_the_same_image_are_the_same_batch():
    x = np.random.default_rng(0).integers(0, 256, (2, 6, 5), dtype=np.uint8)
    for given in (x, (x.astype(np.uint16) * 257)):
        (batch,) = batches(Images().check(given, Owner()))
        np.testing.assert_allclose(batch.x[:, 0].numpy(), x / 255.0, rtol=1e-6)
    np.testing.assert_allclose(batches(Images().check(x / 255.0, Owner()))[0].x[:, 0].numpy(), x / 255.0, rtol=1e-6)


def test_images_of_another_size_are_refused_unless_any_size_will_do():
    spec = Images().check(np.zeros((2, 6, 5)), Owner()).spec
    with pytest.raises(InputError, match="1x8x8"):
        Images().check(np.zeros((2, 8, 8)), Owner(), spec)
    assert Images(any_size=True).check(np.zeros((2, 8, 8)), Owner(), spec).spec == spec
    with pytest.raises(InputError, match="3x8x8"):
        Images(any_size=True).check(np.zeros((2, 8, 8, 3)), Owner(), spec)


def test_the_path_of_a_folder_is_taken_and_its_folders_are_the_labels(tmp_path):
    from PIL import Image

    from ftheta import ConvNetClassifier

    rng = np.random.default_rng(0)
    for name, level in (("dark", 40), ("light", 200)):
        (tmp_path / name).mkdir()
        for i in range(6):
            Image.fromarray(rng.integers(level - 40, level + 40, (8, 8), np.uint8)).save(tmp_path / name / f"{i}.png")
    model = ConvNetClassifier(random_state=0, epochs=20, validation=0.0, batch_size=6, filters=(4,), lr=0.03).fit(
        tmp_path
    )
    assert model.classes_.tolist() == ["dark", "light"] and model.input_.shape == (1, 8, 8)
    assert model.predict(str(tmp_path)).tolist() == ["dark"] * 6 + ["light"] * 6
    Image.new("RGB", (32, 32), (210, 210, 210)).save(tmp_path / "light" / "large.png")  # as gray, in the size of fit
    np.testing.assert_allclose(model.predict_proba(tmp_path / "light").sum(1), np.ones(7), rtol=1e-5)
    with pytest.raises(InputTypeError, match="not a folder"):
        model.predict("nowhere")


# ---- sequences


def test_sequences_are_padded_batch_by_batch_and_say_where_they_end():
    rng = np.random.default_rng(0)
    rows = [rng.normal(size=(t, 2)) for t in (3, 1, 4)]
    found = Sequences().check(rows, Owner())
    steps = np.concatenate(rows)
    assert found.spec.shape == (2,)
    np.testing.assert_allclose(found.spec.facts["mean"], steps.mean(0), rtol=1e-6)
    np.testing.assert_allclose(found.spec.facts["scale"], steps.std(0), rtol=1e-6)
    (batch,) = batches(found)
    assert batch.x.shape == (3, 4, 3)
    assert batch.x[..., -1].sum(1).tolist() == [3, 1, 4]
    for row, x in zip(rows, batch.x.numpy(), strict=True):
        np.testing.assert_allclose(x[: len(row), :2], row, rtol=1e-6)
        assert not x[len(row) :].any()
    assert batches(found, size=1)[1].x.shape == (1, 1, 3)  # each batch is as long as its longest


@pytest.mark.parametrize("X", ["text", [], {"a": [1]}, [[1, 2], [[1, 2]]], [[1.0, np.nan]], [[["a", "b"]]], 3])
def test_what_is_not_a_list_of_sequences_is_refused(X):
    with pytest.raises((InputError, InputTypeError)):
        Sequences().check(X, Owner())


# ---- text


def test_text_is_numbers_of_characters_and_comes_back():
    found = Text(window=4).check("hello, wörld 🙂!" * 3, Owner())
    for text in ("hello", "wörld 🙂"):
        assert decode(encode(text, found.spec), found.spec) == text
    assert decode(encode("hexe", found.spec), found.spec) == "he\ufffde"
    for batch in batches(found, size=3):
        assert batch.x.dtype == torch.int64 and batch.x.shape[1] == 4
        assert torch.equal(batch.x[:, 1:], batch.y[:, :-1])
    x = torch.cat([batch.x.flatten() for batch in batches(found, size=3)])  # windows follow each other
    assert x.tolist() == found.values[:44].tolist()


def test_windows_of_a_text_start_elsewhere_in_every_epoch():
    found = Text(window=8).check("abcdefghijklmnopqrstuvwxyz" * 20, Owner())
    assert len({batches(found, shuffle=True, size=5, epoch=e)[0].x[0, 0].item() for e in range(10)}) > 1


def test_documents_are_padded():
    (batch,) = batches(Text().check(["ab", "a", "babb"], Owner()), [0, 1, 0])
    assert batch.x.tolist() == [[2, 3, 0, 0], [2, 0, 0, 0], [3, 2, 3, 3]] and batch.y == [0, 1, 0]


@pytest.mark.parametrize("X", [b"bytes", [], [1], [""], 7, ["a", None]])
def test_what_is_not_text_is_refused(X):
    with pytest.raises(InputTypeError):
        Text(window=2).check(X, Owner())


# ---- environments


class Corridor:
    """An environment by gymnasium's protocol."""

    class action_space:  # noqa: N801
        n = 2

    class observation_space:  # noqa: N801
        n, shape = 5, ()


def test_an_environment_is_made_by_a_function():
    found = Environment().check(Corridor, Owner())
    assert found.spec.facts["actions"] == 2 and found.spec.facts["states"] == 5 and len(found) == 1
    assert isinstance(found.make(), Corridor)
    play = Environment(play=lambda env, batch_size, device: (env, batch_size)).check(Corridor, Owner())
    assert play.source(None, None, batch_size=3, shuffle=True, dtype=None, device=None)[1] == 3
    with pytest.raises(InputTypeError, match="a function that makes one"):
        Environment().check(Corridor(), Owner())
