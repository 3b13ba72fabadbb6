"""`ftheta predict`: a trained run applied to the rows of a file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from ..errors import InputError
from . import _files
from ._folders import find_run
from ._show import clean, csv_text, draw, echo, figures_option

if TYPE_CHECKING:
    from ..store import Run
    from ._answers import Answers

__all__ = ["command"]


@click.command("predict", short_help="Predict with a trained run.")
@click.argument("run")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", help="Write to this CSV file instead of the screen.", type=click.Path(path_type=Path))
@click.option("--encoding", help="Of the characters of FILE; default: as in training.", metavar="NAME")
@click.option("--skip-bad", help="Leave damaged pictures of a folder out.", is_flag=True)
@figures_option
def command(
    run: str, file: Path, output: Path | None, encoding: str | None, skip_bad: bool, figures: Path | None
) -> None:
    """Predict each row of FILE, which has the columns that RUN (a folder, an id, or last) was trained on.

    For a run that was trained on pictures, FILE is a picture or a folder of pictures; --figures draws what was seen in
    a picture. Classes come with their probabilities, numbers with the interval that holds 95 of 100, classes of
    pixels with their shares of the picture. The target column may be missing; other columns and another order do no
    harm; columns that name the rows are copied. RUN is only read. Text that a spreadsheet would run as a formula gets a
    single quote in front.
    """
    if output is not None and output.exists():
        raise InputError(f"--output {output}: the file exists; nothing was changed. Choose another name.")
    found, said = predictions(find_run(run), file, encoding, skip_bad=skip_bad, figures=figures)
    for sentence in said:
        echo(sentence if sentence.startswith("drawn:") else f"note: {sentence}", err=True)
    text = csv_text(found)
    if output is None:
        sys.stdout.write(clean(text) if sys.stdout.isatty() else text)  # a file gets every character as it is
        sys.stdout.flush()
        return
    from ..store import write_atomic

    write_atomic(output, text.encode())
    echo(f"{output}: {len(found)} predictions", err=True)


class Given(NamedTuple):
    """What is to be predicted: rows or pictures, the names of their files, and what was done to them."""

    x: Any
    files: list[str]
    notes: list[str]


def predictions(
    run: Run, file: Path, encoding: str | None = None, *, skip_bad: bool = False, figures: Path | None = None
) -> tuple[Any, list[str]]:
    """A frame with a row for each row of the file, and what was surprising in them."""
    import pandas as pd

    from ..models._files import load
    from ._answers import answer, class_names

    config = _files.settings(run)
    encoder, estimator = load(run.path)
    facts = _files.facts(run)
    if not hasattr(estimator, "predict"):
        raise InputError(
            f"{run.path} is a {type(estimator).__name__}, which predicts nothing. `ftheta sample` draws rows from it, "
            "`ftheta explain` shows its inside."
        )
    given = _pictures(encoder, file, skip_bad) or _rows(encoder, file, encoding, config, facts)
    if figures is not None and not (given.files and file.is_file()):
        raise InputError(f"--figures {figures}: `ftheta predict` draws what was seen in one picture. Leave it out.")
    x = encoder.align(given.x)
    found = answer(estimator, encoder.transform(x), _files.interval(run))
    names = [] if found.classes is None else class_names(found.classes, facts["classes"])
    columns = {"file": given.files} if given.files else {}
    columns |= _row_names(encoder, x) | _answered(found, names)
    said = [*given.notes, *encoder.surprises(x)]
    if figures is not None:
        said.append(_drawn(figures, estimator, encoder.transform(x), found, names, file))
    if found.classes is None and found.low is None and facts["task"] != "store":
        said.append("no intervals: they need a model of the noise, or 19 validation rows and more")
    lost = int((found.predicted == estimator.spurious).sum()) if hasattr(estimator, "spurious") else 0
    if lost:
        said.append(f"{lost} of {len(found.predicted)} rows ended in no stored pattern: {estimator.spurious!r}")
    return pd.DataFrame(columns), said


def _answered(found: Answers, names: list[str]) -> dict[str, Any]:
    """Columns of answers: predictions with probabilities or intervals; of maps the share of each class."""
    if found.classes is None:
        interval = {} if found.low is None else {"low": found.low, "high": found.high}
        return {"prediction": found.predicted} | interval
    if found.predicted.ndim == 3:
        shares = ((found.predicted == c).mean((1, 2)) for c in found.classes)
        return {f"share({name})": share for name, share in zip(names, shares, strict=True)}
    prediction = [names[found.classes.index(c)] for c in found.predicted.tolist()]
    p = {} if found.p is None else {f"p({name})": found.p[:, k] for k, name in enumerate(names)}
    return {"prediction": prediction} | p


def _rows(encoder: Any, file: Path, encoding: str | None, config: dict[str, Any], facts: _files.Facts) -> Given:
    """The rows of a file, read as those of training were."""
    from ..data import Form, ImageEncoder, is_picture, read

    if is_picture(file):
        raise InputError(f"{file} is a picture, and the run was trained on rows of numbers. Give a file like its data.")
    given = facts["form"]  # one row may not say whether 1.234 is a thousand
    form = None if given is None else Form(given["comma"], given["dates"], tuple(given["text"]))
    written = encoding or config.get("encoding", "utf-8")
    found = read(file, config.get("target") or None, required=False, encoding=written, form=form)
    flat = getattr(found.x, "shape", ())[1:] == (encoder.n_features_in_,)
    if isinstance(encoder, ImageEncoder) and found.kind != "image" and not flat:
        raise InputError(f"{file} is a {found.kind}, and the run was trained on images. Give a picture or a folder.")
    return Given(found.x, [], [])


def _pictures(encoder: Any, file: Path, skip_bad: bool) -> Given | None:
    """One picture or a folder of them; None for other files or other models."""
    from ..data import ImageEncoder, is_picture, open_images, read_picture
    from ._data import sound

    folder = file.is_dir() and isinstance(encoder, ImageEncoder)
    if skip_bad and not folder:
        raise InputError("--skip-bad is for a folder of pictures and a run that was trained on images.")
    if not isinstance(encoder, ImageEncoder) or not (folder or is_picture(file)):
        return None
    channels, height, width = encoder.image_
    if folder:
        found = sound(open_images(file, size=(height, width), channels=channels, required=False, skip_bad=skip_bad))
        root = found.x.listing.root
        return Given(found.x, [str(path.relative_to(root)) for path in found.x.paths], list(found.notes))
    x, notes = read_picture(file, (height, width), channels)
    return Given(x[None], [file.name], [f"{file.name}: {said}" for said in notes])


def _drawn(folder: Path, estimator: Any, x: Any, found: Answers, names: list[str], file: Path) -> str:
    """The picture with its saliency, or with the classes of its pixels, in a folder."""
    import numpy as np

    from .. import plots
    from ..explain import saliency

    if found.predicted.ndim == 3:
        places = np.searchsorted(np.asarray(found.classes), found.predicted)
        figure, what = plots.segmented(x, None, places, names, title=file.name), "the class of every pixel"
    else:
        figure, what = saliency(estimator, x).figure(), "which pixels spoke for it"
    return f"drawn: {draw(folder, f'predicted-{file.stem}', figure)} shows {what}"


def _row_names(encoder: Any, x: Any) -> dict[str, Any]:
    """The columns that training left out as identifiers."""
    plans = getattr(encoder, "plans_", [])
    return {p.name: _whole(x[p.name]) for p in plans if p.kind == "dropped" and "identifier" in p.why}


def _whole(column: Any) -> Any:
    """Numbers without a fraction as whole numbers, as they stood in the file; a missing one is an empty cell."""
    whole = column.dtype.kind == "f" and (column.isna() | (column % 1 == 0)).all() and (column.abs().max() < 2**53)
    return column.astype("Int64" if whole else column.dtype).array
