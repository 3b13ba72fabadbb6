"""What is packed: a file inside gzip, or one table inside a zip archive; neither may fill the memory."""

import io
import zipfile
import zlib
from pathlib import Path

from ...catalog import nearest
from ...errors import FileFormatError
from ...store.files import read_bytes, readable

MAX_RATIO, ALWAYS = 200, 16 << 20  # packed bytes may grow by this factor, or to this size
MAX_DIRECTORY = 1 << 20  # bytes of the directory of a zip archive: a million entries take seconds and gigabytes to open
ZIP, GZIP = b"PK\x03\x04", b"\x1f\x8b"
_TABLES = ((".csv", ".tsv", ".tab", ".json", ".jsonl", ".ndjson"), (".txt", ".dat", ".data"))  # the first kind there is


def plain_bytes(path: Path, sheet: str = "", size: int = -1) -> bytes:
    """The bytes of a file, unpacked; of an archive those of its only table, or of the one named `sheet`.

    Args:
        path: The file.
        sheet: A name in a zip archive.
        size: Only so many bytes of a table in a zip archive; -1: all.
    """
    data = read_bytes(path)
    if data.startswith(GZIP):
        return unpacked(path, data)
    return _from_zip(path, data, sheet, size) if data.startswith(ZIP) else data


def unpacked(path: Path, data: bytes) -> bytes:
    """What gzip packed."""
    stream = zlib.decompressobj(31)
    try:
        found = stream.decompress(data, max(ALWAYS, MAX_RATIO * len(data)) + 1)
    except zlib.error as error:
        raise FileFormatError(f"{path}: damaged inside gzip ({error}). Download it again.") from None
    reject_bomb(path, len(found), len(data))
    if not stream.eof or stream.unused_data:
        raise FileFormatError(f"{path}: the end of the gzip data is missing or is not the end. Download it again.")
    return found


def archive_of(data: bytes) -> zipfile.ZipFile:
    """A zip archive; ValueError where its directory is too long to be opened."""
    end = data.rfind(b"PK\x05\x06")
    if end >= 0 and int.from_bytes(data[end + 12 : end + 16], "little") > MAX_DIRECTORY:
        raise ValueError("an archive of too many files")
    return zipfile.ZipFile(io.BytesIO(data))


def _from_zip(path: Path, data: bytes, sheet: str, size: int) -> bytes:
    try:
        with archive_of(data) as archive:
            table = _table(path, archive.infolist(), sheet)
            reject_bomb(path, table.file_size, len(data))  # no more than the stated size is ever unpacked
            with archive.open(table) as stream:
                return stream.read(size)
    except FileFormatError:
        raise
    except Exception as error:  # zipfile raises many kinds
        why = " ".join(str(error).split())[:150]
        raise FileFormatError(f"{path}: a damaged zip archive ({why}). Download it again.") from None


def _table(path: Path, members: list[zipfile.ZipInfo], sheet: str) -> zipfile.ZipInfo:
    """The only table of an archive, or the one that is named."""
    files = {m.filename: m for m in members if not (m.is_dir() or m.filename.startswith("__MACOSX/"))}
    kinds = [[name for name in files if name.lower().endswith(ends)] for ends in _TABLES]
    tables = [sheet] if sheet in files else next(filter(None, kinds), [])
    if sheet and sheet not in files:
        raise FileFormatError(f"{path}: {nearest('file in the archive', sheet, files)}")
    if not tables:
        raise FileFormatError(
            f"{path}: its content is a zip archive without a table (as .pt files are); fθ does not open it. "
            "Unpack it, or save the table as CSV."
        )
    if len(tables) > 1:
        first = ", ".join(tables[:8]) + (", ..." if len(tables) > 8 else "")
        raise FileFormatError(f"{path}: {len(tables)} tables ({first}). Choose one, e.g. --sheet {tables[0]}.")
    found = files[tables[0]]
    if found.flag_bits & 1 or found.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        how = "encrypted" if found.flag_bits & 1 else f"packed by method {found.compress_type}"
        raise FileFormatError(f"{path}: {found.filename} is {how}. Unpack it yourself.")
    return found


def reject_bomb(path: Path, size: int, packed: int, ratio: int = MAX_RATIO, always: int = ALWAYS) -> None:
    """Raise where a small file, or a folder of them, would fill the memory."""
    if size > max(always, ratio * packed):
        raise FileFormatError(
            f"{path} would unpack {readable(packed)} to {readable(size)} or more, over {ratio} times as much, which "
            "looks like a decompression bomb. Make it smaller, or unpack it yourself if you trust it."
        )
