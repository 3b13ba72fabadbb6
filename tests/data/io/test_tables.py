"""Spreadsheets and JSON give the table that a CSV file of the same cells gives."""

import gzip
import io
import json
import zipfile

import numpy as np
import pytest

from ftheta.data import read, read_excel, read_json
from ftheta.errors import FileFormatError

ROWS = [
    ["size", "color", "day", "ok", "y"],
    [1.5, "red", "2024-02-29", True, 3],
    [None, "blue", "2024-03-01", False, 4],
]
TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/'
    'vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>'
    "</Types>"
)
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="{office}/{kind}" Target="{target}"/></Relationships>'
)
BOOK = (
    '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" xmlns:r="{office}">'
    '<sheets><sheet name="first" sheetId="1" r:id="rId1"/></sheets></workbook>'
)


def cell(value, place):
    if value is None:
        return ""
    if isinstance(value, bool):
        return f'<c r="{place}" t="b"><v>{int(value)}</v></c>'
    if isinstance(value, str):
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'
    return f'<c r="{place}"><v>{value}</v></c>'


def xlsx(rows):
    """The smallest workbook that the standard allows."""
    lines = ("".join(cell(v, f"{chr(65 + j)}{i + 1}") for j, v in enumerate(row)) for i, row in enumerate(rows))
    sheet = "".join(f"<row>{line}</row>" for line in lines)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", TYPES)
        archive.writestr(
            "_rels/.rels", RELATIONS.format(office=OFFICE, kind="officeDocument", target="xl/workbook.xml")
        )
        archive.writestr("xl/workbook.xml", BOOK.format(office=OFFICE))
        target = RELATIONS.format(office=OFFICE, kind="worksheet", target="worksheets/sheet1.xml")
        archive.writestr("xl/_rels/workbook.xml.rels", target)
        space = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
        content = f'<worksheet xmlns="{space}"><sheetData>{sheet}</sheetData></worksheet>'
        archive.writestr("xl/worksheets/sheet1.xml", content)
    return out.getvalue()


def records(rows):
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


def lines(rows):
    return "\n".join(map(json.dumps, records(rows))).encode()


FILES = {
    "xlsx": xlsx(ROWS),
    "records": json.dumps(records(ROWS), indent=1).encode(),
    "lines": lines(ROWS),
    "columns": json.dumps(dict(zip(ROWS[0], zip(*ROWS[1:], strict=True), strict=True))).encode(),
    "packed": gzip.compress(lines(ROWS)),
}


@pytest.mark.parametrize("content", FILES.values(), ids=list(FILES))
def test_the_same_cells_give_the_same_data_set(content, tmp_path):
    (tmp_path / "t").write_bytes(content)
    data = read(tmp_path / "t", "y")
    assert data.y.tolist() == [3, 4] and data.task == "binary"
    assert np.array_equal(data.x["size"], [1.5, np.nan], equal_nan=True)
    assert data.x["color"].tolist() == ["red", "blue"] and data.x["ok"].tolist() == ["True", "False"]
    assert [str(day)[:10] for day in data.x["day"]] == ["2024-02-29", "2024-03-01"]
    assert read(tmp_path / "t", "z", required=False).y is None
    with pytest.raises(FileFormatError, match="Unknown target column 'z'"):
        read(tmp_path / "t", "z")


@pytest.mark.parametrize(
    "content",
    [
        b"[1, 2]",
        b"[]",
        b'{"a": [1], "b": [1, 2]}',
        b'[{"a": [1]}]',
        b'[{"a": 1}',
        b"[" * 100_000,
        b'{"a": 1}\n{"b"',
        b"[{}]",
    ],
    ids=["numbers", "empty", "uneven", "nested", "cut off", "deep", "half a line", "no columns"],
)
def test_json_that_is_not_a_table_is_one_sentence(content, tmp_path):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(FileFormatError) as caught:
        read_json(tmp_path / "t.json")
    assert str(caught.value).startswith(str(tmp_path / "t.json")) and "\n" not in str(caught.value)


def test_a_damaged_or_empty_spreadsheet_is_one_sentence(tmp_path):
    content = FILES["xlsx"]
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", bytes(2**25))
    for bad in (
        content[:200],
        content[:-40],
        bomb.getvalue(),
        xlsx([]),
        xlsx(ROWS[:1]),
        b"\xd0\xcf\x11\xe0" + bytes(600),
    ):
        (tmp_path / "t.xlsx").write_bytes(bad)
        with pytest.raises(FileFormatError) as caught:
            read_excel(tmp_path / "t.xlsx")
        assert str(caught.value).startswith(str(tmp_path / "t.xlsx")) and "\n" not in str(caught.value)


def test_without_calamine_the_command_that_installs_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "t.xlsx").write_bytes(FILES["xlsx"])
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(FileFormatError, match=r"pip install 'ftheta\[data\]'"):
        read(tmp_path / "t.xlsx")
