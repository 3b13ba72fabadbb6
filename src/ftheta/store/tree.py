"""A tree of tensors, arrays and plain values as ONE safetensors file, the tree as strict JSON in its header.

    {"net": {"w": W}, "step": 3}  ->  header {"net": {"w": {"$": "tensor", "name": "net.w"}}, "step": 3}, bytes of W

Tuples, int keys, NaN payloads, bfloat16 and arrays of strings come back as they were. Tensors are named by their path
in the tree, and plain safetensors opens the file too. Nothing is ever unpickled, and limits are checked before work.

Reference: https://huggingface.co/docs/safetensors (the format).
"""

import json
import math
import re
import struct
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, TensorSpec, deserialize, serialize

from ..errors import FileFormatError, InputError, InputTypeError
from .files import damaged, read_bytes, readable, refuse_format, strict_json

Tree = Any  # dict | list | tuple | Tensor | ndarray | str | int | float | bool | None; keys of a dict are str or int
Place = tuple[Any, ...]

FORMAT = 1
MAX_HEADER, MAX_TENSORS, MAX_DEPTH = 8 << 20, 20_000, 64
DTYPES = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 bfloat16 float32 float64 complex64".split()
CODES: dict[str, str] = dict(
    zip(DTYPES, "BOOL U8 I8 U16 I16 U32 I32 U64 I64 F16 BF16 F32 F64 C64".split(), strict=True)
)
NAMES = {code: dtype for dtype, code in CODES.items()}


def dump_tree(tree: Tree) -> bytes:
    """A tree as the bytes of one safetensors file. Numpy scalars become Python's; gradients are not kept."""
    writer = _Writer()
    text = json.dumps({"format": FORMAT, "tree": writer.node(tree, ())}, allow_nan=False)
    if len(writer.tensors) > MAX_TENSORS:
        raise InputError(f"The tree has {len(writer.tensors)} tensors, expected at most {MAX_TENSORS}; stack some.")
    specs = {
        name: TensorSpec(dtype=dtype, shape=list(shape), data_ptr=flat.ctypes.data, data_len=flat.nbytes)
        for name, (dtype, shape, flat) in writer.tensors.items()
    }
    data = serialize(specs, {"ftheta": text})
    if (header := int.from_bytes(data[:8], "little")) > MAX_HEADER:
        raise InputError(f"The plain values of the tree take {readable(header)}, expected at most 8 MB; use arrays.")
    return data


def parse_tree(data: bytes, where: str) -> Tree:
    """The tree in the bytes of a file; `where` names the file in errors."""
    tree = _tree_text(strict_json(_header(data, where), where), where)
    try:
        reader = _Reader(dict(deserialize(data)), where)
    except SafetensorError as error:
        raise damaged(where, str(error)) from None
    result = reader.tree(tree)
    if reader.tensors:
        raise damaged(where, f"tensor {min(reader.tensors)!r} is not in its tree")
    return result


def _header(data: bytes, where: str) -> bytes:
    """The JSON at the start, after its length; a length may begin with the magic of a pickle, so both are looked at."""
    size = int.from_bytes(data[:8], "little")
    if size <= MAX_HEADER and data[8:9] == b"{":
        if size > len(data) - 8:
            raise damaged(where, f"cut off: its header takes {size} bytes, the file has {len(data)}")
        return data[8 : 8 + size]
    if data[:2] == b"PK" or data[:1] == b"\x80":
        advice = "Save its state_dict with safetensors where you trust it, then load that."
        raise FileFormatError(f"{where} is a pickle and could run code; fθ does not open it. {advice}")
    raise damaged(where, "does not begin with a safetensors header of at most 8 MB")


