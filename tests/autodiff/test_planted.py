"""Wrong rules planted in every primitive are caught by the checks that the rules pass.

Two kinds: a rule that is wrapped (its sign, a factor, an argument dropped, ...), and one whose own source is changed in
one place (+ for -, a call left out, another axis or constant). A fault that gives what the right rule gives is none.
"""

import ast
import copy
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from types import ModuleType
from unittest.mock import patch

import numpy as np
import pytest

from ftheta.autodiff import PRIMITIVES, plain, primitives
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


# --- rules with another source ----------------------------------------------------------------------------------------

FOLDER = Path(primitives.__file__).parent
SOURCE = {stem: (FOLDER / f"{stem}.py").read_text(encoding="utf-8") for stem in ("_rules", "primitives")}
USES = {  # of the makers of rules: primitives that need all that they do
    "elementwise": ["multiply", "subtract", "clip", "leaky_relu"],
    "unbroadcast": ["add", "where", "broadcast_to", "matmul"],
    "linear_map": ["sum", "pad"],
    "by_argument": ["divide", "matmul"],
    "total_of": ["multiply", "linear"],
    "_Lazy": ["divide", "where"],
}
OTHER = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
OTHER |= {ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq}
NAMES = {"a": "b", "b": "a", "x": "y", "y": "x", "low": "high", "high": "low", "left": "right", "right": "left"}


def changes(node):
    """What else could stand at a place of the source: (what, node)."""
    if isinstance(node, ast.BinOp) and type(node.op) in OTHER:
        yield "operator", ast.BinOp(node.left, OTHER[type(node.op)](), node.right)
    if isinstance(node, ast.BinOp):
        yield "left side alone", node.left
        yield "right side alone", node.right
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OTHER:
        yield "comparison", ast.Compare(node.left, [OTHER[type(node.ops[0])]()], node.comparators)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        yield "sign lost", node.operand
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield "constant", ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
        yield "call left out", node.args[0]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in NAMES:
        yield "another argument", ast.Name(NAMES[node.id], ast.Load())


def places(node, path=()):
    """Every expression below a node, by the way to it."""
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "kink") or (isinstance(node, ast.keyword) and node.arg == "kink"):
            continue
        for i, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.AST):
                step = (*path, (name, i if isinstance(value, list) else None))
                if isinstance(child, ast.expr):
                    yield step, child
                yield from places(child, step)


def replaced(tree, path, new):
    """A copy of a tree with another node at a place."""
    tree = copy.deepcopy(tree)
    node = tree
    for name, i in path[:-1]:
        node = getattr(node, name) if i is None else getattr(node, name)[i]
    name, i = path[-1]
    if i is None:
        setattr(node, name, new)
    else:
        getattr(node, name)[i] = new
    return ast.fix_missing_locations(tree)


def rules(statement):
    """The parts of a statement that rules are made of: decorators, makers, helpers; not what computes a value."""
    if isinstance(statement, ast.FunctionDef):
        shared = statement.name.startswith("_") or statement.name in USES
        return (
            [(("body", i), s) for i, s in enumerate(statement.body)]
            if shared
            else [(("decorator_list", i), d) for i, d in enumerate(statement.decorator_list)]
        )
    if isinstance(statement, ast.ClassDef):
        return [(("body", i), s) for i, s in enumerate(statement.body)]
    return [(("value", None), statement.value)] if isinstance(statement, ast.Assign) else []


def owners(tree):
    """Primitives that each statement has a part in: its own, or those that use a helper, directly or by another."""
    text = {}
    for statement in tree.body:
        names = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
        for name in [statement.name] if hasattr(statement, "name") else names:
            text[name] = {n.id for n in ast.walk(statement) if isinstance(n, ast.Name)}
    helpers = {name for name in text if name.startswith("_")}

    def using(helper):
        users = {name for name, used in text.items() if helper in used and name != helper}
        return users - helpers | {name for user in users & helpers for name in using(user)}

    return {name: sorted(using(name) & set(PRIMITIVES)) if name in helpers else [name] for name in text}


def source_faults():
    """(where, primitives to look at, module, tree)"""
    for stem, source in SOURCE.items():
        tree = ast.parse(source)
        owner = owners(tree) if stem == "primitives" else USES
        for k, statement in enumerate(tree.body):
            mine = [n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            names = [statement.name] if hasattr(statement, "name") else mine
            looked = [p for name in names for p in owner.get(name, []) if p in PRIMITIVES]
            for step, part in rules(statement) if looked else []:
                for path, node in [((), part), *places(part)]:
                    for what, new in changes(node):
                        where = f"{stem}:{node.lineno} {names[0]}: {what} in {ast.unparse(node)}"
                        body = [*tree.body[:k], replaced(statement, (step, *path), new), *tree.body[k + 1 :]]
                        yield where, looked, stem, ast.Module(body, [])


def made_of(stem, tree):
    """The primitives that the library would have with this source; fewer, if it breaks."""
    saved = dict(PRIMITIVES)
    PRIMITIVES.clear()
    with suppress(Exception):
        module = ModuleType(f"ftheta.autodiff.{stem}")
        module.__package__ = "ftheta.autodiff"
        exec(compile(tree, stem, "exec"), module.__dict__)
        if stem == "_rules":
            with patch.dict(sys.modules, {"ftheta.autodiff._rules": module}):
                other = ModuleType("ftheta.autodiff.primitives")
                other.__package__ = "ftheta.autodiff"
                exec(compile(SOURCE["primitives"], "primitives", "exec"), other.__dict__)
    made = dict(PRIMITIVES)
    PRIMITIVES.clear()
    PRIMITIVES.update(saved)
    return made


@pytest.mark.middle
def test_every_change_of_the_source_of_a_rule_is_caught():
    counted, missed = 0, []
    for where, names, stem, tree in source_faults():
        made = made_of(stem, tree)
        if not set(PRIMITIVES) == set(made):
            continue  # it is noticed when the library is imported
        wrong = {(name, kind): getattr(made[name], kind) for name in names for kind in ("vjp", "jvp")}
        real = [(n, k) for (n, k), rule in wrong.items() if differs(getattr(PRIMITIVES[n], k), rule, k, CASES[n])]
        if real:
            counted += 1
            with planted(wrong):
                missed += [] if caught(sorted({n for n, _ in real}), real[0][1]) else [where]
    assert missed == []
    assert counted >= 100
