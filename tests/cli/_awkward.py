"""Twelve awkward CSV files, made: each as people have them, with a target that can be learned from the rest.

Every file is a function of a seed and of its number of rows; what makes it awkward is in its docstring.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np


class Awkward(NamedTuple):
    """A file: how it is made, what is to be predicted, and how it is written."""

    make: Callable[[np.random.Generator, int], dict[str, Any]]
    target: str
    rows: int
    mark: str = ","
    start: str = ""
    comma: bool = False


def _holes(rng: np.random.Generator, cells: Any, share: float, word: str = "") -> list[str]:
    return [word if gone else str(cell) for cell, gone in zip(cells, rng.random(len(cells)) < share, strict=True)]


def _choice(rng: np.random.Generator, words: str, n: int, p: Sequence[float] | None = None) -> np.ndarray:
    return rng.choice(words.split(), n, p=p)


def _chance(rng: np.random.Generator, score: np.ndarray) -> np.ndarray:
    """True with probability σ(score)."""
    return rng.random(len(score)) < 1 / (1 + np.exp(-score))


def homes(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Text and missing cells."""
    size, year, town = rng.uniform(30, 220, n), rng.integers(1900, 2024, n), _choice(rng, "Bonn Kiel Ulm Jena", n)
    worth = 1.5 * size * np.where(town == "Bonn", 1.4, np.where(town == "Kiel", 1.1, 0.9)) + 0.4 * (year - 1900)
    price = worth + rng.normal(0, 12, n)
    return {
        "size": _holes(rng, size.round(1), 0.05),
        "year": _holes(rng, year, 0.1, "NA"),
        "town": _holes(rng, town, 0.03),
        "garden": _choice(rng, "yes no", n),
        "price": price.round(1),
    }


