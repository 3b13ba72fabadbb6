"""The guide says what is so: its code runs, its commands exist, its links lead somewhere, its tables are the code's."""

import contextlib
import importlib.util
import io
import re
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import click
import pytest
import torch
from matplotlib.figure import Figure

from ftheta import catalog, data, likelihoods, measure, nn, optim, studies, train
from ftheta.cli import cli
from ftheta.explain import _registry
from ftheta.models import NeuralClassifier

ROOT = Path(__file__).parents[1]
GUIDE = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [ROOT / "README.md", *GUIDE]
TEXT = {page: page.read_text(encoding="utf-8") for page in PAGES}

DRAWN = "On another processor these numbers differ, because rounding changes random draws:"

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"(?<![\w.])[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def name_of(page):
    return page.relative_to(ROOT).as_posix()


def fences(page):
    """Language, code, number of the first line, and what stands between it and the fence before."""
    text, end = TEXT[page], 0
    for found in FENCE.finditer(text):
        yield found[1], found[2], text.count("\n", 0, found.start(2)), text[end : found.start()]
        end = found.end()


def prose(page):
    """A page without its code."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", TEXT[page]))


# ---- code


def same(said, shown, rel=0.02):
    """Whether two texts agree but for white space, rules of tables, and 2 % of a number."""
    numbers = [[float(n) for n in NUMBER.findall(text)] for text in (said, shown)]
    words = [re.sub(r"-{2,}", "-", " ".join(NUMBER.sub("#", text).split())) for text in (said, shown)]
    return words[0] == words[1] and numbers[0] == pytest.approx(numbers[1], rel=rel)


def test_a_shown_number_may_be_off_by_two_per_cent_and_no_more():
    assert same("loss 1.01 of\n--- a", "loss  1.00 of -- a") and same("x1 [2. 3.]", "x1 [2. 3.]")
    assert not same("loss 1.03", "loss 1.00") and not same("loss 1.0", "gain 1.0") and not same("1 2", "1")


@pytest.mark.parametrize(
    "page", [PAGES[0], *(pytest.param(page, marks=pytest.mark.middle) for page in GUIDE)], ids=name_of
)
def test_its_python_runs_from_top_to_bottom_and_prints_what_it_shows(page, tmp_path, monkeypatch):
    """All blocks of a page share one module; a block of text right below one is what it prints; below DRAWN, nearly."""
    monkeypatch.chdir(tmp_path)
    module = ModuleType(f"page_{page.stem}")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(_registry, "_TABLE", dict(_registry._TABLE))
    with torch.random.fork_rng(devices=[]):
        run(page, module)


def run(page, module):
    said = None
    for language, code, line, before in fences(page):
        if language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as out:
                exec(compile("\n" * line + code, str(page), "exec"), vars(module))
            said = out.getvalue()
        elif language == "text" and said is not None and before.strip() in ("", DRAWN):
            assert same(said, code, 0.5 if before.strip() else 0.02), (
                f"{name_of(page)} line {line} shows\n{code}\nbut it prints\n{said}"
            )
            said = None
        else:
            said = None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is(page):
    assert {language for language, *_ in fences(page)} <= {"python", "console", "text", "toml", "csv"}
    assert TEXT[page].count("```") == 2 * len(list(fences(page)))


# ---- commands


def commands(page):
    blocks = [code for language, code, *_ in fences(page) if language == "console"]
    lines = [line.partition(" #")[0].strip() for code in blocks for line in code.splitlines()]
    parts = [part.strip() for line in lines if line.startswith("ftheta") for part in line.split(";")]
    return [part.split()[1:] for part in parts]


def parse(command, arguments):
    """The command that a line names, with its options as click reads them; an error if it would refuse them."""
    if isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
        inner = command.get_command(click.Context(command), arguments[0])
        assert inner is not None, f"there is no command {arguments[0]!r}"
        return parse(inner, arguments[1:])
    try:
        return command, command.make_context(command.name, list(arguments)).params
    except click.exceptions.Exit:  # --help
        return command, {}


def check_settings(params):
    """Model, data, optimizer and the keys of --set, as the tables of the library know them."""
    if params["resume"] or not params["model"]:
        return
    targets = catalog.card(params["model"]).targets
    known = {f.name for pair in targets for f in fields(catalog.resolve(params["model"], *pair))}
    is_table, is_folder = params["data"].endswith(".csv"), params["data"].endswith("/")
    assert is_table == bool(params["target"]) and (is_table or is_folder or params["data"] in data.names())
    for key in (item.partition("=")[0] for item in params["set"]):
        room, _, name = key.rpartition(".")
        assert name in ({f.name for f in fields(train.Training)} if room == "training" else known), key
    optim.rule(params["optimizer"] or "adam")


@pytest.mark.parametrize("page", [p for p in PAGES if commands(p)], ids=name_of)
def test_its_commands_and_their_options_exist(page):
    for arguments in commands(page):
        command, params = parse(cli, arguments)
        if command.name == "train" and params:
            check_settings(params)


# ---- links


def anchors(page):
    """Names of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text(encoding="utf-8")), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    return re.findall(r"\]\(([^)\s]+)\)", prose(page))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_its_links_lead_somewhere(page):
    for link in links(page):
        if link.startswith("https://"):
            continue
        file, _, place = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.is_file() and target.is_relative_to(ROOT), f"{link}: there is no such file"
        assert not place or place in anchors(target), f"{link}: there is no such heading"


