"""The family, the kind, the task and the study of CONTRIBUTING.md, run as printed there."""

import doctest
import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.estimator_checks import check_estimator

import ftheta
from ftheta import catalog, jobs, studies
from ftheta.catalog import Card
from ftheta.data import Batch, Dataset
from ftheta.data.kinds import KINDS
from ftheta.draw import Draw
from ftheta.errors import InputTypeError
from ftheta.models import NeuralEstimator
from ftheta.store import Run
from ftheta.studies import _running
from ftheta.tasks import TASKS
from tests.contract import enrolled
from tests.contract import test_estimator as contract

PAGE = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
FAMILY, LINE, KIND, TASK, STUDY = re.findall(r"^```python\n(.*?)^```$", PAGE, flags=re.MULTILINE | re.DOTALL)
DTYPES = ["float32", "float64"]


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """The text as `ftheta.models.denoiser`, with its line in the catalog and its class in the suite."""
    file = tmp_path_factory.mktemp("models") / "denoiser.py"
    file.write_text(FAMILY, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("ftheta.models.denoiser", file)
    module = importlib.util.module_from_spec(spec)
    card = eval(LINE, {"Card": Card})
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        patch.setitem(catalog.CARDS, card.name, card)
        for place, name in ((contract, "NEURAL"), (contract, "TRANSFORMERS"), (enrolled, "WEIGHTED")):
            patch.setattr(place, name, [*getattr(place, name), module.Denoiser])
        yield module


@pytest.fixture(scope="module")
def X():
    """Rows of four columns, wide in two directions and narrow in two, away from the origin."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
    return rng.normal(size=(100, 4)) * [2, 1.4, 0.6, 0.4] @ turn + 1


# ---- what the page promises


def test_the_family_is_one_short_file_and_one_line(family):
    assert len(FAMILY.splitlines()) < 120 and len(LINE.splitlines()) == 1
    assert catalog.resolve("denoiser", "table", "transform") is family.Denoiser
    assert set(family.__all__) <= set(vars(family))


def test_its_example_runs(family):
    runner = doctest.DocTestRunner()
    found = [runner.run(test) for test in doctest.DocTestFinder().find(family.Denoiser)]
    assert sum(result.attempted for result in found) == 2 and not any(result.failed for result in found)


@pytest.mark.middle
@pytest.mark.parametrize("dtype", DTYPES)
def test_it_passes_all_of_scikit_learns_checks(family, dtype):
    found = check_estimator(family.Denoiser(dtype=dtype), on_fail=None, on_skip=None)
    assert len(found) > 40
    assert [(r["check_name"], r["exception"]) for r in found if r["status"] != "passed"] == []


MIXED = pytest.mark.filterwarnings(
    "ignore:X (does not have valid|has) feature names"
)  # frames and arrays are mixed there
CHECKS = [
    pytest.param(c, marks=MIXED if "set_output" in c else ()) for c in contract.EXTRA + contract.EXTRA_OF_TRANSFORMERS
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("check", CHECKS)
def test_it_passes_the_checks_that_scikit_learn_keeps_for_itself(family, check, dtype):
    contract.test_checks_that_scikit_learn_keeps_for_itself(family.Denoiser(dtype=dtype), check)


# ---- the contract of all estimators

PREDICTING = {  # these need a score
    "test_a_callback_goes_through_a_search",
    "test_a_callback_that_predicts_does_not_shift_training",
}
EXACT = {  # these compare losses of two evaluations, whose noise differs: they are asked with sigma=0
    "test_where_rows_do_not_fit_one_batch_the_loss_still_counts_copies",
    "test_the_history_has_training_and_validation",
}


def shared():
    """The tests that every estimator, every variant of one, or every neural estimator takes."""
    kinds = [mark.mark.args for mark in (contract.every, contract.variant, contract.neural)]
    for name, function in vars(contract).items():
        marks = getattr(function, "pytestmark", ()) if name.startswith("test_") else ()
        if any(mark.args in kinds for mark in marks) and name not in PREDICTING:
            yield pytest.param(function, id=name.removeprefix("test_"))


SHARED = list(shared())


@pytest.mark.parametrize("test", SHARED)
def test_it_keeps_the_contract(family, tmp_path, test):
    @dataclass(kw_only=True, eq=False, repr=False)
    class Quiet(family.Denoiser):
        sigma: float = 0.0

    cls = Quiet if test.__name__ in EXACT else family.Denoiser
    first, *more = test.__code__.co_varnames[: test.__code__.co_argcount]
    for i, given in enumerate([cls] if first == "cls" else [cls(dtype=dtype) for dtype in DTYPES]):
        test(given, **({"tmp_path": tmp_path / str(i)} if more else {}))


# ---- its own truths


def test_the_loss_of_a_row_is_its_squared_distance_from_the_clean_row(family):
    """A net that gives zeros leaves ‖x‖²; one that gives back what it saw leaves ‖σ ε‖², so the target is not noisy."""
    x, weight = torch.tensor([[3.0, 4.0], [0.0, 1.0]]), torch.tensor([1.0, 10.0])
    net = family.DenoiserNet(2, 1, ())
    for p in net.parameters():
        torch.nn.init.zeros_(p)
    loss = family.Denoising(net, 0.5).loss("loss", Batch(x, weight=weight), Draw(0))
    assert loss.total.item() == pytest.approx(25 + 10) and float(loss.weight) == 11
    through = family.Denoising(torch.nn.Identity(), 0.5).loss("loss", Batch(torch.zeros(20_000, 2)), Draw(0))
    assert through.total.item() / through.weight == pytest.approx(2 * 0.5**2, rel=0.05)


def test_a_linear_code_without_noise_reaches_the_error_of_pca(family, X):
    """No affine map through two numbers does better than the first two principal components."""
    pca = PCA(2).fit(X)
    least = ((X - pca.inverse_transform(pca.transform(X))) ** 2).sum(1).mean()
    linear = {"n_code": 2, "hidden": (), "sigma": 0.0, "optimizer": "lbfgs", "dtype": "float64"}
    model = family.Denoiser(**linear, epochs=20, random_state=0).fit(X)
    assert least * (1 - 1e-9) < model.evaluate(X)["loss"] < least * (1 + 1e-6)
    assert ((X - X.mean(0)) ** 2).sum(1).mean() > 5 * least  # there was something to learn
    np.testing.assert_allclose(model.clean(X), pca.inverse_transform(pca.transform(X)), atol=1e-2)


# ---- the kind and the task, in one small family


def loaded(patch, folder, name, text):
    """The text as a module of this name."""
    file = folder / f"{name.rpartition('.')[2]}.py"
    file.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location(name, file)
    module = importlib.util.module_from_spec(spec)
    patch.setitem(sys.modules, name, module)
    spec.loader.exec_module(module)
    return module


def reviews():
    """Documents of 5 to 9 words, of which the words of their grade are the more frequent ones."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    words = np.array(["awful", "plain", "great"])
    p = np.where(np.arange(3) == y[:, None], 0.9, 0.05)
    x = [list(map(str, rng.choice(words, rng.integers(5, 10), p=row))) for row in p]
    return Dataset("reviews", x, np.array(["C", "B", "A"])[y], (), ("A", "B", "C"), "grade", kind="bags")


@dataclass(kw_only=True, eq=False, repr=False)
class Grader(NeuralEstimator):
    """A linear model of counts of words."""

    def kind(self):
        return sys.modules["ftheta.data.kinds.bags"].Bags(n_words=50)

    def task(self):
        return sys.modules["ftheta.tasks.grade"].Grade()

    def build(self, x, y):
        return torch.nn.Linear(x.shape[0], y.n)

    @property
    def classes_(self):
        return self.target_.facts["classes"]

    def predict(self, X):
        return self.task().decode(self.apply(self.raw, X), self.target_)


@pytest.fixture
def grader(tmp_path, monkeypatch):
    """Both texts as modules, in their tables, with a family and a data set that use them."""
    monkeypatch.chdir(tmp_path)
    kind = loaded(monkeypatch, tmp_path, "ftheta.data.kinds.bags", KIND)
    task = loaded(monkeypatch, tmp_path, "ftheta.tasks.grade", TASK)
    monkeypatch.setitem(KINDS, "bags", kind.Bags)
    monkeypatch.setitem(TASKS, "grade", task.Grade)
    card = Card("grader", {("bags", "grade"): f"{__name__}:Grader"}, "Grades of documents.")
    data = catalog.DataCard("reviews", f"{__name__}:reviews", "bags", 90, 1, "grade", "synthetic")
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__, sys.modules[Grader.__module__]))
    remove = catalog.register(card, data)
    yield
    remove()