def energy(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Semicolons, a byte-order mark, decimal commas and points for thousands."""
    outside, area, kind = rng.normal(8, 8, n), rng.uniform(40, 4000, n), _choice(rng, "Büro Wohnung Schule", n)
    need = np.maximum(20 - outside, 0) * area**0.8 / 50 * np.where(kind == "Büro", 0.8, 1.0)
    return {
        "Außentemperatur": outside.round(2),
        "Fläche": area.round(2),
        "Gebäude": kind,
        "Verbrauch": (need + rng.normal(0, 8, n)).round(2),
    }


def passengers(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """A name in every row, cabins that are mostly missing, tickets of mixed text."""
    sex, deck, age = _choice(rng, "female male", n), rng.integers(1, 4, n), rng.gamma(4, 8, n)
    score = 1.2 + 2.2 * (sex == "female") - 1.1 * (deck - 1) - 0.03 * age
    return {
        "PassengerId": np.arange(1, n + 1),
        "Name": [f'"Person{i}, {s[0].upper()}."' for i, s in enumerate(sex)],
        "Pclass": deck,
        "Sex": sex,
        "Age": _holes(rng, age.round(0), 0.2),
        "Cabin": _holes(rng, [f"{'ABC'[d - 1]}{rng.integers(99)}" for d in deck], 0.78),
        "Embarked": _choice(rng, "S C Q", n, [0.7, 0.2, 0.1]),
        "Survived": np.where(_chance(rng, score), "yes", "no"),
    }


def nations(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Thirty countries as text, holes in every column, a column without a name that numbers the rows."""
    base = rng.normal(0, 4, 30)
    land, year, income = rng.integers(30, size=n), rng.integers(2000, 2020, n), rng.lognormal(9, 1, n)
    life = 40 + 3.2 * np.log(income) + base[land] + 0.15 * (year - 2000) + rng.normal(0, 1.5, n)
    return {
        "": np.arange(n),
        "country": [f"Land{k:02d}" for k in land],
        "year": year,
        "income": _holes(rng, income.round(0), 0.05),
        "schooling": _holes(rng, (np.log(income) + rng.normal(0, 0.5, n)).round(1), 0.08),
        "life expectancy": life.round(1),
    }


def hearts(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Question marks for missing cells, text that codes an order, blanks around cells."""
    age, rate, pain = rng.normal(55, 9, n), rng.normal(150, 20, n), _choice(rng, "none mild strong", n)
    score = 0.07 * (age - 55) - 0.04 * (rate - 150) + np.select([pain == "mild", pain == "strong"], [0.8, 2.2], -1.0)
    return {
        "age": age.round(0),
        "max rate": _holes(rng, rate.round(0), 0.06, "?"),
        "pain": [f" {p} " for p in pain],
        "smoker": _holes(rng, _choice(rng, "0 1", n), 0.1, "?"),
        "risk": np.where(_chance(rng, score), "high", "low"),
    }


def sales(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Dates; the target depends on season and weekday."""
    days = rng.integers(0, 1095, n)
    dates = np.datetime64("2021-01-01") + days.astype("timedelta64[D]")
    weekday = (days + 4) % 7  # 2021-01-01 was a Friday
    amount = 100 + 30 * np.sin(2 * np.pi * days / 365.25) + 25 * (weekday >= 5) + 0.02 * days
    store = _choice(rng, "north south", n)
    return {
        "date": dates.astype(str),
        "store": store,
        "discount": rng.choice([0, 5, 10], n),
        "sold": (amount + 10 * (store == "north") + rng.normal(0, 6, n)).round(0),
    }


def genes(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Two thousand columns for three hundred rows."""
    factors = rng.normal(size=(n, 8))
    x = factors @ rng.normal(size=(8, 2000)) + rng.normal(size=(n, 2000))
    tissue = np.array(["liver", "heart", "lung"])[np.argmax(factors[:, :3] + 0.2 * rng.normal(size=(n, 3)), axis=1)]
    return {**{f"g{j}": x[:, j].round(3) for j in range(2000)}, "tissue": tissue}


def orders(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Tabs, money with thousands, an order number, per cents."""
    value, items, rebate = rng.lognormal(6.5, 0.8, n), rng.integers(1, 9, n), rng.choice([0, 5, 10, 20], n)
    cost = 4 + 2.5 * items + 0.01 * value * (1 - rebate / 100) + rng.normal(0, 1.0, n)
    return {
        "order_id": rng.permutation(10_000_000)[:n],
        "value": [f"${v:,.2f}" for v in value],
        "items": items,
        "rebate": [f"{r}%" for r in rebate],
        "postage": cost.round(2),
    }


def survey(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Only text: ordered answers, rare ones, 'None' among the classes."""
    scale = np.array(["strongly disagree", "disagree", "neutral", "agree", "strongly agree"])
    mood = rng.normal(size=(n, 2))
    answers = {
        f"q{j}": scale[np.clip((2 + 1.3 * mood[:, j % 2] + rng.normal(0, 0.6, n)).round(), 0, 4).astype(int)]
        for j in range(8)
    }
    kind = np.array(["None", "basic", "plus", "pro"])[2 * (mood[:, 0] > 0) + (mood[:, 1] > 0)]
    rare = np.where(rng.random(n) < 0.02, "other", _choice(rng, "web phone", n))
    return {**answers, "channel": _holes(rng, rare, 0.05, "n/a"), "plan": kind}


def sensors(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Words among numbers, wild values, a constant and a column that is twice there."""
    state = rng.integers(3, size=n)
    level = rng.standard_t(3, n) * 0.7 + np.array([0.0, 2.5, 5.0])[state]
    hum = np.exp(rng.normal(0, 0.6, n) + np.array([0.0, 0.0, 1.2])[state])
    return {
        "level": ["error" if rng.random() < 0.02 else f"{v:.3f}" for v in level],
        "hum": hum.round(4),
        "unit": ["mV"] * n,
        "gain": [14.62] * n,
        "temp": (20 + 3 * (state == 1) + rng.normal(0, 2, n)).round(2),
        "state": np.array(["idle", "run", "alarm"])[state],
    }


def tickets(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Bars, quotes, free text with bars and line ends inside, truth values, the same name twice."""
    urgent, words, hours = rng.random(n) < 0.4, rng.integers(3, 60, n), rng.gamma(2, 10, n)
    score = -1.5 + 2.0 * urgent + 0.05 * hours - 0.02 * words
    return {
        "text": [f'"ticket {i} | about\n{w} words, or so"' for i, w in enumerate(words)],
        "words": words,
        "urgent": urgent,
        "hours": _holes(rng, hours.round(1), 0.05, "-"),
        "escalated": np.where(_chance(rng, score), "TRUE", "FALSE"),
    }


def loans(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """One class in eight, dates of another kind, mostly empty columns, rows without a target."""
    income, debt = rng.lognormal(3.5, 0.5, n), rng.beta(2, 5, n)
    since = np.datetime64("2000-01-01") + rng.integers(0, 8000, n).astype("timedelta64[D]")
    late = _chance(rng, -4.5 + 7 * debt - 0.02 * (income - 40))
    return {
        "income": _holes(rng, income.round(2), 0.1),
        "debt share": debt.round(3),
        "since": [f"{d[8:10]}.{d[5:7]}.{d[:4]}" for d in since.astype(str)],
        "comment": _holes(rng, _choice(rng, "call letter", n), 0.9),
        "empty": [""] * n,
        "late": _holes(rng, np.where(late, "late", "paid"), 0.02),
    }


FILES: dict[str, Awkward] = {
    "homes": Awkward(homes, "price", 500),
    "energy": Awkward(energy, "Verbrauch", 500, ";", "\ufeff", comma=True),
    "passengers": Awkward(passengers, "Survived", 700),
    "nations": Awkward(nations, "life expectancy", 700),
    "hearts": Awkward(hearts, "risk", 500),
    "sales": Awkward(sales, "sold", 700),
    "genes": Awkward(genes, "tissue", 300),
    "orders": Awkward(orders, "postage", 500, "\t"),
    "survey": Awkward(survey, "plan", 500),
    "sensors": Awkward(sensors, "state", 500),
    "tickets": Awkward(tickets, "escalated", 500, "|"),
    "loans": Awkward(loans, "late", 800),
}


def content(name: str, seed: int = 0, rows: int | None = None) -> bytes:
    """The bytes of a file."""
    file = FILES[name]
    columns = file.make(np.random.default_rng([seed, *map(ord, name)]), rows or file.rows)
    written = [[_cell(cell, file.comma) for cell in cells] for cells in columns.values()]
    lines = [file.mark.join(columns), *(file.mark.join(row) for row in zip(*written, strict=True))]
    return (file.start + "\n".join(lines) + "\n").encode()


def _cell(cell: Any, comma: bool) -> str:
    """A number as its language writes it: 1234.5 or 1.234,5."""
    if comma and isinstance(cell, float | np.floating):
        return f"{cell:,.2f}".translate(str.maketrans(",.", ".,"))
    return str(cell)
