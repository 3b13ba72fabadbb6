"""Studies: a function over a grid and seeds, measured once, kept cell by cell, judged by checks, recorded."""

import ast
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from ftheta.errors import InputError, RunError
from ftheta.store import Run
from ftheta.studies import Check, Study, _running, holds, ledger, less, missing, more, near, record, run, same
from ftheta.studies import verdict as verdict_of
from ftheta.studies._grid import Measured
from ftheta.studies._running import fingerprint, info, load, names

VERDICTS = {"right", "loose", "wrong", "incomplete", "undecided"}
STOP, CALLS = [], []
STUDIES = Path(_running.__file__).parent


def helper(x):
    return x


def squares(seed, rule, size, *, scale=1.0):
    """A docstring."""
    if STOP == [rule, size, seed]:
        raise KeyboardInterrupt
    CALLS.append((rule, size, seed))
    return {"square": scale * size**2 + seed * (rule == "b"), "curve": np.full(4, helper(size))}


@pytest.fixture
def toy(monkeypatch, tmp_path):
    study = Study(squares, {"rule": ("a", "b"), "size": (1, 2, 3)}, seeds=3, tiny={"seeds": 2, "size": (1,)})

    @study.claim("A004", says="b is larger", reference=1.0)
    def larger(m):
        yield more("b is larger", m.at("square", rule="b").mean(0), m.at("square", rule="a").mean(0))

    monkeypatch.setattr(_running, "load", lambda name: {"study": study})
    monkeypatch.setattr(_running, "svg", lambda figure: "<svg/>")
    monkeypatch.chdir(tmp_path)
    STOP.clear(), CALLS.clear()
    return study


# ---- checks


def test_more_is_the_paired_t_test():
    a = np.array([[3.1, 3.5, 2.8, 3.3], [1.0, 1.1, 0.9, 1.2]])
    b = np.array([[2.0, 2.9, 2.1, 2.2], [0.9, 1.2, 1.0, 1.0]])
    for i in range(2):
        low = stats.ttest_rel(a[i], b[i]).confidence_interval(0.95).low
        assert (more("", a[i], b[i]).holds is True) == (low > 0)
    assert more("", a, b).holds is None and more("", a, b).number.endswith("1 of 2 hold")
    assert more("", b[0], a[0]).holds is False and less("", b[0], a[0]).holds is True
    assert more("", a[0], b[0], least=1.5).holds is False and more("", a[0], 2.5).holds is True
    assert more("", [2.0], [1.0]).holds is None  # one seed decides nothing


def test_same_asks_for_the_interval_inside_the_bound():
    a, b = np.array([1.0, 1.2, 0.9]), np.array([1.1, 1.1, 1.0])
    half = stats.t.ppf(0.975, 2) * (a - b).std(ddof=1) / 3**0.5
    size = abs((a - b).mean()) + half
    assert same("", a, b, within=size * 1.001).holds is True and same("", a, b, within=size * 0.999).holds is None
    assert same("", a, b + 5, within=1).holds is False


def test_near_is_the_interval_of_one_more_seed():
    values = np.array([1.0, 1.4, 0.8, 1.1])
    half = stats.t.ppf(0.975, 3) * values.std(ddof=1) * (1 + 1 / 4) ** 0.5
    edge = values.mean() + half
    assert near("", values, edge * 0.999).holds is True and near("", values, edge * 1.001).holds is False
    assert near("", values, edge * 1.001, slack=0.01).holds is True


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ([True, True], "right"),
        ([True, False], "loose"),
        ([True, False, None], "loose"),
        ([False, False], "wrong"),
        ([False, None], "wrong"),
        ([True, None], "undecided"),
        ([None], "undecided"),
    ],
)
def test_the_verdict_follows_from_the_checks(answers, expected):
    assert verdict_of(Check("", answer) for answer in answers) == expected
    assert verdict_of([*(Check("", answer) for answer in answers), missing("the data")]) == "incomplete"


# ---- measuring


