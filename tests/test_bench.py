"""The harness of the benchmarks on made-up timings, and that each benchmark runs. No timing is tested."""

import json
from collections import Counter
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import stats
from threadpoolctl import threadpool_info

from bench import _fits, _peers, bare
from bench.__main__ import NAMES, main, run
from bench._report import Line, Report, merge
from bench._timing import Settings, Summary, alternate, compare, fastest, ratios, summarise, threads
from bench.lbfgs import Ended, compared
from bench.overhead import Turns
from bench.threads import threshold

QUICK = Settings(quick=True, repetitions=2)


class Clock:
    """A clock that moves only when it is told to."""

    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now

    def lasting(self, *seconds):
        """A run that takes these times, one after the other."""
        left = list(seconds)

        def work(*_):
            self.now += left.pop(0)

        return work


# --- statistics -------------------------------------------------------------------------------------------------------


def test_a_summary_is_median_and_quartiles():
    numbers = [5.0, 1, 9, 2, 4, 4]
    low, middle, high = np.quantile(numbers, [0.25, 0.5, 0.75])
    assert summarise(numbers) == (middle, low, high, 6)
    assert summarise([3.0]) == (3, 3, 3, 1)
    assert summarise([1.0, 3.0]).scaled(10) == (20, 15, 25, 2)


def test_ratios_are_taken_within_a_repetition():
    """Each time beside its own neighbour: 4, 1/2, 1; the ratio of the medians would be 2."""
    assert ratios([4.0, 1, 9], [1.0, 2, 9]).median == 1
    with pytest.raises(ValueError, match="longer"):
        ratios([1.0], [1.0, 2.0])


def test_the_error_of_a_difference_is_that_of_welch():
    ours, theirs = [0.90, 0.92, 0.91, 0.95, 0.90], [0.93, 0.88, 0.91, 0.90, 0.91]
    found = compare(theirs, ours)
    welch = stats.ttest_ind(ours, theirs, equal_var=False)
    assert found.mean == pytest.approx(np.mean(theirs))
    assert found.difference / found.error == pytest.approx(welch.statistic)


@pytest.mark.parametrize(("shift", "equal"), [(0.0, True), (0.0199, True), (0.0201, False), (-0.0201, False)])
def test_accuracies_are_equal_below_two_standard_errors(shift, equal):
    """Variances 5e-4 and 0 over five seeds each: the standard error is 0.01."""
    theirs = [0.9] * 5
    found = compare(theirs, list(0.9 + shift + np.array([-2.0, -1, 0, 1, 2]) * (5e-4 / 2.5) ** 0.5))
    assert found.error == pytest.approx(0.01)
    assert found.equal is equal


# --- taking turns -----------------------------------------------------------------------------------------------------


def test_contestants_run_in_turns_and_only_their_own_time_counts():
    clock, order = Clock(), []

    def runs(name, seconds):
        def work(repetition):
            order.append(f"{name}{repetition}")
            clock.now += seconds + repetition
            return name

        return work

    def around(key):
        clock.now += 100
        return threads(1)

    def done(key, repetition, result):
        order.append(f"{key} gave {result}")
        clock.now += 1000

    def before(repetition):
        order.append(f"repetition {repetition}")
        clock.now += 10_000

    contestants = {"a": runs("A", 1.0), "b": runs("B", 5.0)}
    times = alternate(contestants, 2, before=before, around=around, done=done, clock=clock)
    assert times == {"a": [1, 2], "b": [5, 6]}
    first = ["repetition 0", "A0", "a gave A", "B0", "b gave B"]
    assert order == [*first, "repetition 1", "B1", "b gave B", "A1", "a gave A"]  # another one begins


def test_the_fastest_has_the_best_repetition_after_a_warm_up():
    clock = Clock()
    runs = {
        "disturbed": clock.lasting(9.0, 1, 8, 8),
        "steady": clock.lasting(2.0, 2, 2, 2),
        "fast in the warm-up only": clock.lasting(0.1, 3, 3, 3),
    }
    assert fastest(runs, 3, clock=clock) == "disturbed"


