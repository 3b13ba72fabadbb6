"""`ftheta predict`: a trained run applied to the rows of a file."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import InputError
from ._folders import find_run, settings

if TYPE_CHECKING:
    from ..store import Run

__all__ = ["command"]


@click.command("predict", short_help="Predict with a trained run.")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", help="Write to this CSV file instead of the screen.", type=click.Path(path_type=Path))
@click.option("--encoding", help="Of the characters of FILE; default: as in training.", metavar="NAME")
def command(run: str, file: Path, output: Path | None, encoding: str | None) -> None:
    """Predict each row of FILE, which has the columns that RUN (a folder, an id, or last) was trained on.

    For a run that was trained on pictures, FILE is a picture, whose saliency is drawn too, or a folder of pictures.
    Classes come with their probabilities, numbers with the interval that holds 95 of 100. The target column may be
    missing; other columns and another order do no harm; columns that name the rows are copied.
    """
    if output is not None and output.exists():
        raise InputError(f"--output {output}: the file exists; nothing was changed. Choose another name.")
    found, said = predictions(find_run(run), file, encoding)
    for sentence in said:
        click.echo(sentence if sentence.startswith("drawn:") else f"note: {sentence}", err=True)
    text = found.to_csv(index=False)
    if output is None:
        click.echo(text, nl=False)
        return
    from ..store import write_atomic

    write_atomic(output, text.encode())
    click.echo(f"{output}: {len(found)} predictions", err=True)


def predictions(run: Run, file: Path, encoding: str | None = None) -> tuple[Any, list[str]]:
    """A frame with a row for each row of the file, and what was surprising in them."""
    import pandas as pd

    from ..data import Form, read
    from ..models._files import load
    from ._answers import answer, class_names

    config = settings(run)
    encoder, estimator = load(run.path)
    facts = json.loads(run.read("data.json")) if run.has("data.json") else {}
    pictures = _pictures(encoder, file)
    if pictures is None:
        form = Form(**facts["form"]) if facts.get("form") else None  # one row may not say whether 1.234 is a thousand
        written = encoding or config.get("encoding", "utf-8")
        pictures = {}, read(file, config["target"] or None, required=False, encoding=written, form=form).x, []
    names, given, notes = pictures
    x = encoder.align(given)
    spread = json.loads(run.read("interval.json")) if run.has("interval.json") else None
    found = answer(estimator, encoder.transform(x), spread)
    columns = {**names, **_row_names(encoder, x), "prediction": found.predicted}
    if found.classes is not None:
        names = class_names(found.classes, facts.get("classes", ()))
        columns["prediction"] = [names[found.classes.index(c)] for c in found.predicted.tolist()]
        columns |= {} if found.p is None else {f"p({name})": found.p[:, k] for k, name in enumerate(names)}
    if found.low is not None:
        columns |= {"low": found.low, "high": found.high}
    said = [*notes, *encoder.surprises(x)]
    if file.is_file() and names:
        said.append(_drawn(run, estimator, encoder.transform(x), file))
    if found.classes is None and found.low is None:
        said.append("no intervals: they need a model of the noise, or 19 validation rows and more")
    return pd.DataFrame(columns), said


def _pictures(encoder: Any, file: Path) -> tuple[dict[str, list[str]], Any, list[str]] | None:
    """Names, pixels and notes of one picture or a folder of them; None for other files or other models."""
    from ..data import ImageEncoder, is_picture, open_images, read_picture

    if not isinstance(encoder, ImageEncoder) or not (file.is_dir() or is_picture(file)):
        return None
    channels, *size = encoder.image_
    if file.is_dir():
        found = open_images(file, size=tuple(size), channels=channels, required=False)
        names = [str(path.relative_to(found.x.listing.root)) for path in found.x.paths]
        return {"file": names}, found.x, list(found.notes)
    x, notes = read_picture(file, size, channels)
    return {"file": [file.name]}, x[None], [f"{file.name}: {said}" for said in notes]


def _drawn(run: Run, estimator: Any, x: Any, file: Path) -> str:
    """The picture with its saliency, kept in the run."""
    from ..explain import saliency
    from ..results import svg

    name = f"figures/predicted-{re.sub(r'[^A-Za-z0-9_-]', '-', file.stem)[:60]}.svg"
    with run:
        run.write(name, svg(saliency(estimator, x).figure()))
    return f"drawn: {run.path / name} shows which pixels spoke for it"


def _row_names(encoder: Any, x: Any) -> dict[str, Any]:
    """The columns that training left out as identifiers."""
    plans = getattr(encoder, "plans_", [])
    return {p.name: _whole(x[p.name]) for p in plans if p.kind == "dropped" and "identifier" in p.why}


def _whole(column: Any) -> Any:
    """Numbers without a fraction as whole numbers, as they stood in the file; a missing one is an empty cell."""
    whole = column.dtype.kind == "f" and (column.isna() | (column % 1 == 0)).all() and (column.abs().max() < 2**53)
    return column.astype("Int64" if whole else column.dtype).array