def test_arrays_have_the_axes_of_the_grid_then_seeds(toy):
    measured = toy.run(scale=2.0)
    assert measured["square"].shape == (2, 3, 3) and measured["curve"].shape == (2, 3, 3, 4)
    assert measured["square"][1, 2].tolist() == [18, 19, 20]
    assert measured.at("square", rule="a", size=2).tolist() == [8] * 3
    assert measured.numbers == ["square"]
    assert measured.table().columns["square"][-1] == "19 ± 1"
    assert len(measured.table().columns["rule"]) == 6 and set(measured.figures()) == {"square", "curve"}


def test_inner_axes_come_from_one_call(toy):
    def both(seed, net):
        return {"error": np.array([[1, 2, 3], [4, 5, 6]]) + 10 * seed + 100 * net}

    measured = Study(both, {"net": (0, 1)}, seeds=2, tiny={}, inner={"way": ("x", "y"), "rows": (1, 2, 3)}).run()
    assert measured["error"].shape == (2, 2, 3, 2)
    assert measured.at("error", net=1, way="y", rows=2).tolist() == [105, 115]


def test_settings_are_seeds_axes_and_keyword_defaults(toy):
    assert toy.settings == {"seeds": 3, "rule": ("a", "b"), "size": (1, 2, 3), "scale": 1.0}
    assert toy.changed({"scale": 2, "size": 5})["size"] == (5,)
    for wrong in ({"scale": "large"}, {"seeds": 0}, {"seeds": 1.5}, {"seeds": True}):
        with pytest.raises(InputError, match="expected"):
            toy.changed(wrong)


def test_claims_are_not_judged_on_a_part_of_an_axis(toy):
    (finding,) = run("toy/squares", {"size": [1, 2]}).findings
    assert finding.verdict == "undecided" and "own values of size" in finding.checks[0].text


# ---- running


def test_a_run_leaves_settings_evidence_tables_and_figures(toy):
    done = run("toy/squares")
    assert done.path.parts[:3] == ("runs", "study", "toy-squares") and not done.cached
    kept = Run(done.path)
    assert kept.verify() == [] and kept.status == "finished"
    assert kept.tree("evidence.safetensors")["study"]["square"].shape == (2, 3, 3)
    assert kept.read("figures/study-square.svg").startswith(b"<svg") and kept.has("table-study.md")
    assert tomllib.loads(kept.read("config.toml").decode())["settings"]["study"]["size"] == [1, 2, 3]
    (finding,) = done.findings
    assert (finding.row, finding.source_says, finding.reference) == ("A004", "b is larger", 1.0)
    assert finding.verdict == "undecided"  # a difference of 0, 1, 2 with three seeds
    assert json.loads(json.dumps(done.as_json()))["path"] == str(done.path)


def test_the_second_time_nothing_is_measured_but_claims_are_judged_again(toy):
    first = run("toy/squares")
    assert len(CALLS) == 18

    @toy.claim("A004", says="b is larger")
    def otherwise(m):
        yield holds("anything", True)

    again = run("toy/squares")
    assert len(CALLS) == 18 and again.cached and again.path == first.path
    assert [f.verdict for f in again.findings] == ["right"]


def test_other_settings_are_measured_anew(toy):
    first, tiny, other = run("toy/squares"), run("toy/squares", tiny=True), run("toy/squares", {"scale": 2.0})
    assert len({first.path, tiny.path, other.path}) == 3 and len(CALLS) == 18 + 4 + 18
    with pytest.raises(InputError, match=r"Unknown setting 'scal'\. Did you mean 'scale'"):
        run("toy/squares", {"scal": 2.0})


def test_an_interrupt_loses_the_cell_it_hits_and_no_other(toy, tmp_path):
    STOP[:] = ["b", 1, 0]
    with pytest.raises(KeyboardInterrupt):
        run("toy/squares")
    done, STOP[:] = len(CALLS), []
    finished = run("toy/squares")
    assert done == 9 and len(CALLS) == 18
    fresh = run("toy/squares", folder=tmp_path / "fresh")
    a, b = (Run(each.path).tree("evidence.safetensors")["study"] for each in (finished, fresh))
    assert all(np.array_equal(a[key], b[key]) for key in a)


