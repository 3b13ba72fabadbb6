"""The pieces of an exported script, as text: what is between << and >> is filled in for a run (see `_export`).

HEAD, then READ to ENCODE as far as the columns need them, or PICTURES; the pieces of `_script_nets`; MAIN.
"""

from __future__ import annotations

import re

__all__ = [
    "DATE",
    "ENCODE",
    "ENCODING",
    "HEAD",
    "LEVELS",
    "MAIN",
    "NUMBER",
    "PICTURES",
    "READ",
    "READ_DATES",
    "READ_NUMBERS",
    "filled",
]


def filled(text: str, **values: object) -> str:
    """A piece with its blanks filled in.

    Example:
        >>> filled("Net(<<inputs>>, <<outputs>>)", inputs=3, outputs=1)
        'Net(3, 1)'
    """
    return re.sub(r"<<(\w+)>>", lambda blank: str(values.get(blank[1], blank[0])), text)


HEAD = '''"""<<title>>

    python <<script>> <<file>> > predictions.csv      predict the rows of a file
    net = train(rows, y)                          train a new net of the same kind

Beside this file lie encoder.json, what is done to the inputs, and model.safetensors, the weights.
It needs torch, numpy, pandas and safetensors.
"""

<<imports>>

HERE = Path(__file__).parent
ENCODER = json.loads((HERE / "encoder.json").read_text(encoding="utf-8"))
DTYPE = torch.<<dtype>>
<<constants>>'''

READ = '''

# ---- reading: every cell as text; what it means is told by the column

ENCODING = <<encoding>>
MISSING = set(ENCODER["missing"])  # words for no value


def read(path):
    """The rows of a CSV file as text; the delimiter is told by the header."""
    with open(path, encoding=ENCODING, newline="") as file:
        lines = (line for line in file if line.strip())
        first = next(lines)
        said = first[:4].lower() == "sep="  # as Excel writes it
        header = next(lines) if said else first
    mark = first[4] if said else max(",;\\t|", key=header.count)
    cells = pd.read_csv(
        path, sep=mark, header=None, skiprows=int(said), dtype=str, keep_default_na=False, encoding=ENCODING
    )
    rows = cells.iloc[1:].reset_index(drop=True)
    rows.columns = column_names(cells.iloc[0])
    return rows


def column_names(cells):
    """The cells of a header; what has no name is counted, and what is there twice too."""
    names, taken = [], {}
    for j, cell in enumerate(cells):
        name = str(cell).strip() or f"column {j + 1}"
        taken[name] = taken.get(name, 0) + 1
        names.append(name if taken[name] == 1 else f"{name} ({taken[name]})")
    return names


def is_missing(column):
    """Where a cell is missing: (n,)."""
    text = column.map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
    return (column.isna() | text.isin(MISSING)).to_numpy()
'''

READ_NUMBERS = '''

PLAIN = <<plain>>  # -1234.5e3
COMMA = <<comma>>  # 1.234,5
POINT = <<point>>  # 1,234.5


def way_of(cells):
    """How most of these cells are written as numbers."""
    ways = (PLAIN, COMMA, POINT) if ENCODER["comma"] else (PLAIN, POINT, COMMA)
    return max(ways, key=lambda way: sum(bool(re.fullmatch(way, bare(cell))) for cell in cells))


def bare(cell):
    """A cell without blanks and marks of thousands; (7) is -7."""
    cell = re.sub("[ \\u00a0\\u202f'’]", "", cell).replace("\\u2212", "-")
    return re.sub(r"\\((.*)\\)", r"-\\1", cell)


def as_numbers(column):
    """A column of text as numbers, NaN where there is none."""
    cells = {str(cell) for cell in column[~is_missing(column)]}
    way = way_of(cells)
    if ENCODER["comma"] and way == PLAIN and "." in "".join(cells) and all(re.fullmatch(COMMA, c) for c in cells):
        way = COMMA  # 1.234 is a thousand and more where commas mark decimals
    found = {cell: one_number(bare(cell), way) for cell in cells}
    return column.map(lambda cell: found.get(str(cell), math.nan)).to_numpy(float)


def one_number(cell, way):
    """A cell as a number, NaN if it is not written in this way."""
    if not re.fullmatch(way, cell):
        return math.nan
    cell = re.sub("[$€£%]", "", cell)
    return float((cell.replace(".", "").replace(",", ".") if way == COMMA else cell).replace(",", ""))
'''