def _tree_text(header: dict[str, Any], where: str) -> Any:
    """The tree, still as JSON values, out of a header within the limits."""
    if (n := len(header.keys() - {"__metadata__"})) > MAX_TENSORS:
        raise damaged(where, f"it holds {n} tensors, expected at most {MAX_TENSORS}")
    match header.get("__metadata__"):
        case {"ftheta": str(text)}:
            content = strict_json(text, where)
        case _:
            raise FileFormatError(f"{where}: safetensors, but not written by fθ. Load it with what wrote it.")
    refuse_format(content, FORMAT, where)
    if "tree" not in content:
        raise damaged(where, "no tree in its header")
    return content["tree"]


def load_tree(path: Path) -> Tree:
    """Read a tree; a FileFormatError says what is wrong with any other file."""
    return parse_tree(read_bytes(Path(path)), str(path))


@dataclass
class _Writer:
    """Turns a tree into JSON; arrays go aside under readable names."""

    tensors: dict[str, tuple[str, tuple[int, ...], np.ndarray]] = field(default_factory=dict)

    def node(self, x: Tree, path: Place) -> Any:
        if len(path) > MAX_DEPTH:
            raise InputError(f"{_place(path[:3])} is nested more than {MAX_DEPTH} deep, perhaps a cycle; flatten it.")
        x = _python(x)
        if isinstance(x, float) and not math.isfinite(x):
            return {"$": "float", "bits": struct.pack(">d", x).hex()}  # keeps the payload of a NaN
        if x is None or isinstance(x, bool | str | int | float):
            return x
        if isinstance(x, list | tuple):
            items = [self.node(item, (*path, i)) for i, item in enumerate(x)]
            return items if isinstance(x, list) else {"$": "tuple", "items": items}
        if isinstance(x, Mapping):
            return self._mapping(x, path)
        if type(x) in (np.ndarray, np.memmap):
            return self._array(x, path)
        return self._tensor(x, path)

    def _mapping(self, x: Mapping[Any, Tree], path: Place) -> Any:
        items = [(_python(key), value) for key, value in x.items()]
        for key, _ in items:
            if not isinstance(key, str | int):
                raise InputTypeError(f"{_place(path)} has the key {key!r:.40}; expected str or int. Rename the key.")
        pairs = [[key, self.node(value, (*path, key))] for key, value in items]
        plain = all(isinstance(key, str) and key != "$" for key, _ in pairs)
        return dict(pairs) if plain else {"$": "dict", "items": pairs}

    def _array(self, x: np.ndarray, path: Place) -> Any:
        if x.dtype.kind == "O" and all(isinstance(item, str) for item in x.flat):
            text = np.frombuffer(json.dumps(list(x.flat)).encode(), np.uint8)  # not in the header: it may be long
            return self._put("strings", path, "uint8", text.shape, text) | {"shape": list(x.shape)}
        if x.dtype.kind != "U" and x.dtype.name not in CODES:
            raise _refusal(x, path)
        flat = np.ascontiguousarray(x, x.dtype.newbyteorder("<")).reshape(-1).view(np.uint8)
        if x.dtype.kind == "U":  # its code points: (...) -> (..., width)
            return self._put("characters", path, "uint32", (*x.shape, x.itemsize // 4), flat)
        return self._put("array", path, x.dtype.name, x.shape, flat)

    def _tensor(self, x: Any, path: Place) -> Any:
        torch = sys.modules.get("torch")
        if torch is None or not isinstance(x, torch.Tensor) or x.layout is not torch.strided or x.is_meta:
            raise _refusal(x, path)
        if (dtype := str(x.dtype).removeprefix("torch.")) not in CODES:
            raise _refusal(x, path)
        flat = x.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
        return self._put("tensor", path, dtype, tuple(x.shape), flat.view(torch.uint8).numpy())

    def _put(self, kind: str, path: Place, dtype: str, shape: tuple[int, ...], flat: np.ndarray) -> dict[str, Any]:
        stem = ".".join(map(str, path)).encode("utf-8", "replace").decode()[:256] or "tree"
        name, n = stem, len(self.tensors)
        while name in self.tensors or name == "__metadata__":  # a word of the format
            name, n = f"{stem}~{n}", n + 1
        self.tensors[name] = (dtype, shape, flat)
        return {"$": kind, "name": name, "dtype": CODES[dtype]}


def _python(x: Any) -> Any:
    return x.item() if isinstance(x, np.generic) and x.dtype.kind in "biufU" else x


def _place(path: Place) -> str:
    return f"Entry {'.'.join(map(str, path))!r}" if path else "The tree"


def _refusal(x: Any, path: Place) -> InputTypeError:
    kind = f"{type(x).__name__} of {x.dtype}" if hasattr(x, "dtype") else type(x).__name__
    known = "dict, list, tuple, dense tensor, array of numbers or of strings, str, int, float, bool or None"
    return InputTypeError(f"{_place(path)} is a {kind}, which a file cannot hold; expected {known}. Convert it first.")


@dataclass
class _Reader:
    """Turns JSON back into the tree; every tensor is used exactly once."""

    tensors: dict[str, Any]
    where: str

    def tree(self, node: Any, depth: int = 0) -> Tree:
        if depth > MAX_DEPTH:
            raise damaged(self.where, f"its tree is nested more than {MAX_DEPTH} deep")
        match node:
            case list():
                return [self.tree(item, depth + 1) for item in node]
            case {"$": "tuple", "items": list(items)}:
                return tuple([self.tree(item, depth + 1) for item in items])
            case {"$": "dict", "items": list(items)}:
                return self._pairs(items, depth + 1)
            case {"$": "float", "bits": str(bits)} if re.fullmatch("[0-9a-f]{16}", bits):
                return struct.unpack(">d", bytes.fromhex(bits))[0]
            case {"$": str(kind), "name": str(name), "dtype": str(code)}:
                return self._array(kind, name, code, node.get("shape"))
            case {"$": _}:
                raise damaged(self.where, f"the entry {node!r:.80} has no meaning")
            case dict():
                return {key: self.tree(value, depth + 1) for key, value in node.items()}
        return node

    def _pairs(self, items: list[Any], depth: int) -> dict[str | int, Tree]:
        keys = [item[0] if isinstance(item, list) and len(item) == 2 else None for item in items]
        if not all(isinstance(key, str | int) for key in keys) or len(set(keys)) < len(keys):
            raise damaged(self.where, "a dict has a key twice, or one that is neither str nor int")
        return {key: self.tree(value, depth) for key, value in items}

    def _array(self, kind: str, name: str, code: str, shape: Any) -> Tree:
        found = self.tensors.pop(name, None)
        if found is None or found["dtype"] != code or code not in NAMES:
            raise damaged(self.where, f"its tree names a tensor {name!r} of {code} that is not there")
        try:
            return _build(kind, found["data"], NAMES[code], shape if kind == "strings" else found["shape"])
        except (ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise damaged(self.where, f"tensor {name!r} cannot be a {kind} ({error})") from None


def _build(kind: str, data: bytearray, dtype: str, shape: Any) -> Tree:
    """What the bytes of one tensor stand for."""
    if kind == "tensor":
        import torch

        of = getattr(torch, dtype)
        return torch.frombuffer(data, dtype=of).reshape(shape).clone() if data else torch.empty(shape, dtype=of)
    if kind == "strings":
        items = strict_json(bytes(data), "its text")
        if not isinstance(items, list) or not all(isinstance(item, str) for item in items) or min(shape, default=0) < 0:
            raise ValueError("not strings, or not their shape")
        return np.array(items, object).reshape(shape)
    array = np.frombuffer(data, np.dtype(dtype).newbyteorder("<")).reshape(shape)
    if kind == "array":
        return array
    if kind != "characters" or dtype != "uint32" or array.max(initial=0) > sys.maxunicode:
        raise ValueError("unknown kind or characters")
    return array.view(f"<U{shape[-1]}").reshape(shape[:-1])  # (..., width) -> (...)