def test_cells_of_other_versions_are_not_mixed_in_silently(toy, monkeypatch):
    STOP[:] = ["b", 1, 0]
    with pytest.raises(KeyboardInterrupt):
        run("toy/squares")
    STOP.clear()
    monkeypatch.setattr("torch.__version__", "0.0")
    with pytest.raises(RunError, match="--allow-inexact"):
        run("toy/squares")
    assert len(run("toy/squares", allow_inexact=True).findings) == 1 and len(CALLS) == 18


@pytest.mark.slow
def test_progress_counts_cells_that_are_measured(toy, capsys, monkeypatch):
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr("ftheta.train.progress.time.monotonic", lambda: float(next(clock)))
    run("toy/squares", tiny=True)
    shown = capsys.readouterr().err.splitlines()
    assert [line.partition("  ")[0] for line in shown] == [f"cell {k}/4" for k in range(1, 5)]


def test_folders_of_other_things_are_not_written_into(toy, tmp_path):
    run("toy/squares", folder=tmp_path / "mine")
    with pytest.raises(RunError, match=r"mine holds another study, other settings or other data"):
        run("toy/squares", {"scale": 2.0}, folder=tmp_path / "mine")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos/cat.png").touch()
    with pytest.raises(InputError, match=r"photos is not empty"):
        run("toy/squares", folder=tmp_path / "photos")
    with pytest.raises(InputError, match=r"is a file"):
        run("toy/squares", folder=tmp_path / "photos/cat.png")


def test_the_fingerprint_covers_what_measure_reaches_without_docstrings(monkeypatch, tmp_path):
    import importlib.util

    source = "LIMIT = 3\ndef help(x):\n    return x * LIMIT\ndef measure(seed):\n    'Words.'\n    return help(seed)\n"

    def of(text):
        (tmp_path / "m.py").write_text(text)
        spec = importlib.util.spec_from_file_location("ftheta.studies.m", tmp_path / "m.py")
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(__import__("sys").modules, "ftheta.studies.m", module)
        spec.loader.exec_module(module)
        __import__("linecache").checkcache()
        return fingerprint(module.measure)

    first = of(source)
    assert of(source.replace("Words", "Other words")) == first
    assert of(source.replace("LIMIT = 3", "LIMIT = 4")) != first
    assert of(source.replace("x * LIMIT", "x + LIMIT")) != first


# ---- all studies


def test_an_unknown_study_is_answered_with_the_nearest():
    with pytest.raises(InputError, match=r"Unknown study 'optimizers/nois'\. Did you mean 'optimizers/noise'"):
        load("optimizers/nois")


@pytest.mark.parametrize("name", names())
def test_a_study_states_its_question_and_was_recorded_with_the_rows_it_claims(name):
    found = info(name)
    assert found.question.endswith("?")
    assert {f["row"] for f in ledger.recorded()[name]["findings"]} == set(found.rows)


def from_means(study, table):
    """What a study has measured, as far as its table tells: the means over seeds, for four seeds alike."""
    names = [*study.grid, *study.inner]
    known = study.settings | dict(study.inner)
    labels = {name: list(dict.fromkeys(table[name])) for name in names}
    axes = {name: [next((v for v in known[name] if str(v) == str(x)), x) for x in labels[name]] for name in names}
    means = {name: [str(cell).split(" ")[0] for cell in cells] for name, cells in table.items() if name not in names}
    arrays = {
        name: np.array(["nan" if cell in ("", "none") else cell for cell in v], float) for name, v in means.items()
    }
    shape = [*map(len, axes.values()), 1]
    return Measured({name: np.repeat(v.reshape(shape), 4, -1) for name, v in arrays.items()}, axes)


OF_SEEDS = ["A124", "B328", "C166"]  # their checks are not differences of means