def test_the_index_leads_to_every_page():
    index = ROOT / "docs/index.md"
    assert {(index.parent / link).resolve() for link in links(index) if link.endswith(".md")} >= set(GUIDE) - {index}


@pytest.mark.parametrize("page", GUIDE, ids=name_of)
def test_it_starts_with_its_title_and_lines_are_short_enough_to_read(page):
    assert TEXT[page].startswith("# ") and TEXT[page].endswith("\n") and "\t" not in TEXT[page]
    assert all(len(line) <= 160 for line in TEXT[page].splitlines() if not line.startswith("|"))


# ---- figures


def figures():
    spec = importlib.util.spec_from_file_location("docs_figures", ROOT / "docs/figures.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FIGURES


FIGURES = figures()


def test_every_figure_is_made_by_the_code_and_shown_with_words():
    kept = {path.stem for path in (ROOT / "docs/figures").iterdir()}
    assert kept == set(FIGURES) and len(list((ROOT / "docs/figures").glob("*.svg"))) == len(kept)
    shown = [found for page in GUIDE for found in re.findall(r"!\[([^\]]*)\]\(figures/(.*?)\.svg\)", prose(page))]
    assert {name for _, name in shown} == kept and all(len(words) > 20 for words, _ in shown)


@pytest.mark.middle
@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_drawn_and_labelled(name):
    figure = FIGURES[name]()
    assert isinstance(figure, Figure) and figure.axes
    if all(axes.texts and not axes.axison for axes in figure.axes):  # a drawing: what it shows is written into it
        return
    named = [axes for axes in figure.axes if axes.get_xlabel() or axes.get_title()]
    scaled = [
        axes for axes in figure.axes if axes.axison and axes.spines["left"].get_visible() and len(axes.get_xticks())
    ]
    assert named and (not scaled or any(axes.get_xlabel() or figure.get_supxlabel() for axes in figure.axes))


# ---- tables


def rows(page):
    """Cells of the tables of a page by the code in their first cell."""
    lines = [line.strip("|").split(" | ") for line in TEXT[ROOT / "docs" / page].splitlines() if line.startswith("| `")]
    return {cells[0].strip(" `"): [cell.strip() for cell in cells[1:]] for cells in lines}


def test_the_table_of_optimizers_is_the_codes():
    table = rows("training.md")
    for name, rule in optim.RULES.items():
        assert table[name][:2] == [f"{rule.lr:g}", rule.equation]
        assert ("all rows" in table[name][2]) == rule.full_batch


def test_every_schedule_and_every_knob_of_training_is_on_its_page():
    table = rows("training.md")
    assert set(optim.SCHEDULES) <= set(table)
    for knob in fields(train.Training):
        default = "{}" if knob.name in ("options", "rate_factors", "schedule_options") else str(knob.default)
        assert table[knob.name][0] == f"`{default}`", knob.name


def test_the_table_of_activations_is_the_codes():
    table = rows("layers.md")
    for name, entry in nn.ACTIVATIONS.items():
        said = [f"`{entry.formula}`", f"`{entry.derivative}`", f"`{entry.range}`", entry.init, entry.advice]
        assert table[name] == said
    assert set(nn.SCHEMES) <= set(table)


def test_every_likelihood_and_every_data_set_is_on_its_page():
    table = rows("likelihoods.md")
    classes = {f"`{name}`" for name in (c.__name__ for c in [*likelihoods.NAMES.values(), *likelihoods.TASKS.values()])}
    assert set(likelihoods.NAMES) <= set(table) and classes <= {cells[0] for cells in table.values()}
    table = rows("data.md")
    for name in data.names():
        found = data.info(name)
        assert table[name][:3] == [str(found.rows), str(found.columns), found.task]


def test_every_study_and_every_metric_is_on_its_page():
    table = rows("studies.md")
    assert {name: table[name][0] for name in table if "/" in name} == {
        name: studies.info(name).question for name in studies.names()
    }
    scored = measure.classification([0, 1], [0.2, 0.8]).scores + measure.regression([0, 1], [0, 2]).scores
    text = TEXT[ROOT / "docs/measure.md"]
    assert [s.name for s in scored if f"| {s.name} |" not in text] == []


PAGE = {"LinearRegression": "linear.md", "LogisticRegression": "logistic.md"} | {  # class, or card, to its page
    **dict.fromkeys(("ridge", "lasso", "elastic-net"), "linear.md"),
    **dict.fromkeys(("lda", "qda", "fisher", "gaussian-nb", "discrete-nb", "whitening"), "discriminants.md"),
    "svm": "margins.md",
    **dict.fromkeys(("tree", "forest", "boosting", "adaboost", "xgboost", "lightgbm"), "trees.md"),
    **{"committee": "committees.md", "rbf": "rbf.md"},
    **{"perceptron": "logistic.md", "basis": "basis.md", "mlp": "mlp.md", "module": "module.md"},
    **{"convnet": "convolution.md", "resnet": "residual.md", "unet": "segmentation.md"},
    **{"hopfield": "hopfield.md", "modern-hopfield": "hopfield.md"},
    **dict.fromkeys(("rbm", "dbm", "boltzmann"), "boltzmann.md"),
    **dict.fromkeys(("lstm", "gru", "rnn"), "sequences.md"),
}


@pytest.mark.parametrize("model", catalog.CARDS)
def test_every_parameter_of_a_family_is_on_its_page(model):
    """Those that nets share stand on the page of the perceptron, those of the loop on that of training."""
    for kind, task in catalog.card(model).targets:
        cls = catalog.resolve(model, kind, task)
        page = "forecasting.md" if task == "forecast" else PAGE.get(cls.__name__) or PAGE[model]
        own = rows(page)
        like = catalog.resolve("mlp", "table", task) if page == "module.md" else NeuralClassifier
        net = {"batch_size", "optimizer"} <= {f.name for f in fields(cls)}
        shared = {f.name for f in fields(like)} if net and page != "mlp.md" else ()
        mine = {f.name for f in fields(cls)} - set(shared)
        assert mine <= set(own), mine - set(own)
        for field in fields(cls):
            if field.name in mine and own[field.name][0].startswith("`"):
                assert own[field.name][0].strip("`") == repr(field.default), field.name