def test_a_kind_and_a_task_take_40_lines_each():
    assert len(KIND.splitlines()) <= 40 and len(TASK.splitlines()) <= 40


def test_the_kind_counts_words_of_the_training_documents(grader):
    x = reviews().x
    rows = Grader().kind().check(x, Grader())
    counts = CountVectorizer(analyzer=list, vocabulary=rows.spec.facts["words"].tolist()).fit_transform(x).toarray()
    assert np.array_equal(rows.values, counts) and set(rows.spec.facts["words"]) == {"awful", "plain", "great"}
    assert Grader().kind().check([["new", "great"]], Grader(), rows.spec).values.sum() == 1
    with pytest.raises(InputTypeError, match="Grader takes a list of lists of words"):
        Grader().fit(["a text"], ["A"])


def test_a_family_of_the_kind_and_the_task_learns_is_saved_and_trained_by_jobs(grader):
    data = reviews()
    model = Grader(epochs=150, lr=0.05, random_state=0).fit(data.x, data.y)
    assert (model.predict(data.x) == data.y).mean() > 0.9 and list(model.classes_) == ["A", "B", "C"]
    assert np.array_equal(ftheta.load(model.save("saved")).predict(data.x), model.predict(data.x))
    trained = jobs.train("grader", "reviews", epochs=150, lr=0.05, run="r")
    assert trained.result.columns["metric"][0] == "accuracy" and float(trained.result.columns["value"][0]) > 0.8
    assert Path("r/report.html").is_file() and jobs.open("r").task == trained.task


