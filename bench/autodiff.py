"""Our reverse mode beside PyTorch's forward and backward, and what a node of the tape costs.

    784-256-64-10, ReLU, cross-entropy, batch 128, one thread, same dtype; a chain v <- 0.999 v + x of scalars

Ours is written in NumPy to be read; both end at the same gradient. Bars: at most 1.5 times the time of PyTorch; 5 µs to
record a node of the chain; 1,000,000 nodes recorded and walked back in 10 s and 1 GB, in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from ftheta import autodiff
from ftheta.autodiff import Node

from ._report import Line, Report
from ._timing import Settings, alternate, ratios, summarise, threads

__all__ = ["chain", "loss", "million", "run"]

WIDTHS, BATCH = (784, 256, 64, 10), 128
ASKED, ASKED_NODE, ASKED_MILLION, ASKED_MB = 1 / 1.5, 5e-6, 10.0, 1000  # PyTorch / ours; s; s; MB
DTYPES = ("float32", "float64")


def network(dtype: str) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Weights and biases layer by layer, rows in [0, 1], classes."""
    rng = np.random.default_rng(0)
    shapes = [shape for a, b in zip(WIDTHS, WIDTHS[1:], strict=False) for shape in ((b, a), (b,))]
    parameters = [(rng.normal(size=s) * (2 / s[-1]) ** 0.5 * (len(s) > 1)).astype(dtype) for s in shapes]
    return parameters, rng.random((BATCH, WIDTHS[0])).astype(dtype), rng.integers(0, WIDTHS[-1], BATCH)


def loss(x: np.ndarray, y: np.ndarray, *parameters: Any) -> Any:
    """Mean cross-entropy of the network, in our primitives."""
    h: Any = x
    for k in range(0, len(parameters), 2):
        h = autodiff.linear(h if k == 0 else autodiff.relu(h), parameters[k], parameters[k + 1])
    return autodiff.mean(autodiff.logsumexp(h, -1) - h[np.arange(len(y)), y])


def contestants(dtype: str) -> dict[str, Callable[[int], Sequence[np.ndarray]]]:
    """Gradients of all parameters, by ours and by PyTorch."""
    parameters, x, y = network(dtype)
    gradient = autodiff.grad(lambda *p: loss(x, y, *p), tuple(range(len(parameters))))
    leaves = [torch.tensor(p, requires_grad=True) for p in parameters]
    rows, classes = torch.from_numpy(x), torch.from_numpy(y)

    def theirs(_: int) -> Sequence[np.ndarray]:
        h = rows
        for k in range(0, len(leaves), 2):
            h = functional.linear(h if k == 0 else h.relu(), leaves[k], leaves[k + 1])
        return [g.numpy() for g in torch.autograd.grad(functional.cross_entropy(h, classes), leaves)]

    return {f"ours, {dtype}": lambda _: gradient(*parameters), f"PyTorch, {dtype}": theirs}


def chain(n: int) -> tuple[float, float]:
    """Seconds to record n scalar nodes, and to walk back."""
    begin = perf_counter()
    x = autodiff.variable(1e-3)
    v: Node = x
    for _ in range(n // 2):
        v = v * 0.999 + x
    recorded = perf_counter()
    autodiff.backward(v)[x]  # noqa: B018
    return recorded - begin, perf_counter() - recorded


def million(n: int) -> tuple[float, float]:
    """Seconds from the first node until all are freed, and the peak of the process in MB, imports included."""
    code = (
        "import json, sys; from time import perf_counter; from bench.autodiff import chain; t = perf_counter(); "
        "chain(int(sys.argv[1])); t = perf_counter() - t; "
        "peak = next(int(s.split()[1]) for s in open('/proc/self/status') if s.startswith('VmHWM')); "
        "print(json.dumps([t, peak * 1024 / 1e6]))"
    )
    root = Path(__file__).parents[1]
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    done = subprocess.run([sys.executable, "-c", code, str(n)], env=env, capture_output=True, text=True, check=True)
    seconds, peak = json.loads(done.stdout)
    return seconds, peak


def run(settings: Settings) -> Report:
    """A gradient in both dtypes, nodes of a chain, and a long chain."""
    report = Report("autodiff", "reverse mode of 784-256-64-10, batch 128", "a gradient, or as named", dtype="both")
    with threads(1):
        for dtype in DTYPES:
            report.lines += _network(dtype, settings, report)
        report.lines += _nodes(settings)
    n = 10_000 if settings.quick else 1_000_000
    seconds, peaks = zip(*(million(n) for _ in range(settings.repetitions)), strict=True)
    peak = max(peaks)
    report.lines.append(Line(f"ours, {n:,} nodes there and back", summarise(seconds), 1, at_most=ASKED_MILLION))
    said = "within" if peak <= ASKED_MB else "OVER"
    report.notes.append(f"Peak of the process of the long chain {peak:.0f} MB, {said} the bound of {ASKED_MB:,} MB.")
    return report


def _network(dtype: str, settings: Settings, report: Report) -> list[Line]:
    runs = contestants(dtype)
    ours, theirs = runs
    apart = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(*(f(0) for f in runs.values()), strict=True))
    report.notes.append(f"Gradients in {dtype} differ by at most {apart:.1e} of the largest entry.")
    times = alternate(runs, settings.repetitions if settings.quick else 20 * settings.repetitions)
    ratio = ratios(times[theirs], times[ours])
    return [
        Line(ours, summarise(times[ours]), 1),
        Line(theirs, summarise(times[theirs]), 1, ratio, at_least=ASKED),
    ]


def _nodes(settings: Settings) -> list[Line]:
    n = 1_000 if settings.quick else 20_000
    chain(n)
    record, back = zip(*(chain(n) for _ in range(settings.repetitions)), strict=True)
    per = 1_000 / n
    return [
        Line("ours, 1,000 nodes recorded", summarise(record).scaled(per), 1, at_most=1_000 * ASKED_NODE),
        Line("ours, 1,000 nodes walked back", summarise(back).scaled(per), 1),
    ]
