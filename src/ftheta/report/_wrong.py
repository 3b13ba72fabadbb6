"""The examples that a model got most wrong: the least probability of the true class, or the largest error."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data import Pictures
from ..plots import segmented
from ..results import Table
from ._html import paragraph, picture, table

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["most_wrong"]

ROWS, PICTURES, COLUMNS, MAPS = 10, 24, 12, 6


def most_wrong(test: Mapping[str, Any], rows: Any, shape: Sequence[int] = ()) -> str:
    """A grid of pictures where rows have a shape, maps where each pixel has a class, else a table of the raw rows.

    Args:
        test: rows, y, predicted, p and classes, as in test.safetensors.
        rows: The raw rows, in the same order: a frame, an array or Pictures.
        shape: (H, W) or (H, W, C) of a picture.
    """
    if np.ndim(test["y"]) == 3:
        return _worst_maps(test, rows, shape)
    facts = {"row": test["rows"], "true": test["y"], "predicted": test["predicted"]} | _measure(test)
    facts = {name: np.asarray(column) for name, column in facts.items()}
    worst = np.argsort(-_badness(test), kind="stable")[: PICTURES if shape else ROWS]
    worst = worst[_badness(test)[worst] > 0]
    if not len(worst):
        return paragraph(_counted(test))
    picked = {name: column[worst] for name, column in facts.items()}
    made = _grid(picked, _pixels(rows, worst, shape)) if shape else _table(picked, rows, worst)
    return paragraph(_counted(test)) + made


def _worst_maps(test: Mapping[str, Any], rows: Any, shape: Sequence[int]) -> str:
    """The images with the most wrong pixels, beside the true and the predicted classes.

    Args:
        test: y and predicted (n, H, W), places in classes, as in test.safetensors.
        rows: The raw images, in the same order.
        shape: (H, W) or (H, W, C) of a picture.
    """
    y, predicted = np.asarray(test["y"]), np.asarray(test["predicted"])
    wrong = (y != predicted).mean((1, 2))
    worst = np.argsort(-wrong, kind="stable")[:MAPS]
    at = ", ".join(str(row) for row in np.asarray(test["rows"])[worst])
    said = f"The images with the most wrong pixels, up to {100 * wrong.max():.1f} % of them: rows {at}."
    images = np.moveaxis(_pixels(rows, worst, (*shape, 1)[:3]), -1, 1)
    figure = segmented(images, y[worst], predicted[worst], test["classes"], title="Most wrong images")
    return paragraph(said) + picture(figure, "worst-maps", said)


def _pixels(rows: Any, worst: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """Pictures as they are shown, channels last: of flat rows, or of files, whose channels come first."""
    if isinstance(rows, Pictures):
        return np.moveaxis(np.asarray(rows[worst]), 1, -1).reshape(len(worst), *shape)
    return np.asarray(rows)[worst].reshape(len(worst), *shape)


def _badness(test: Mapping[str, Any]) -> np.ndarray:
    """How wrong each row is, 0 for right: (n,)."""
    if test["classes"] is None:
        return np.abs(_measure(test)["error"]).reshape(len(test["y"]), -1).max(1)
    if test["p"] is None:
        return (np.asarray(test["y"]) != np.asarray(test["predicted"])).astype(float)
    return 1 - _measure(test)["p(true class)"]


def _measure(test: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The error with its sign; or p(true class), 0 where the class was never seen: (n, K) -> (n,)."""
    if test["classes"] is None:
        return {"error": np.asarray(test["predicted"], dtype=float) - np.asarray(test["y"], dtype=float)}
    if test["p"] is None:
        return {}
    place = {str(name): k for k, name in enumerate(test["classes"])}
    at = np.array([place.get(str(name), -1) for name in np.asarray(test["y"])], dtype=int)
    return {"p(true class)": np.where(at < 0, 0.0, np.asarray(test["p"], dtype=float)[np.arange(len(at)), at])}


def _counted(test: Mapping[str, Any]) -> str:
    if test["classes"] is None:
        return "The largest errors first; an error is prediction minus truth."
    wrong, n = int(np.sum(np.asarray(test["y"]) != np.asarray(test["predicted"]))), len(test["y"])
    count = f"{wrong:,} of {n:,} rows were" if wrong else f"None of {n:,} rows was"
    order = "" if test["p"] is None else "; rows whose true class was the least probable come first"
    return f"{count} predicted wrongly{order}."


def _table(facts: Mapping[str, np.ndarray], rows: pd.DataFrame | np.ndarray, worst: np.ndarray) -> str:
    import pandas as pd

    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(np.asarray(rows).reshape(len(rows), -1))
    columns: dict[str, list[Any]] = {name: list(column) for name, column in facts.items()}
    for i, name in enumerate(frame.columns[:COLUMNS]):
        key = f"{name} (column)" if str(name) in columns else str(name)
        columns[key] = _whole([_plain(value) for value in frame.iloc[worst, i]])
    left = frame.shape[1] > COLUMNS
    return table(Table(columns, f"The first {COLUMNS} of {frame.shape[1]:,} columns." if left else ""))


def _plain(value: Any) -> Any:
    missing = value is None or bool(np.all(value != value))
    return None if missing else value if np.isscalar(value) else str(value).removesuffix(" 00:00:00")


def _whole(values: list[Any]) -> list[Any]:
    """Floats as whole numbers where all of a column are."""
    found = [value for value in values if value is not None]
    whole = all(isinstance(value, float) and value.is_integer() for value in found)
    return [None if value is None else int(value) for value in values] if whole else values


def _grid(facts: Mapping[str, np.ndarray], pictures: np.ndarray) -> str:
    items = []
    for k, pixels in enumerate(pictures):
        row, true, predicted, *rest = (str(_short(column[k])) for column in facts.values())
        more = "".join(f"{name} {value}, " for name, value in zip(list(facts)[3:], rest, strict=True))
        said = f"{true} taken for {predicted}" if true != predicted else f"{true}, unsure"
        items.append(
            f'<figure><img alt="Row {row}: {escape(said)}" src="{_png(pixels)}">'
            f"<figcaption><strong>{escape(said)}</strong><br>{escape(more)}row {row}</figcaption></figure>"
        )
    return f'<div class="grid">{"".join(items)}</div>'


def _short(value: Any) -> Any:
    return f"{value:.2g}" if isinstance(value, float) else value


def _png(pixels: np.ndarray) -> str:
    """A picture as a data URI; bytes are 0 to 255, other numbers go from their least to their most."""
    from matplotlib.image import imsave

    values = pixels.astype(float)
    low, high = (0.0, 255.0) if pixels.dtype == np.uint8 else (values.min(), values.max())
    unit = (values - low) / ((high - low) or 1.0)
    unit = unit[..., 0] if unit.ndim == 3 and unit.shape[2] == 1 else unit  # (H, W) or (H, W, 3 or 4)
    stream = io.BytesIO()
    imsave(stream, unit, cmap="gray", vmin=0.0, vmax=1.0, format="png", metadata={"Software": "ftheta"})
    return f"data:image/png;base64,{base64.b64encode(stream.getvalue()).decode()}"
