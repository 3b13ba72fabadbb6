"""Wrong rules planted in every primitive (its sign, a factor, an argument dropped, ...) are caught by the checks."""

from contextlib import contextmanager, suppress

import numpy as np
import pytest

from ftheta.autodiff import PRIMITIVES, plain
from tests.autodiff._checking import CHECKS, Case
from tests.autodiff._samples import SAMPLES

CASES = {name: [Case(name, sample) for sample in SAMPLES[name].samples] for name in PRIMITIVES}


def caught(names, first=""):
    """Whether a check fails at a sample of one of these primitives; those of one rule come first."""
    try:
        for check in sorted(CHECKS[1:], key=lambda check: not check.__name__.startswith(first)):
            for name in names:
                for case in CASES[name]:
                    check(case)
    except Exception:  # a wrong rule may break anything
        return True
    return False


@contextmanager
def planted(rules):
    """{(name, 'vjp' or 'jvp'): rule} instead of what is there."""
    old = {(name, kind): getattr(PRIMITIVES[name], kind) for name, kind in rules}
    try:
        for (name, kind), rule in rules.items():
            setattr(PRIMITIVES[name], kind, rule)
        yield
    finally:
        for (name, kind), rule in old.items():
            setattr(PRIMITIVES[name], kind, rule)


def parts_of(rule, kind, case):
    """What a rule gives at a case, as arrays of the shapes that they should have; None if it breaks."""
    with suppress(Exception), np.errstate(all="ignore"):
        args, static = case.sample.args, case.sample.static
        if kind == "jvp":
            tangents = [None] * len(args)
            for k, v in zip(case.entry.differentiable, case.v, strict=True):
                tangents[k] = v if np.ndim(v) else np.float64(v)
            dy = rule(tangents, case.y, *args, **static)
            return [
                np.zeros_like(case.y) if dy is None else np.broadcast_to(np.asarray(plain(dy), float), np.shape(case.y))
            ]
        found = rule(case.g if np.ndim(case.g) else np.float64(case.g), case.y, *args, **static)
        parts = [found[k] for k in case.entry.differentiable]
        return [
            np.zeros_like(x) if p is None else np.asarray(plain(p), float) for p, x in zip(parts, case.x, strict=True)
        ]
    return None


def differs(right, wrong, kind, cases):
    """Whether two rules give something else at one of these cases."""
    for case in cases:
        a, b = parts_of(right, kind, case), parts_of(wrong, kind, case)
        if a is None or b is None or any(np.shape(p) != np.shape(q) for p, q in zip(a, b, strict=True)):
            return True
        if any(np.size(p) and np.abs(p - q).max() > 1e-12 * np.abs(p).max() for p, q in zip(a, b, strict=True)):
            return True
    return False


# --- rules wrapped ----------------------------------------------------------------------------------------------------


def rolled(x):
    return np.roll(x, 1, axis=-1) if np.ndim(x) else x + 1.0


def turned(x):
    return np.reshape(np.transpose(x), np.shape(x))


CHANGES = {
    "sign": lambda x: -x,
    "factor 2": lambda x: 2.0 * x,
    "a little too large": lambda x: (1 + 1e-6) * x,
    "zero": lambda x: 0.0 * x,
    "shifted": rolled,
    "transposed": turned,
    "a constant more": lambda x: x + 0.1,
    "the mean for the sum": lambda x: x / 2,
}


def wrapped_vjp(rule, change, only):
    def wrong(g, y, *args, **static):
        found = rule(g, y, *args, **static)
        parts = [found[k] for k in range(len(found))]
        return [change(p) if k == only and p is not None else p for k, p in enumerate(parts)]

    return wrong


def dropped_vjp(rule, only):
    def wrong(g, y, *args, **static):
        found = rule(g, y, *args, **static)
        return [None if k == only else found[k] for k in range(len(found))]

    return wrong


def swapped_vjp(rule):
    def wrong(g, y, *args, **static):
        found = rule(g, y, *args, **static)
        return [found[k] for k in range(len(found))][::-1]

    return wrong


def wrapped_jvp(rule, change):
    def wrong(tangents, y, *args, **static):
        dy = rule(tangents, y, *args, **static)
        return None if dy is None else change(dy)

    return wrong


def dropped_jvp(rule, only):
    return lambda tangents, *rest, **static: rule(
        [None if k == only else t for k, t in enumerate(tangents)], *rest, **static
    )


def wrapped_faults(name):
    """(kind of rule, what is wrong, the wrong rule)"""
    p, places = PRIMITIVES[name], SAMPLES[name].differentiable
    for what, change in CHANGES.items():
        for k in places:
            yield "vjp", f"{what}, argument {k}", wrapped_vjp(p.vjp, change, k)
        yield "jvp", what, wrapped_jvp(p.jvp, change)
    for k in places:
        yield "vjp", f"argument {k} dropped", dropped_vjp(p.vjp, k)
        yield "jvp", f"argument {k} dropped", dropped_jvp(p.jvp, k)
    if len(places) > 1:
        yield "vjp", "arguments swapped", swapped_vjp(p.vjp)


@pytest.mark.parametrize("name", PRIMITIVES)
def test_every_wrapped_rule_is_caught(name):
    real = [
        (kind, what, rule)
        for kind, what, rule in wrapped_faults(name)
        if differs(getattr(PRIMITIVES[name], kind), rule, kind, CASES[name])
    ]
    assert len(real) >= 10  # so many that are no equivalents: over 450 in all
    for kind, what, rule in real:
        with planted({(name, kind): rule}):
            assert caught([name], kind), f"{kind} of {name}: {what}"


def test_the_right_rules_pass_and_stand_again_after_planting():
    before = {name: (p.vjp, p.jvp) for name, p in PRIMITIVES.items()}
    with planted({("exp", "vjp"): lambda *_: None}):
        assert caught(["exp"])
    assert before == {name: (p.vjp, p.jvp) for name, p in PRIMITIVES.items()}
    assert not caught(["exp", "multiply"])
