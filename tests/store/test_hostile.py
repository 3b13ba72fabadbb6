"""Files that are not ours, were cut, or were made to do harm: one kind of error, early, and nothing runs."""

import json
import pickle

import numpy as np
import pytest
import safetensors.numpy
import torch

from ftheta.errors import FileFormatError
from ftheta.store import dump_tree, load_tree, parse_tree

TREE = {"net": {"w": torch.ones(2, 3)}, "a": np.arange(3), "s": np.array(["x", "yz"]), "o": np.array(["p"], object)}
TREE |= {"t": (1, float("inf")), 7: "seven"}


def build(header, body=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + body


def ours(tree, body=b"", version=1, **tensors):
    """A file with this JSON as its tree, and tensors given as (dtype, shape, begin, end)."""
    text = tree if isinstance(tree, str) else json.dumps({"format": version, "tree": tree})
    entries = {k: {"dtype": d, "shape": s, "data_offsets": [i, j]} for k, (d, s, i, j) in tensors.items()}
    return build({"__metadata__": {"ftheta": text}, **entries}, body)


def node(kind="array", name="w", dtype="U8", **more):
    return {"$": kind, "name": name, "dtype": dtype, **more}


BYTE = ("U8", [1], 0, 1)
HOSTILE = {
    "an empty file": (b"", "does not begin with a safetensors header of at most 8 MB"),
    "text": (b"hello, world", "does not begin with"),
    "a huge header": ((1 << 40).to_bytes(8, "little") + b"{}", "a safetensors header of at most 8 MB"),
    "a header over 8 MB": (build(b"{" + b" " * (8 << 20) + b"}"), "header of at most 8 MB"),
    "a header cut off": (build({"a": 1})[:12], "cut off: its header takes 8 bytes, the file has 12"),
    "no JSON": (build(b"{nothing}"), "not strict JSON"),
    "no UTF-8": (build(b'{"\xff": 1}'), "not strict JSON"),
    "UTF-16": (build("{}".encode("utf-16-le")), "not strict JSON"),
    "a key twice": (build(b'{"__metadata__": {}, "a": 1, "a": 2}'), r"not strict JSON \(a key occurs twice\)"),
    "NaN": (build(b'{"a": NaN}'), r"\(NaN is not a finite number\)"),
    "a number without end": (build(b'{"a": 1e999}'), r"\(1e999 is not a finite number\)"),
    "5,000 digits": (build(b'{"a": ' + b"9" * 5000 + b"}"), "not strict JSON"),
    "deep JSON": (build(b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}"), "not strict JSON"),
    "30,000 tensors": (ours(1, **{f"{i}": ("U8", [0], 0, 0) for i in range(30_000)}), "it holds 30000 tensors"),
    "foreign safetensors": (safetensors.numpy.save({"w": np.ones(2)}), "not written by fθ. Load it with what wrote it"),
    "metadata of another kind": (build({"__metadata__": [1]}), "not written by fθ"),
    "a newer format": (ours(1, version=9), "format 9, but this fθ reads 1. Use the version that wrote it."),
    "an older format": (ours(1, version=0), "format 0, but this fθ reads 1"),
    "a pickle": (pickle.dumps([]), "is a pickle and could run code; fθ does not open it. Save its state_dict"),
    "no tree": (ours('{"format": 1}'), "no tree in its header"),
    "a tree with a key twice": (ours('{"format": 1, "tree": {"a": 1, "a": 1}}'), "a key occurs twice"),
    "a tree with NaN": (ours('{"format": 1, "tree": NaN}'), "NaN is not a finite number"),
    "a deep tree": (ours('{"format": 1, "tree": ' + "[" * 70 + "]" * 70 + "}"), "its tree is nested more than 64 deep"),
    "a missing tensor": (ours(node()), "its tree names a tensor 'w' of U8 that is not there"),
    "a tensor of another dtype": (ours(node(dtype="I8"), b"\0", w=BYTE), "a tensor 'w' of I8 that is not there"),
    "a tensor twice": (ours([node(), node()], b"\0", w=BYTE), "a tensor 'w' of U8 that is not there"),
    "a tensor too many": (ours(1, b"\0", w=BYTE), "tensor 'w' is not in its tree"),
    "an exotic dtype": (ours(node(dtype="F8_E5M2"), b"\0", w=("F8_E5M2", [1], 0, 1)), "of F8_E5M2 that is not there"),
    "a tensor outside the file": (ours(node(), b"\0", w=("U8", [9], 0, 9)), "Error while deserializing"),
    "tensors that overlap": (ours([node(), node(name="v")], b"\0", w=BYTE, v=BYTE), "Error while deserializing"),
    "a hole": (ours(node(), b"\0\0\0", w=("U8", [1], 2, 3)), "Error while deserializing"),
    "bytes after the end": (ours(node(), b"\0\0", w=BYTE), "Error while deserializing"),
    "a shape that overflows": (ours(node(), b"", w=("U8", [2**40, 2**40], 0, 0)), "Error while deserializing"),
    "a shape beyond numpy": (ours(node(), b"\0", w=("U8", [1] * 99, 0, 1)), "tensor 'w' cannot be a array"),
    "an empty shape beyond torch": (ours(node("tensor"), b"", w=("U8", [0, 2**62, 2], 0, 0)), "cannot|deserializing"),
    "an unknown kind": (ours(node("__class__"), b"\0", w=BYTE), "cannot be a __class__"),
    "bfloat16 for numpy": (ours(node(dtype="BF16"), b"\0\0", w=("BF16", [1], 0, 2)), "cannot be a array"),
    "a dict with a key twice": (ours({"$": "dict", "items": [[1, 0], [1, 0]]}), "a dict has a key twice, or one that"),
    "a dict with a list as key": (ours({"$": "dict", "items": [[[], 0]]}), "neither str nor int"),
    "a dict of triples": (ours({"$": "dict", "items": [[1, 2, 3]]}), "neither str nor int"),
    "a tuple of nothing": (ours({"$": "tuple"}), r"the entry \{'\$': 'tuple'\} has no meaning"),
    "a float of too few bits": (ours({"$": "float", "bits": "7f"}), "has no meaning"),
    "characters beyond Unicode": (
        ours(node("characters", dtype="U32"), b"\xff" * 4, w=("U32", [1], 0, 4)),
        "character",
    ),
    "characters without width": (ours(node("characters", dtype="U32"), b"\0" * 4, w=("U32", [], 0, 4)), "characters"),
    "characters of no width": (ours(node("characters", dtype="U32"), b"", w=("U32", [3, 0], 0, 0)), "characters"),
    "characters of bytes": (ours(node("characters"), b"\0", w=BYTE), "unknown kind or characters"),
    "strings that are numbers": (ours(node("strings", shape=[1]), b"[1]", w=("U8", [3], 0, 3)), "not strings"),
    "strings of a negative shape": (ours(node("strings", shape=[-1]), b"[]", w=("U8", [2], 0, 2)), "not strings"),
    "strings of another shape": (ours(node("strings", shape=[9]), b"[]", w=("U8", [2], 0, 2)), "cannot be a strings"),
    "strings without JSON": (ours(node("strings", shape=[1]), b"[,]", w=("U8", [3], 0, 3)), "not strict JSON"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_file_that_is_not_valid_is_one_named_error(case, tmp_path):
    data, message = HOSTILE[case]
    path = tmp_path / "model.safetensors"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=message) as caught:
        load_tree(path)
    assert str(caught.value).startswith(f"{path}{'' if case == 'a pickle' else ':'} ")


def test_every_cut_of_a_file_is_noticed():
    data = dump_tree(TREE)
    for n in range(len(data)):
        with pytest.raises(FileFormatError):
            parse_tree(data[:n], "here")


def test_what_is_not_a_file_is_named(tmp_path):
    with pytest.raises(FileFormatError, match="none cannot be read: No such file or directory. Check path and perm"):
        load_tree(tmp_path / "none")
    with pytest.raises(FileFormatError, match="cannot be read: it is not a regular file. Use the path of a file."):
        load_tree(tmp_path)
