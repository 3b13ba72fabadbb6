"""A trained net in plain PyTorch: predict the rows of a file, or train a new net of the same kind.

    python model.py new.csv > predictions.csv

Beside this file lie encoder.json (how each column becomes numbers) and model.safetensors (the weights).
Shapes: n rows, D numbers that the net takes, K classes.
"""

import argparse
import json
import sys
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file
from torch import Tensor, nn
from torch.distributions import Bernoulli, Categorical, Laplace, Normal, Poisson
from torch.nn.functional import softplus

from .cells import MISSING, PLAIN, date, days_of, different_names, number, numbers, places

ABOUT = ""  # which model this is, and what it was trained on
TARGET = ""  # the column that is predicted
CLASSES = []  # their names; none: a number is predicted
LIKELIHOOD = "Gaussian"  # of the target, see `density`
UNITS = [0.0, 1.0]  # mean and scale of y: the net predicts (y - mean) / scale
HALF_WIDTH = None  # of the interval that holds 95 of 100 numbers, where the likelihood has none
DTYPE = "float32"  # of the net
ENCODING = "utf-8-sig"  # of the characters of CSV files

HERE = Path(__file__).parent
# ---- the net


def new_net() -> nn.Sequential:
    """The net, before training."""
    net = nn.Sequential(OrderedDict(output=nn.Linear(1, 1)))
    if LIKELIHOOD == "LearnedGaussian":
        net.register_parameter("log_var", nn.Parameter(torch.zeros(1)))
    return net.to(getattr(torch, DTYPE))


