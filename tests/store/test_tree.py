import json
import struct

import numpy as np
import pytest
import safetensors.numpy
import safetensors.torch
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ftheta.errors import InputError, InputTypeError
from ftheta.store import dump_tree, parse_tree, write_atomic

NUMPY = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64 complex64".split()
TORCH = [*NUMPY, "bfloat16"]


def same(a, b):
    """Equal in type and bit for bit, unlike ==, which confuses 1, 1.0 and True and two NaN."""
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return list(a) == list(b) and all(type(i) is type(j) and same(a[i], b[j]) for i, j in zip(a, b, strict=True))
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float):
        return struct.pack("d", a) == struct.pack("d", b)
    if isinstance(a, np.ndarray):
        content = a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
        return a.dtype == b.dtype and a.shape == b.shape and content
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and a.shape == b.shape and raw(a) == raw(b)
    return a == b


def raw(tensor):
    return bytes(tensor.reshape(-1).view(torch.uint8).tolist())


def round_trip(tree):
    return parse_tree(dump_tree(tree), "here")


anything = st.characters(exclude_categories=())  # lone surrogates too
texts = st.text(anything, max_size=8)
shapes = st.lists(st.integers(0, 3), max_size=3).map(tuple)
floats = st.binary(min_size=8, max_size=8).map(lambda bits: struct.unpack("d", bits)[0])  # NaN payloads, subnormals, -0


@st.composite
def arrays(draw):
    dtype, shape = np.dtype(draw(st.sampled_from(NUMPY))), draw(shapes)
    size = int(np.prod(shape)) * dtype.itemsize
    data = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), np.uint8)
    return (data & 1 if dtype.kind == "b" else data).view(dtype).reshape(shape)


@st.composite
def tensors(draw):
    dtype, shape = getattr(torch, draw(st.sampled_from(TORCH))), draw(shapes)
    size = int(np.prod(shape)) * dtype.itemsize
    data = torch.tensor(list(draw(st.binary(min_size=size, max_size=size))), dtype=torch.uint8)
    return (data & 1 if dtype == torch.bool else data).view(dtype).reshape(shape)


@st.composite
def string_arrays(draw):
    shape = draw(shapes)
    n = int(np.prod(shape))
    items = draw(st.lists(texts, min_size=n, max_size=n))
    return np.array(items, draw(st.sampled_from(["U", "U20", object]))).reshape(shape)


plain = st.none() | st.booleans() | st.integers(-(2**200), 2**200) | floats | texts
leaves = plain | arrays() | tensors() | string_arrays()
keys = texts | st.integers(-(2**70), 2**70) | st.sampled_from(["$", "__metadata__", "a.b", "0", 0, "name"])
trees = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.lists(inner, max_size=4).map(tuple) | st.dictionaries(keys, inner),
    max_leaves=12,
)


@settings(max_examples=100)
@given(trees)
def test_every_tree_comes_back_bit_for_bit(tree):
    data = dump_tree(tree)
    assert same(parse_tree(data, "here"), tree)
    assert dump_tree(tree) == data  # the same tree is the same bytes
    safetensors.deserialize(data)  # and a file that others can open


@pytest.mark.parametrize("a, b", [(1, 1.0), (1, True), (0.0, -0.0), ([1], (1,)), ({1: 0}, {"1": 0}), ("", None)])
def test_near_values_stay_apart(a, b):
    assert same(round_trip(a), a) and same(round_trip(b), b) and not same(a, b)


@pytest.mark.parametrize("bits", [0x7FF8000000000000, 0xFFF8000000000000, 0x7FF8000000000123, 0x7FF0000000000000])
def test_a_python_float_keeps_the_payload_and_sign_of_a_nan(bits):
    (x,) = struct.unpack("d", struct.pack("Q", bits))
    assert struct.pack("d", round_trip(x)) == struct.pack("Q", bits)


def test_tensors_have_readable_names_in_plain_safetensors(tmp_path):
    tree = {"module": {"hidden1": {"weight": torch.randn(2, 3)}}, "steps": [torch.tensor(3), {7: torch.ones(1)}]}
    write_atomic(tmp_path / "m.safetensors", dump_tree(tree))
    found = safetensors.torch.load_file(tmp_path / "m.safetensors")
    assert set(found) == {"module.hidden1.weight", "steps.0", "steps.1.7"}
    assert torch.equal(found["module.hidden1.weight"], tree["module"]["hidden1"]["weight"])
    assert set(safetensors.numpy.load(dump_tree(np.ones(2)))) == {"tree"}


def test_names_that_collide_are_made_unique():
    tree = {"a.b": np.zeros(1), "a": {"b": np.ones(1), "b~1": np.ones(2)}, "__metadata__": np.ones(3), "": np.ones(4)}
    tree["x" * 300], tree["x" * 301], tree["\ud800"] = np.ones(5), np.ones(6), np.ones(7)
    names = set(safetensors.numpy.load(dump_tree(tree)))
    assert same(round_trip(tree), tree)
    assert len(names) == 8 and {"a.b", "a.b~1", "__metadata__~3", "tree", "x" * 256, "?"} <= names


def test_numpy_scalars_become_python_scalars():
    tree = [np.float32(0.5), np.int8(3), np.bool_(True), np.str_("a"), {np.int64(2): np.float64("nan")}]
    assert same(round_trip(tree), [0.5, 3, True, "a", {2: float("nan")}])