READ_DATES = '''

def as_days(column, way):
    """A column of dates as days since 1970, NaN where there is none; `way`: how they were written in training."""
    if column.dtype.kind != "M":
        cells = column.astype(object).mask(is_missing(column)).str.strip()
        column = pd.to_datetime(cells, format=way or "mixed", errors="coerce", utc=True).dt.tz_localize(None)
    seconds = column.to_numpy("datetime64[s]")
    return np.where(np.isnat(seconds), math.nan, seconds.astype(np.int64) / 86400)
'''

ENCODING = """

# ---- encoding: every column as one or more columns of numbers, by what encoder.json says of it
"""

NUMBER = '''

def number(column, plan):
    """(x - mean) / scale, 0 where x is missing; a second column marks those cells if training had some."""
    is_text = column.dtype.kind not in "biuf"
    x = as_numbers(column) if is_text else column.to_numpy(float, na_value=math.nan)
    if np.isinf(x).any():
        raise ValueError(f"Column {plan['name']!r} holds an infinite number.")
    z = (x - plan["mean"]) / plan["scale"]
    gone = np.isnan(z)
    z[gone] = 0.0
    return np.stack([z, gone], 1) if plan["missing"] else z[:, None]
'''

LEVELS = '''

def levels(column, plan):
    """One 0/1 column a level; rare and new levels share one, missing cells have one, where training had such."""
    names, rare = plan["levels"], bool(plan["rare"])
    width = len(names) + rare + plan["missing"]
    place = {as_text(name): j for j, name in enumerate(names)}
    other, gone = len(names) if rare else -1, len(names) + rare if plan["missing"] else -1
    there = zip(column, is_missing(column), strict=True)
    codes = [gone if hole else place.get(as_text(cell), other) for cell, hole in there]
    return np.eye(width + 1)[codes, :width]  # row -1 holds zeros


def as_text(cell):
    """A cell as the name of a level."""
    text = f"{cell:.0f}" if isinstance(cell, float) and cell == round(cell) else " ".join(str(cell).split())
    return {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}.get(text, text)
'''

DATE = '''

def date(column, plan):
    """Days, standardised, and the place in the year, the week and the day on a circle; 0 where it is missing."""
    days = as_days(column, plan.get("format"))
    turns = [2 * np.pi * days / {"year": 365.2425, "week": 7.0, "day": 1.0}[circle] for circle in plan["circles"]]
    on_circles = [f(turn) for turn in turns for f in (np.sin, np.cos)]
    block = np.stack([(days - plan["mean"]) / plan["scale"], *on_circles], 1)
    gone = np.isnan(days)
    block[gone] = 0.0
    return np.column_stack([block, gone]) if plan["missing"] else block
'''

ENCODE = '''

HOW = {<<how>>}


def encode(rows):
    """The columns of a frame, those of training in any order, as what the net sees: (n, D)."""
    used = [plan for plan in ENCODER["columns"] if plan["kind"] != "dropped"]
    lacking = [plan["name"] for plan in used if plan["name"] not in rows]
    if lacking:
        raise ValueError(f"Column {lacking[0]!r} is missing; the net was trained with it.")
    blocks = [HOW[plan["kind"]](rows[plan["name"]], plan) for plan in used]
    return torch.tensor(np.concatenate(blocks, axis=1), dtype=DTYPE)


def names_of(rows):
    """The columns that name the rows; they are copied."""
    names = [plan["name"] for plan in ENCODER["columns"] if "identifier" in plan.get("why", "")]
    return rows.reindex(columns=names)
'''

PICTURES = '''

# ---- pictures


def read(path):
    """The pictures of an NPY file, or of the array X, x, data or images of an NPZ file."""
    found = np.load(path)
    names = ("X", "x", "data", "images")
    return found if isinstance(found, np.ndarray) else next(found[name] for name in names if name in found)


def encode(pictures):
    """Pixels shifted and scaled, all by the same numbers, as the net sees them: (n, D)."""
    x = np.asarray(pictures).reshape(len(pictures), -1)
    if x.shape[1] != ENCODER["n"]:
        raise ValueError(f"The pictures have {x.shape[1]} values each; the net was trained with {ENCODER['n']}.")
    return (torch.from_numpy(x.copy()).to(DTYPE) - ENCODER["mean"]) / ENCODER["scale"]


def names_of(pictures):
    """Pictures have no names."""
    return pd.DataFrame(index=range(len(pictures)))
'''

MAIN = '''

def main():
    """Predictions for the rows of a file, as CSV on the screen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", help=<<help>>)
    rows = read(parser.parse_args().file)
    pd.concat([names_of(rows), predict(rows)], axis=1).to_csv(sys.stdout, index=False)


if __name__ == "__main__":
    main()
'''