class Function(nn.Module):
    """An activation that torch has no layer for."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def forward(self, z: Tensor) -> Tensor:
        if self.name == "sin":
            return z.sin()
        if self.name == "bump":
            return (-z.square()).exp()
        return torch.sign(torch.sign(z) - 0.5) if self.name == "sign" else torch.relu(torch.sign(z))  # or "step"


def density(net: nn.Module, x: Tensor) -> Any:
    """p(y | x) of each row as a torch.distributions object; y in the units of the net."""
    raw = net(x)
    if LIKELIHOOD == "Categorical":
        return Categorical(logits=raw)
    if LIKELIHOOD == "Bernoulli":
        return Bernoulli(logits=raw[:, 0])
    if LIKELIHOOD == "Poisson":
        return Poisson(softplus(raw[:, 0], threshold=40).clamp(min=1e-37))
    if LIKELIHOOD == "Laplace":
        return Laplace(raw[:, 0], 1.0)
    if LIKELIHOOD == "LearnedGaussian":
        return Normal(raw[:, 0], (net.get_parameter("log_var").exp() + 1e-6).sqrt())
    if LIKELIHOOD == "HeteroscedasticGaussian":
        return Normal(raw[:, 0], (softplus(raw[:, 1], threshold=40) + 1e-6).sqrt())
    return Normal(raw[:, 0], 1.0)


@torch.no_grad()
def predict(rows: Any) -> pd.DataFrame:
    """The class of each row and the probabilities of all classes, or a number and its interval."""
    net, weights = new_net(), load_file(HERE / "model.safetensors")
    width = {name: weights.pop(name) for name in ("width.weight", "width.bias") if name in weights}
    net.load_state_dict(weights)
    x = encode(rows)
    found = density(net.eval(), x)
    if not CLASSES:
        return pd.DataFrame({"prediction": in_units(found.mean), **interval(found, x, **width)})
    raw = found.logits.double()
    p = raw.softmax(1) if raw.ndim == 2 else torch.stack((-raw, raw), 1).sigmoid()  # (n, K)
    answers = {"prediction": [CLASSES[k] for k in p.argmax(1).tolist()]}
    return pd.DataFrame(answers | {f"p({name})": p[:, k].numpy() for k, name in enumerate(CLASSES)})


def interval(found: Any, x: Tensor, **width: Tensor) -> dict[str, np.ndarray]:
    """Ends of the interval that holds 95 of 100 numbers, if it is known: (n,) each."""
    levels = [found.mean.new_tensor(q) for q in (0.025, 0.975)]
    middle = in_units(found.mean).astype(float)
    if LIKELIHOOD == "Poisson":
        from scipy.stats import poisson

        low, high = (poisson.ppf(q.item(), found.rate) for q in levels)
    elif LIKELIHOOD in ("LearnedGaussian", "HeteroscedasticGaussian"):
        low, high = (in_units(found.icdf(q)) for q in levels)
    elif width:  # of least squares: the error of the plane grows with the distance from the training rows
        half = (x @ width["width.weight"].T + width["width.bias"]).norm(dim=1).numpy()
        low, high = middle - half, middle + half
    elif HALF_WIDTH is not None:
        low, high = middle - HALF_WIDTH, middle + HALF_WIDTH
    else:
        return {}
    return {"low": low, "high": high}


def in_units(z: Tensor) -> np.ndarray:
    """What the net predicts in the units of y."""
    return (z.double() * UNITS[1] + UNITS[0]).to(z.dtype).numpy()


# ---- training


def train(rows: Any, y: Sequence[Any], epochs: int = 100, batch: int = 200, lr: float = 1e-3) -> nn.Module:
    """A new net of the same kind, trained by Adam on rows and their y; classes by their names."""
    x, net = encode(rows), new_net()
    known = {name: k for k, name in enumerate(CLASSES)}
    wanted = [known[str(name)] for name in y] if CLASSES else (np.asarray(y, float) - UNITS[0]) / UNITS[1]
    target = torch.as_tensor(wanted, dtype=torch.long if LIKELIHOOD == "Categorical" else x.dtype)
    optimizer = torch.optim.Adam(net.parameters(), lr=lr)
    for _ in range(epochs):
        for part in torch.randperm(len(x)).split(batch):
            optimizer.zero_grad()
            loss = -density(net, x[part]).log_prob(target[part]).mean()
            loss.backward()
            optimizer.step()
    return net.eval()


# ---- encoding: each column as one or more columns of numbers, as encoder.json says


def encode(rows: Any) -> Tensor:
    """The rows of a frame, or images, as the net takes them: (n, D)."""
    plan, dtype = json.loads((HERE / "encoder.json").read_text(encoding="utf-8")), getattr(torch, DTYPE)
    if plan["encoder"] == "array":
        x = np.asarray(rows).reshape(len(rows), -1)
        if x.shape[1] != plan["n"]:
            raise ValueError(f"The images have {x.shape[1]} values each; the net was trained with {plan['n']}.")
        return torch.tensor((x - np.array(plan["shift"])) / np.array(plan["scale"]), dtype=dtype)
    used = [column for column in plan["columns"] if column["kind"] != "dropped"]
    lacking = [column["name"] for column in used if column["name"] not in rows]
    if lacking:
        raise ValueError(f"Column {lacking[0]!r} is missing; the net was trained with it.")
    blocks = [encode_column(rows[column["name"]], plan["comma"], **column) for column in used]
    return torch.tensor(np.concatenate(blocks, axis=1), dtype=dtype)


def encode_column(column: pd.Series, comma: bool, *, kind: str, name: str, format: str = "", **plan: Any) -> np.ndarray:
    """A column of text as its plan says; the work is done once for each different cell."""
    cells = column.map(lambda cell: " ".join(str(cell).split()))
    codes, names = pd.factorize(cells.mask(cells.isin(MISSING)))  # -1 where a cell is missing
    if kind == "levels":
        words = {"true": "True", "TRUE": "True", "false": "False", "FALSE": "False"}
        width = len(plan["levels"]) + bool(plan["rare"]) + plan["missing"]
        return np.eye(width + 1)[places([*(words.get(n, n) for n in names), None], **plan)[codes], :width]
    if kind == "date":
        stamps = pd.to_datetime(pd.Series(names, dtype=object), format=format or "mixed", errors="coerce", utc=True)
        days = np.append(days_of(stamps.dt.tz_localize(None)), np.nan)[codes]
        return date(days, plan["mean"], plan["scale"], plan["circles"], plan["missing"])
    values = np.append(numbers(names.tolist(), comma=comma)[0], np.nan)[codes]
    if np.isinf(values).any():
        raise ValueError(f"Column {name!r} holds an infinite number.")
    return number(values, plan["mean"], plan["scale"], plan["missing"], plan.get("ends"))


# ---- files


def read(path: str | Path) -> Any:
    """The rows of a CSV file as text, or the images of an NPY file or of the array X, x, data or images of an NPZ."""
    if Path(path).suffix in (".npy", ".npz"):
        found = np.load(path)
        names = ("X", "x", "data", "images")
        return found if isinstance(found, np.ndarray) else next(found[name] for name in names if name in found)
    with open(path, encoding=ENCODING, newline="") as file:
        first = next(line for line in file if line.strip())
    stated = first[:4].lower() == "sep="  # as Excel writes it
    mark = first[4] if stated else max(",;\t|", key=first.count)
    options: Any = {"sep": mark, "dtype": str, "keep_default_na": False, "encoding": ENCODING}
    cells = pd.read_csv(path, header=None, skiprows=int(stated), **options)
    rows = cells.iloc[1:].reset_index(drop=True)
    rows.columns = pd.Index(different_names(cells.iloc[0]))
    return rows


def main() -> None:
    """Predictions for the rows of a file, as CSV; columns that name the rows are copied."""
    parser = argparse.ArgumentParser(description=ABOUT)
    parser.add_argument("file", help="a CSV, NPY or NPZ file with the inputs of training")
    rows = read(parser.parse_args().file)
    plan = json.loads((HERE / "encoder.json").read_text(encoding="utf-8"))
    names = [c["name"] for c in plan.get("columns", ()) if "identifier" in c.get("why", "")]
    named = rows.reindex(columns=names) if names else pd.DataFrame(index=range(len(rows)))
    found = pd.concat([named, predict(rows)], axis=1).map(inert)
    found.to_csv(sys.stdout, index=False, header=[inert(str(name)) for name in found], lineterminator="\n")


def inert(cell: Any) -> Any:
    """The cell; a quote is put before text that a spreadsheet would run as a formula."""
    formula = isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not PLAIN.fullmatch(cell)
    return f"'{cell}" if formula else cell


if __name__ == "__main__":
    main()