@pytest.mark.parametrize("name", names())
def test_checks_find_in_the_recorded_means_what_was_recorded(name):
    kept = json.loads((_running.RECORDS / f"{name.replace('/', '-')}.json").read_text(encoding="utf-8"))
    checks = {f["row"]: {c["text"]: c["number"] for c in f["checks"]} for f in kept["findings"]}
    for of, study in load(name).items():
        rows = study.claims.keys() - set(OF_SEEDS)
        if of not in kept["tables"] or not rows:
            continue
        measured = from_means(study, kept["tables"][of]["columns"])
        for row in rows:
            try:
                found = list(study.claims[row][1](measured))
            except (KeyError, ValueError):  # it takes curves, which no table holds
                continue
            for check in found:
                if " ± " in (number := checks[row].get(check.text, "")):
                    mean, half = map(float, number.split(",")[0].split(" ± "))
                    difference = float(check.number.split(" ± ")[0]) - mean
                    assert abs(difference) <= half + 0.1 * abs(mean), f"{check.text}: {check.number}, not {number}"


FIXED = {"hopfield_digits.py", "mnist.py"}  # nothing is drawn in a recall; one validation part for all seeds


def test_what_takes_a_seed_uses_no_other():
    found = []
    for path in STUDIES.rglob("*.py"):
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, ast.FunctionDef) and "seed" in [a.arg for a in function.args.args]:
                keys = [(k.arg, k.value) for c in ast.walk(function) if isinstance(c, ast.Call) for k in c.keywords]
                for c in ast.walk(function):
                    if isinstance(c, ast.Dict):
                        keys += [(getattr(k, "value", None), v) for k, v in zip(c.keys, c.values, strict=True)]
                    if isinstance(c, ast.Call) and ast.unparse(c.func).endswith(("Draw", "default_rng")) and c.args:
                        keys.append(("seed", c.args[0]))
                found += [
                    path.name for key, v in keys if key in ("seed", "random_state") and isinstance(v, ast.Constant)
                ]
    assert set(found) == FIXED


def test_studies_are_short():
    """At most 120 lines each; with the helpers of their chapters, at most 60 lines per claimed row."""
    lines = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in STUDIES.glob("*/*.py")}
    del lines[STUDIES / "ledger/__init__.py"]
    assert [path.name for path, n in lines.items() if n > 120 and not path.name.startswith("_")] == []
    assert sum(lines.values()) <= 60 * len({row for name in names() for row in info(name).rows})
    assert set(ledger.recorded()) == set(names())  # and none that was recorded is gone


@pytest.mark.middle
@pytest.mark.parametrize("name", names())
def test_a_tiny_study_runs_from_measuring_to_figures(name, tmp_path):
    done = run(name, tiny=True, folder=tmp_path)
    assert {f.row for f in done.findings} == set(info(name).rows) and {f.verdict for f in done.findings} <= VERDICTS
    assert json.loads(json.dumps(done.as_json()))["path"] == str(tmp_path)
    assert list((tmp_path / "figures").iterdir())


def test_a_recorded_study_replaces_its_old_record_and_no_other(toy, monkeypatch, tmp_path):
    (tmp_path / "ledger").mkdir()
    file = tmp_path / "ledger/findings.json"
    file.write_text(json.dumps({"a/b": {"date": "2020-01-01"}, "toy/squares": {"date": "2020-01-01"}}))
    monkeypatch.setattr(_running, "files", lambda package: tmp_path)
    monkeypatch.setattr(ledger, "files", lambda package: tmp_path)
    monkeypatch.setattr(_running, "RECORDS", tmp_path / "records")
    ledger.recorded.cache_clear()
    try:
        (tmp_path / "records").mkdir()
        done = run("toy/squares")
        assert record(done) == file
        full = json.loads((tmp_path / "records/toy-squares.json").read_text())
        assert full["settings"]["study"]["scale"] == 1.0 and full["digest"] == done.digest and "path" not in full
        kept = json.loads(file.read_text())
        assert kept == ledger.recorded() and kept["a/b"] == {"date": "2020-01-01"}
        assert kept["toy/squares"]["findings"][0]["checks"][0]["text"] == "b is larger"
    finally:
        ledger.recorded.cache_clear()