# ---- the study


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """The text as `ftheta.studies.evidence.moments`."""
    file = tmp_path_factory.mktemp("evidence") / "moments.py"
    file.write_text(STUDY, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("ftheta.studies.evidence.moments", file)
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, spec.name, module)
        spec.loader.exec_module(module)
        patch.setattr(_running, "load", lambda name: {"study": module.study})
        yield module.study


def test_the_study_is_measured_judged_drawn_and_not_measured_again(study, tmp_path):
    outcome = studies.run("evidence/moments", tiny=True, folder=tmp_path / "run")
    assert [finding.row for finding in outcome.findings] == ["C132"] and not outcome.cached
    assert studies.run("evidence/moments", tiny=True, folder=tmp_path / "run").cached
    assert (tmp_path / "run/figures/study-ratio.svg").is_file() and Run(tmp_path / "run").verify() == []


@pytest.mark.parametrize(("ratio", "verdict"), [(4.0, "right"), (1.0, "wrong"), (2.0, "loose")])
def test_its_checks_tell_four_from_one(study, ratio, verdict):
    made = studies.Measured({"ratio": ratio + 0.01 * np.arange(-3, 3) * np.ones((2, 1))}, {"inputs": (20, 100)})
    assert [finding.verdict for finding in study.judge(made)] == [verdict]


def test_its_full_run_finds_the_source_right(study):
    assert [finding.verdict for finding in study.judge(study.run())] == ["right"]