def test_threads_are_set_for_torch_and_blas_and_put_back():
    before = torch.get_num_threads()
    with pytest.raises(KeyError), threads(2):
        assert torch.get_num_threads() == 2
        assert {pool["num_threads"] for pool in threadpool_info()} == {2}
        raise KeyError
    assert torch.get_num_threads() == before


def test_turns_stop_our_clock_while_the_other_runs():
    clock = Clock()
    turns = Turns(clock.lasting(*[7.0] * 4), block=2, count=1, clock=clock)
    turns.on_start(None)
    for number in range(1, 5):
        clock.now += number
        turns.on_row(SimpleNamespace(round=number), {})
    assert turns.ours == [1 + 2, 3 + 4]
    assert turns.others == [14, 14]


def test_the_threshold_has_the_least_regret():
    points = [(1e3, 1.0, 9.0), (1e4, 1.0, 2.0), (1e6, 3.0, 2.0), (1e7, 30.0, 16.0)]
    assert threshold(points) == pytest.approx(1e5)
    assert threshold([(work, one, 2 * one) for work, one, _ in points]) > 1e7
    assert threshold([(work, one, one / 2) for work, one, _ in points]) < 1e3
    odd = [*points, (2e6, 1.0, 1.01)]  # one point on the wrong side, by little, does not move it
    assert 1e4 < threshold(odd) < 1e6


# --- the record -------------------------------------------------------------------------------------------------------

TIME = Summary(0.002, 0.001, 0.003, 5)


@pytest.mark.parametrize(
    ("line", "holds"),
    [
        (Line("a", TIME), None),
        (Line("a", TIME, ratio=Summary(4.0, 3.0, 5.0, 5), at_least=4.0), True),
        (Line("a", TIME, ratio=Summary(3.9, 3.0, 5.0, 5), at_least=4.0), False),
        (Line("a", TIME, at_most=0.002), True),
        (Line("a", TIME, at_most=0.0019), False),
    ],
)
def test_a_line_says_whether_it_holds(line, holds):
    assert line.holds is holds
    assert line.record()["holds"] is holds


