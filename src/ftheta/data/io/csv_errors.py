"""What is wrong with a CSV file, and where: read record by record, only after the fast read has failed."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple, NoReturn

import numpy as np

from ...errors import FileFormatError
from .cells import plain_number
from .content import BLOCK, Content

__all__ = ["Layout", "records", "reject_cells", "reject_encoding", "reject_open_quote", "reject_ragged", "reject_zero"]


class Layout(NamedTuple):
    """How a file is to be taken apart; `head` lines come before its header."""

    content: Content
    encoding: str
    delimiter: str
    head: int


class Record(NamedTuple):
    """Fields with the numbers of their first and last line."""

    line: int
    last: int
    fields: list[str]


def records(path: Path, lines: Iterable[str], delimiter: str, before: int = 0) -> Iterator[Record]:
    """The records that are not blank; `before` lines came before the first."""
    reader, start = csv.reader(lines, delimiter=delimiter), before + 1
    try:
        for fields in reader:
            if fields and not (len(fields) == 1 and fields[0].isspace()):
                yield Record(start, before + reader.line_num, fields)
            start = before + reader.line_num + 1
    except csv.Error as error:
        raise FileFormatError(f'{path} line {start}: {error}. Is a quote (") opened there and never closed?') from None


def _open(layout: Layout, skip: int) -> io.TextIOWrapper:
    encoding = "utf-8-sig" if layout.encoding == "utf-8" else layout.encoding
    stream = io.TextIOWrapper(layout.content.open(), encoding=encoding, newline="", errors="replace")
    for _ in range(skip):
        stream.readline()
    return stream


def reject_zero(content: Content) -> None:
    """Raise for a zero byte."""
    for i, block in enumerate(content.blocks()):
        if (zero := block.find(b"\0")) >= 0:
            raise FileFormatError(
                f"{content.path} byte {i * BLOCK + zero}: a zero byte, so the file is binary or damaged. "
                "Use a CSV file in UTF-8."
            )


class BadByte(NamedTuple):
    """A byte that is not in the encoding; `first`: whether all before it are ASCII."""

    line: int
    place: int
    value: int
    first: bool


def first_bad_byte(content: Content, encoding: str) -> BadByte:
    """Where a file stops being text in this encoding."""
    decoder, start, line, ascii_only = codecs.getincrementaldecoder(encoding)(), 0, 1, True
    for block in (*content.blocks(), b""):
        held = len(decoder.getstate()[0])
        try:
            decoder.decode(block, final=not block)
        except UnicodeDecodeError as error:
            before = max(error.start - held, 0)
            line += block.count(b"\n", 0, before)
            first = ascii_only and block[:before].isascii()
            return BadByte(line, start - held + error.start, error.object[error.start], first)
        start, line = start + len(block), line + block.count(b"\n")
        ascii_only = ascii_only and block.isascii()
    return BadByte(line, start, 0, False)


def reject_encoding(content: Content, encoding: str) -> NoReturn:
    """Raise with the place of the first byte that is not in this encoding."""
    bad = first_bad_byte(content, encoding)
    raise FileFormatError(
        f"{content.path} line {bad.line}, byte {bad.place}: not {encoding.upper()} (0x{bad.value:02x}). "
        "Save it as UTF-8 (in Excel: 'CSV UTF-8'), or pass encoding='latin-1' (--encoding latin-1)."
    )


def reject_ragged(layout: Layout, expected: int) -> None:
    """Raise for the first record with another number of fields than the header."""
    with _open(layout, layout.head) as stream:
        found = records(layout.content.path, stream, layout.delimiter, layout.head)
        for record in found:
            if len(record.fields) != expected:
                _reject_record(layout, record, expected, last=next(found, None) is None)


def reject_open_quote(layout: Layout, message: str) -> None:
    """Raise if pandas found the end of the file inside quotes; the last record is where they open."""
    if "inside string" in message:
        with _open(layout, layout.head) as stream:
            line = max(record.line for record in records(layout.content.path, stream, layout.delimiter, layout.head))
        raise FileFormatError(f'{layout.content.path} line {line}: a quote (") is opened and never closed. Close it.')


def _reject_record(layout: Layout, record: Record, expected: int, *, last: bool) -> NoReturn:
    n = len(record.fields)
    place = f"{layout.content.path} line {record.line}: {n} field{'s' * (n != 1)}, expected {expected} (header)."
    if n > expected:
        raise FileFormatError(f"{place} {_quote_hint(record.fields, layout.delimiter)}")
    if last and not _ends_a_line(layout.content):
        raise FileFormatError(f"{place} The last line is cut off: the file is truncated. Copy or download it again.")
    raise FileFormatError(f"{place} Fill in the missing cells or remove the line.")


def _ends_a_line(content: Content) -> bool:
    with content.open() as stream:
        stream.seek(-1, io.SEEK_END)
        return stream.read(1) in (b"\n", b"\r")


def _quote_hint(fields: Sequence[str], mark: str) -> str:
    what = "comma" if mark == "," else repr(mark)
    for left, right in zip(fields, fields[1:], strict=False):
        if left and right and not (plain_number(left) or plain_number(right)):
            return f"Quote the {what} in {left + mark + right!r}?"
    return f"Is there a {what} inside a value? Quote the value, or remove the extra field."


def reject_cells(layout: Layout, skip: int, names: Sequence[str], name: str, bad: np.ndarray, what: str) -> NoReturn:
    """Raise for the first bad cell of a column; `what` may speak of {cell} and {count}."""
    j, row = names.index(name), int(np.argmax(bad))
    with _open(layout, skip) as stream:
        found = next(islice(records(layout.content.path, stream, layout.delimiter, skip), row, None))
    message = what.format(cell=found.fields[j], count=int(bad.sum()))
    raise FileFormatError(f"{layout.content.path} line {found.line}: column {name!r} ({j + 1}) {message}")