def test_views_are_stored_as_what_they_show(tmp_path):
    square = torch.arange(9.0).reshape(3, 3)
    turned = torch.view_as_complex(torch.randn(3, 2)).conj()
    grown = torch.nn.Parameter(square[:, 1])
    tree = {"t": square.T, "column": square[:, 1], "conj": turned, "parameter": grown, "wide": square[:1].expand(4, 3)}
    back = round_trip(tree)
    assert all(torch.equal(back[key], tree[key]) for key in tree)
    assert type(back["parameter"]) is torch.Tensor and not back["parameter"].requires_grad
    grid = np.arange(6, dtype=">i4").reshape(2, 3)
    assert np.array_equal(round_trip(grid.T), grid.T) and round_trip(grid).dtype == np.int32
    mapped = np.memmap(tmp_path / "x", np.float32, "w+", shape=(2, 2))
    assert same(round_trip(mapped), np.zeros((2, 2), np.float32))
    assert round_trip(np.array(["ab", "c"], ">U2")).tolist() == ["ab", "c"]


def test_what_was_loaded_can_be_written_to_and_lies_as_torch_would_place_it():
    back = round_trip({"t": torch.zeros(100), "a": np.zeros(3)})
    back["t"] += 1
    back["a"] += 1
    assert back["t"].data_ptr() % 64 == 0  # some kernels round differently at other addresses
    assert back["t"].sum() == 100 and back["a"].sum() == 3


def test_long_arrays_of_strings_do_not_fill_the_header():
    labels = np.array([f"category number {i}" for i in range(300_000)])
    for array in (labels, labels.astype(object)):
        data = dump_tree({"classes": array})
        assert int.from_bytes(data[:8], "little") < 1000
        assert same(parse_tree(data, "here")["classes"], array)


@pytest.mark.parametrize("low", [0x80, 0x280, 0x4B50])
def test_a_length_that_looks_like_the_magic_of_a_pickle_or_a_zip_is_no_obstacle(low):
    """The file begins with the length of its header, so 0x..80 begins as a pickle does, and 0x4B50 reads "PK"."""
    empty = int.from_bytes(dump_tree({"x": ""})[:8], "little")
    data = dump_tree({"x": "y" * ((low - empty - 4) % 0x10000 if low > 0xFF else 256 + (low - empty - 4) % 256)})
    assert data[0] == low & 0xFF and (low < 0x100 or data[:2] == low.to_bytes(2, "little"))
    assert set(parse_tree(data, "here")["x"]) == {"y"}


def cycle():
    a = []
    a.append(a)
    return a


def nest(n):
    tree = 0
    for _ in range(n):
        tree = (tree,)
    return tree


@pytest.mark.parametrize(
    ("tree", "error", "message"),
    [
        ({"net": {"hook": len}}, InputTypeError, "Entry 'net.hook' is a builtin_function_or_method, which a file"),
        ([b"x"], InputTypeError, "Entry '0' is a bytes, which a file cannot hold; expected dict, list, tuple"),
        ({1, 2}, InputTypeError, "The tree is a set, which a file cannot hold"),
        (np.array([1, "a"], object), InputTypeError, "is a ndarray of object, which a file"),
        (np.array(["2020-01-01"], "datetime64[D]"), InputTypeError, r"ndarray of datetime64\[D\]"),
        (np.timedelta64(3, "ns"), InputTypeError, r"timedelta64 of timedelta64\[ns\]"),
        (np.zeros(2, np.complex128), InputTypeError, "ndarray of complex128, which"),
        (np.longdouble(1), InputTypeError, "longdouble of "),
        (np.ma.masked_array([1.0], [True]), InputTypeError, "MaskedArray of float64"),
        (torch.zeros(2, dtype=torch.complex128), InputTypeError, "Tensor of torch.complex128"),
        (torch.eye(2).to_sparse(), InputTypeError, "Tensor of torch.float32, which a file"),
        (torch.empty(2, device="meta"), InputTypeError, "Tensor of torch.float32, which a file"),
        ({"a": {0.5: 1}}, InputTypeError, "Entry 'a' has the key 0.5; expected str or int. Rename the key."),
        (cycle(), InputError, "Entry '0.0.0' is nested more than 64 deep, perhaps a cycle; flatten it."),
        (nest(65), InputError, "nested more than 64 deep"),
        ([np.zeros(0)] * 20_001, InputError, "The tree has 20001 tensors, expected at most 20000; stack some."),
        ("x" * (8 << 20), InputError, "The plain values of the tree take 8 MB, expected at most 8 MB; use arrays."),
    ],
    ids=lambda value: value[:50] if isinstance(value, str) and len(value) < 200 else "",
)
def test_what_cannot_be_stored_is_refused_by_name(tree, error, message, tmp_path):
    with pytest.raises(error, match=message):
        write_atomic(tmp_path / "x", dump_tree(tree))
    assert list(tmp_path.iterdir()) == []


def test_64_levels_are_not_too_many():
    assert same(round_trip(nest(64)), nest(64))
    assert same(round_trip({1: nest(63)}), {1: nest(63)})


def test_reading_and_writing_arrays_does_not_load_torch(fresh):
    code = "from ftheta.store import *; import numpy as np; parse_tree(dump_tree({'a': np.ones(2), 'b': (1,)}), '')"
    assert fresh(code) == {"numpy"}


def test_the_tree_in_the_header_is_strict_json():
    data = dump_tree({"a": float("nan"), "b": np.ones(1), "c": "θ"})
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert "NaN" not in header["__metadata__"]["ftheta"]
    assert json.loads(header["__metadata__"]["ftheta"])["tree"]["a"] == {"$": "float", "bits": "7ff8000000000000"}