def test_records_are_merged_by_name(tmp_path):
    path = tmp_path / "results" / "bench.json"
    merge(path, [Report("a", "old", "s"), Report("b", "kept", "s")], Settings())
    merge(path, [Report("a", "new", "s", lines=[Line("ours", TIME)])], Settings(repetitions=9))
    found = json.loads(path.read_text(encoding="utf-8"))
    assert (found["a"]["title"], found["b"]["title"]) == ("new", "kept")
    assert found["a"]["lines"][0]["seconds"] == TIME._asdict()
    assert {"date", "cpu", "cores", "load", "versions", "dtype"} < set(found["a"])
    assert found["a"]["repetitions"] == 9
    assert found["a"]["versions"]["torch"] == torch.__version__
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["smal"], "unknown benchmark 'smal'; choose from small, mnist-size"),
        (["--repetitions", "4"], "--repetitions 4; a median needs at least 5"),
    ],
)
def test_a_wrong_call_gets_a_sentence(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_quick_run_prints_and_writes_nothing(tmp_path, capsys):
    main(["--quick", "threads"], tmp_path / "bench.json")
    assert "Recommended WORK_FOR_THREADS" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []


# --- the benchmarks ---------------------------------------------------------------------------------------------------


@pytest.mark.middle
@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_each_benchmark_runs(name):
    report = run(name, QUICK)
    assert report.name == name
    assert report.lines and all(line.seconds.median > 0 for line in report.lines)
    assert all(line.seconds.n == 2 for line in report.lines)


def rows(n):
    x = np.random.default_rng(0).normal(size=(n, 4))
    return _peers.Rows.split(x, (x[:, 0] > 0).astype(int), n // 2, seed=1)


def test_a_split_gives_every_row_once_and_differs_by_seed():
    x = np.arange(10.0)[:, None]
    first, again, other = (_peers.Rows.split(x, np.arange(10), 6, seed) for seed in (0, 0, 1))
    assert sorted([*first.x[:, 0], *first.x_test[:, 0]]) == list(range(10))
    assert (first.x[:, 0] == first.y).all() and (first.narrow == first.x).all()
    assert (first.y == again.y).all() and (first.y != other.y).any()


def test_evaluations_are_compared_where_both_reach_the_same_optimum():
    own = [Ended(10, 1.0, 0.0), Ended(40, 1.0, 0.0), Ended(10, 2.0, 0.0)]
    theirs = [Ended(20, 1.0, 0.0), Ended(20, 1.0 + 5e-7, 0.0), Ended(999, 2.1, 0.0)]
    assert compared(theirs, own) == pytest.approx((1.0, 0.5, 2.0, 2))


def test_a_peer_that_is_missing_is_skipped_by_name(monkeypatch):
    def missing(shape):
        raise ModuleNotFoundError("No module named 'gone'")

    monkeypatch.setitem(_peers.PEERS, "gone", missing)
    monkeypatch.setattr(bare, "STEPS", 1)
    monkeypatch.setattr(Settings, "counts", (1,))
    shape = _peers.Shape((4, 3, 2), batch_size=8)
    given = _fits.Race("tiny", "tiny", shape, lambda seed: rows(32), 1, {"gone": 4.0, "scikit-learn float64": 1.0})
    report = _fits.race(given, Settings(quick=False, repetitions=1))
    assert report.skipped == ["gone (No module named 'gone')"]
    assert [line.name for line in report.lines] == ["ours", "bare loop", "scikit-learn float64"]
    assert report.lines[2].at_least == 1.0 and report.lines[0].ratio is None


def test_the_bare_loop_takes_every_row_once_an_epoch():
    seen = Counter()

    class Net(torch.nn.Linear):
        def forward(self, x):
            seen.update(x[:, 0].tolist())
            return super().forward(x)

    net = Net(1, 2)
    opt, start = bare.optimizer(net, 0.1, "fused"), net.weight.detach().clone()
    bare.epoch(net, opt, torch.arange(5.0)[:, None], torch.tensor([0, 0, 1, 1, 1]), 2)
    assert seen == dict.fromkeys([0.0, 1, 2, 3, 4], 1)
    assert not torch.equal(net.weight, start)


@pytest.mark.parametrize("kernel", bare.KERNELS)
def test_the_kernels_of_the_bare_loop_are_the_same_rule(kernel):
    x, y = torch.randn(20, 4), torch.arange(20) % 3

    def trained(kernel):
        torch.manual_seed(0)
        return torch.cat([p.flatten() for p in bare.fit(x, y, (4, 8, 3), 6, 3, 0.1, kernel).parameters()])

    torch.testing.assert_close(trained(kernel), trained("forloop"))


LIBRARIES = {"skorch": "skorch", "skorch, fused Adam": "skorch", "keras on torch": "keras", "lightning": "lightning"}
CONTESTANTS = [
    *("ours", "bare loop", "scikit-learn float64", "scikit-learn float32"),
    *(pytest.param(name, marks=[pytest.mark.middle, pytest.mark.filterwarnings("default")]) for name in LIBRARIES),
]


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTESTANTS)
def test_each_contestant_learns(name):
    """A plane that each of them finds in fifty epochs of four steps."""
    if name in LIBRARIES and find_spec(LIBRARIES[name]) is None:
        pytest.skip(f"{name} is not installed")
    makers = _peers.PEERS | {"ours": _peers.ours, "bare loop": lambda shape: _peers.bare_loop(shape, "fused")}
    fit = makers[name](_peers.Shape((4, 16, 2), batch_size=25, lr=1e-2))
    data = rows(200)
    assert np.mean(fit(data, 0, 50)(data.x_test) == data.y_test) > 0.9


def test_every_peer_is_tried():
    assert {getattr(name, "values", [name])[0] for name in CONTESTANTS} == {"ours", "bare loop", *_peers.PEERS}
