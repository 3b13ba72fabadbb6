"""Slopes of many outputs in all parameters at once, in chunks of a stated memory.

    J_i = ∂f(θ, row i) / ∂θ        K outputs of each of B rows in P parameters: J (B, K, P)

| way | one backward pass for | how |
|---|---|---|
| by_layers | each output, all rows | the slopes of a row in an affine layer a -> W a + b are δ aᵀ and δ |
| by_rows | each output, all rows | `torch.func`: vmap over rows of jacrev |
| of_batch | each output of each row | the graph of the batch, many cotangents at a time |

δ are the slopes in the layer's outputs. The last way serves all, at B times the work. The others need outputs of a row
that depend on that row alone (not so with a batch norm in training), the first also parameters that all belong to
`nn.Linear`, the second no noise; each is tried once at a θ nearby, and taken if a mix of all outputs has the slopes
that the graph of the batch gives it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call, jacrev, vmap
from torch.utils._pytree import tree_map

from ..data.batch import Batch, take
from ..errors import InputError

CHUNK = 2**26  # bytes of slopes that are built at a time: 64 MB
LOOPED = 32  # cotangents up to which one after the other is cheaper
Slopes = tuple[Tensor, Tensor]  # outputs (b, ...), Jacobian (b, K, P)


def no_residuals(objective: nn.Module) -> str:
    """The sentence for an objective that is not a sum of squares."""
    source = getattr(objective, "likelihood", None) or objective
    advice = "Use a Gaussian likelihood of fixed variance, or another optimizer."
    return f"{type(source).__name__} gives no residuals, which this optimizer needs. {advice}"


def at_a_time(parameters: Sequence[Tensor], width: int = 1, rows: int = 0) -> int:
    """How many rows of `width` outputs, or cotangents, fit into `CHUNK`, with the units of a graph of `rows`."""
    numbers = sum(p.numel() + rows * (len(p) if p.ndim else 1) for p in parameters)
    return max(1, CHUNK // (numbers * width * parameters[0].element_size()))


def times_hessian(f: Tensor, parameters: Sequence[Tensor], v: Tensor) -> Tensor:
    """∇²f v for many vectors v: (C, P) -> (C, P)."""
    if not f.requires_grad:
        return torch.zeros_like(v)
    g = torch.autograd.grad(f, parameters, create_graph=True, materialize_grads=True)
    flat = torch.cat([part.flatten() for part in g])
    return _pulled_back(flat, parameters, v) if flat.requires_grad else torch.zeros_like(v)


class Jacobians:
    """Jacobians of `objective(what, batch)`, e.g. of its residuals, in the parameters; `prepare(number of the batch)`
    restores noise and buffers before every evaluation."""

    def __init__(self, objective: nn.Module, parameters: Sequence[Tensor], prepare: Callable[[int], Any]) -> None:
        self.objective, self.parameters, self.prepare = objective, parameters, prepare
        own = {id(p) for p in parameters}
        linear = [module for module in objective.modules() if isinstance(module, nn.Linear)]
        self.layers = [layer for layer in linear if own & {id(p) for p in layer.parameters()}]
        self.ways: dict[str, str] = {}

    def __call__(self, what: str, batches: Sequence[Batch]) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
        """Outputs (m, R), Jacobians (m, R, P) and weights (m,) or None of all rows, tokens or pixels m, in chunks."""
        for micro, batch in enumerate(batches):
            if what not in self.ways:
                self.ways[what] = self._way(what, batch)
            self.prepare(micro)
            start = 0
            for out, jacobian in getattr(self, self.ways[what])(what, batch):
                out = out.unsqueeze(-1) if out.ndim == 1 else out  # (b, ..., R)
                weight = _weight(out, _part(batch, start, start + len(out)))
                yield out.flatten(0, -2), jacobian.reshape(-1, out.shape[-1], jacobian.shape[-1]), weight
                start += len(out)

    def _way(self, what: str, batch: Batch) -> str:
        """The first way that gives what the graph of the batch gives."""
        with _nearby(self.parameters):
            self.prepare(0)
            out = self._graph(what, batch)
            mix = torch.arange(out.numel()).to(out).cos()
            expected = _pulled_back(out, self.parameters, mix.view(1, *out.shape))[0]
            for way in (self.by_layers, self.by_rows) if batch.n > 1 else ():
                self.prepare(0)
                with suppress(RuntimeError, ValueError, TypeError, LookupError, AttributeError):  # noise, batch norms
                    outs, slopes = map(torch.cat, zip(*way(what, batch), strict=True))
                    if _close(outs, out.detach()) and _close(mix @ slopes.flatten(0, 1), expected):
                        return way.__name__
        return "of_batch"

    # ---- the ways

    def by_layers(self, what: str, batch: Batch) -> Iterator[Slopes]:
        """From what goes into and comes out of affine layers."""
        seen: list[tuple[nn.Linear, Tensor, Tensor]] = []
        with _watched(self.layers, seen), torch.enable_grad():
            out = self.objective(what, batch)  # (B, ...)
            sums = out.reshape(batch.n, -1).sum(0).unbind()  # rows are apart: the slope of a sum is that of each row
        outs = [after for _, _, after in seen]
        deltas = [torch.autograd.grad(s, outs, retain_graph=True, materialize_grads=True) for s in sums]
        size = at_a_time(self.parameters, len(sums))
        for rows in (slice(start, start + size) for start in range(0, batch.n, size)):
            parts = [self._columns(seen, each, rows) for each in deltas]
            yield out[rows].detach(), torch.stack(parts, 1) if len(parts) > 1 else parts[0][:, None]

    def _columns(self, seen: Sequence[Any], deltas: Sequence[Tensor], rows: slice) -> Tensor:
        """Slopes in W and b of every layer, in the order of the parameters; those of a layer that is used twice add."""
        slopes: dict[int, Tensor] = {}
        for (layer, a, _), delta in zip(seen, deltas, strict=True):
            a, delta = a[rows], delta[rows]
            flat, bias = a.ndim == 2, delta if a.ndim == 2 else delta.flatten(1, -2).sum(1)
            outer = delta[:, :, None] * a[:, None] if flat else delta.flatten(1, -2).mT @ a.flatten(1, -2)
            for key, value in ((id(layer.weight), outer), (id(layer.bias), bias)):
                slopes[key] = slopes[key] + value if key in slopes else value
        return torch.cat([slopes[id(p)].flatten(1) for p in self.parameters], 1)

    def by_rows(self, what: str, batch: Batch) -> Iterator[Slopes]:
        """Each row on its own, by `torch.func`."""
        names = {id(p): name for name, p in self.objective.named_parameters()}
        theta = {names[id(p)]: p.detach() for p in self.parameters}

        def one(theta: dict[str, Tensor], row: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
            out = functional_call(self.objective, theta, (what, Batch(**tree_map(lambda t: t[None], row))))[0]
            return out, out

        slopes = vmap(jacrev(one, has_aux=True), (None, 0))
        size = at_a_time(self.parameters)
        start, stop = 0, batch.n if batch.n * 32 <= size else 1  # one row shows how wide the outputs are
        while start < batch.n:
            some = _part(batch, start, stop)
            found, out = slopes(theta, {k: v for k, v in some._asdict().items() if v is not None})
            jacobian = torch.cat([found[k].reshape(some.n, out[0].numel(), -1) for k in theta], 2)
            yield out, jacobian
            start, stop = stop, min(batch.n, stop + max(1, size // jacobian.shape[1]))

    def of_batch(self, what: str, batch: Batch) -> Iterator[Slopes]:
        """From the graph of the batch, whatever it is."""
        out = self._graph(what, batch)
        width = out.numel() // len(out)
        size = at_a_time(self.parameters, width, len(out))
        for start in range(0, len(out), size):
            stop = min(start + size, len(out))
            unit = out.new_zeros((stop - start) * width, out.numel())
            unit.diagonal(start * width).fill_(1)
            slopes = _pulled_back(out, self.parameters, unit.view(-1, *out.shape))
            yield out[start:stop].detach(), slopes.view(stop - start, width, -1)

    def _graph(self, what: str, batch: Batch) -> Tensor:
        with torch.enable_grad():
            out = self.objective(what, batch)  # (B, ...)
        if out is None:
            raise InputError(no_residuals(self.objective))
        return out


@contextmanager
def _nearby(parameters: Sequence[Tensor]) -> Iterator[None]:
    """θ moved by a hundredth of its size, then restored."""
    kept = [p.detach().clone() for p in parameters]
    try:
        with torch.no_grad():
            for p in parameters:
                p.add_(torch.arange(p.numel()).to(p).cos().view_as(p), alpha=0.01 * (float(p.abs().mean()) or 1.0))
        yield
    finally:
        with torch.no_grad():
            for p, old in zip(parameters, kept, strict=True):
                p.copy_(old)


def _watched(layers: Sequence[nn.Linear], seen: list[tuple[nn.Linear, Tensor, Tensor]]) -> ExitStack:
    """Note what goes into and comes out of layers; a copy goes on, as what follows may write into it."""

    def note(layer: Any, given: Any, out: Any) -> Tensor:
        seen.append((layer, given[0].detach(), out))
        return out.clone()

    hooks = ExitStack()
    for layer in layers:
        hooks.enter_context(layer.register_forward_hook(note))
    return hooks


def _pulled_back(f: Tensor, parameters: Sequence[Tensor], cotangents: Tensor) -> Tensor:
    """Σ cotangent ∂f/∂θ for many cotangents: (C, ...) -> (C, P)."""
    kept = {"retain_graph": True, "allow_unused": True}
    if len(cotangents) <= LOOPED:
        each = [torch.autograd.grad(f, parameters, c, materialize_grads=True, **kept) for c in cotangents]
        return torch.stack([torch.cat([g.flatten() for g in one]) for one in each])
    found = torch.autograd.grad(f, parameters, cotangents, is_grads_batched=True, **kept)
    flat = [p.new_zeros(len(cotangents), p.numel()) if g is None else g for g, p in zip(found, parameters, strict=True)]
    return torch.cat([g.reshape(len(cotangents), -1) for g in flat], 1)


def _close(found: Tensor, expected: Tensor) -> bool:
    size = expected.abs()
    return bool(((found - expected).abs() <= 1e-3 * size + 1e-5 * size.max()).all())  # NaN is close to nothing


def _part(batch: Batch, start: int, stop: int) -> Batch:
    return batch if stop - start >= batch.n else Batch(*(take(field, slice(start, stop)) for field in batch))


def _weight(out: Tensor, batch: Batch) -> Tensor | None:
    """Weight of each row, token or pixel of outputs (b, ..., R): (m,)."""
    if (w := batch.weight) is None:
        return None
    ones = out.new_ones(out.shape[:-1])
    return (ones * w.to(out.dtype).reshape(w.shape + (1,) * (ones.ndim - w.ndim))).flatten()
