"""Tours: the shortest by dynamic programming, energy and slope by hand, verdicts on made-up tours, one small run."""

from itertools import combinations
from math import factorial

import numpy as np
import pytest

from ftheta.errors import InputError
from ftheta.studies.energies import salesman
from ftheta.studies.energies.salesman import (
    NETS,
    TINY,
    Config,
    Net,
    all_tours,
    assign,
    distances,
    energy,
    figures,
    judge,
    lengths,
    measure,
    read,
    settle,
    slope,
    tables,
)

RNG = np.random.default_rng(0)


def held_karp(d):
    """Length of the shortest tour by dynamic programming over sets of cities."""
    n = len(d)
    best = {(1 << j, j): d[0, j] for j in range(1, n)}
    for size in range(2, n):
        for chosen in combinations(range(1, n), size):
            bits = sum(1 << j for j in chosen)
            for j in chosen:
                before = bits & ~(1 << j)
                best[bits, j] = min(best[before, k] + d[k, j] for k in chosen if k != j)
    return min(best[2**n - 2, j] + d[j, 0] for j in range(1, n))


def test_all_tours_are_looked_at_and_their_shortest_is_that_of_dynamic_programming():
    for n in (4, 5, 7):
        tours = all_tours(n)
        both = {tuple(t) for t in tours} | {(0, *t[:0:-1]) for t in tours.tolist()}
        assert len(tours) == factorial(n - 1) // 2 and len(both) == factorial(n - 1)
        d = distances(RNG.random((n, 2)))
        assert lengths(tours, d).min() == pytest.approx(held_karp(d), rel=1e-12)


@pytest.mark.slow
def test_ten_cities_have_181440_tours():
    assert len(all_tours(10)) == 181_440


def test_a_length_is_a_round_trip():
    square = distances(np.array([[0, 0], [1, 0], [1, 2], [0, 2]]))
    assert lengths(np.array([[0, 1, 2, 3], [0, 2, 1, 3]]), square).tolist() == pytest.approx([6, 4 + 2 * 5**0.5])


def test_the_energy_of_a_tour_is_its_length_and_no_unit_on_has_none():
    d, tour = distances(RNG.random((6, 2))), np.array([2, 0, 5, 1, 4, 3])
    v = np.zeros((1, 6, 6))
    v[0, tour, range(6)] = 1
    net = Net(rows=2, columns=3, total=5, binary=7, length=1)
    assert energy(v, d[None], net)[0] == pytest.approx(lengths(tour[None], d)[0])
    assert energy(0 * v, d[None], Net())[0] == 0 < energy(v, d[None], Net())[0]
    assert energy(0 * v, d[None], net)[0] == pytest.approx((2 * 6 + 3 * 6 + 5 * 36) / 2)


def test_hopfield_and_tanks_own_terms_differ_from_ours_by_a_constant():
    """A/2 Σ_x Σ_i≠j v_xi v_xj + B/2 Σ_i Σ_x≠y v_xi v_yi + C/2 (Σ v - 15)² + D/2 Σ d v (v + v), in plain loops."""
    n, net = 10, NETS["Hopfield and Tank"]
    d, v = distances(RNG.random((n, 2))), RNG.random((3, n, n))
    theirs = []
    for state in v:
        a = sum(state[x, i] * state[x, j] for x in range(n) for i in range(n) for j in range(n) if i != j)
        b = sum(state[x, i] * state[y, i] for i in range(n) for x in range(n) for y in range(n) if x != y)
        long = sum(
            d[x, y] * state[x, i] * (state[y, (i + 1) % n] + state[y, i - 1])
            for x in range(n)
            for y in range(n)
            for i in range(n)
        )
        theirs.append(250 * a + 250 * b + 100 * (state.sum() - 15) ** 2 + 250 * long)
    ours = energy(v, np.stack([d] * 3), net)
    assert np.diff(ours) == pytest.approx(np.diff(theirs), rel=1e-9)


def test_the_slope_is_the_derivative_of_the_energy():
    d, v = distances(RNG.random((2, 5, 2))), RNG.random((2, 5, 5))
    net = Net(rows=2, columns=3, total=5, surplus=0.5, binary=7, length=11)
    found = slope(v, d, net)
    for x, i in ((0, 0), (1, 4), (4, 2)):
        h = np.zeros((5, 5))
        h[x, i] = 1e-5
        assert found[:, x, i] == pytest.approx((energy(v + h, d, net) - energy(v - h, d, net)) / 2e-5, rel=1e-6)


def test_a_state_is_a_tour_only_where_every_city_has_one_place_and_every_place_one_city():
    v = np.stack([np.eye(4)[[2, 0, 3, 1]], np.eye(4)[[2, 0, 3, 3]], np.zeros((4, 4)), np.full((4, 4), 0.6)])
    tours, valid = read(v)
    assert valid.tolist() == [True, False, False, False] and tours[0].tolist() == [1, 3, 0, 2]


def test_settling_lowers_the_energy_and_a_network_of_the_length_alone_ends_empty():
    d = distances(RNG.random((3, 5, 2)))
    net = NETS["other penalties, T falls"]
    early, late = (settle(d, net._replace(steps=s), np.random.default_rng(1)) for s in (1, 2000))
    assert (energy(late, d, net) < energy(early, d, net)).all()
    assert settle(d, NETS["length alone"], np.random.default_rng(1)).max() < 0.5


def test_normalised_networks_find_short_tours_and_have_columns_of_one():
    d = distances(np.random.default_rng(3).random((6, 6, 2)))
    v = assign(d, NETS["normalised, T falls"], np.random.default_rng(0))
    assert v.sum(1) == pytest.approx(1)
    tours, valid = read(v)
    known = all_tours(6)
    best = [lengths(known, one).min() for one in d]
    found = [lengths(t[None], one)[0] for t, one in zip(tours, d, strict=True)]
    ratio = np.divide(found, best)[valid]
    assert len(ratio) >= 5 and ratio.mean() < 1.05 and (ratio < 1 + 1e-9).sum() >= 3


@pytest.mark.parametrize(
    ("places", "cities", "said"),
    [
        ((), 11, "11 cities were given; 4 to 10 are expected"),
        (((0.0, 0.0), (1.0, 0.0), (0.0, 1.0)), 10, "3 cities were given; 4 to 10"),
        (((2.0, 1.0),) * 5, 10, r"All 5 cities lie at \(2.0, 1.0\)"),
    ],
)
def test_maps_that_cannot_be_toured(places, cities, said):
    with pytest.raises(InputError, match=said):
        measure(Config(cities=cities, places=places))


def test_own_cities_are_scaled_and_keep_their_shape():
    own = ((10.0, 0.0), (30.0, 0.0), (30.0, 5.0), (10.0, 5.0))
    found = salesman._places(Config(places=own))
    assert found.tolist() == [[[0, 0], [1, 0], [1, 0.25], [0, 0.25]]]


def made(valid=(0, 1, 9, 10), on=0, ratio=1.25):
    """Ten starts on one map of four cities; the first so many of each network found a tour."""
    ok = np.arange(10) < np.array(valid)[:, None, None]  # (4, 1, 10)
    units = np.full((4, 1, 10), 4)
    units[0] = on
    return {
        "valid": ok,
        "length": np.where(ok, ratio, np.nan),
        "on": units,
        "tour": np.tile([0, 1, 2, 3], (4, 1, 10, 1)),
        "places": np.array([[[0.0, 0], [1, 0], [1, 1], [0, 1]]]),
        "shortest": np.array([[0, 1, 2, 3]]),
        "shortest_length": np.array([4.0]),
        "random": np.array([1.5]),
        "tours": 3,
    }


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({}, "corrected"),
        ({"valid": (9, 1, 9, 10)}, "confirmed"),  # the length alone is enough
        ({"on": 4}, "not reproduced"),  # it is not, but the network does not end empty
        ({"valid": (0, 1, 2, 10)}, "not reproduced"),  # penalties do not help
    ],
)
def test_verdicts(changes, verdict):
    (found,) = judge(made(**changes))
    assert (found.row, found.verdict) == ("B275", verdict)
    shares = [v / 10 for v in made(**changes)["valid"].sum((1, 2))]
    assert found.measured == pytest.approx([*shares, 1.25]) and "16 units, 3 tours" in found.why


@pytest.mark.middle
def test_a_network_without_a_tour_says_so():
    evidence = made()
    found = tables(evidence)["tours"].columns
    assert found["tour"] == ["0-1-2-3", "no valid tour", "0-1-2-3", "0-1-2-3", "0-1-2-3"]
    assert found["length"][2:] == [5.0] * 3 and np.isnan(found["length"][1])
    drawn = figures(evidence)["tours"]
    assert [axes.get_title().partition("\n")[2] for axes in drawn.axes] == [
        "no valid tour",
        *["1.250 x the shortest"] * 3,
    ]
    none = made(valid=(0, 0, 0, 0))
    assert np.isnan(judge(none)[0].measured[-1]) and len(figures(none)["networks"].axes) == 1


@pytest.mark.middle
def test_a_small_run():
    evidence = measure(TINY)
    assert evidence["tour"].shape == (4, 2, 3, 5) and evidence["tours"] == 12
    assert np.nanmin(evidence["length"]) >= 1 - 1e-12 and evidence["valid"][3].all()
    assert (np.isnan(evidence["length"]) == ~evidence["valid"]).all() and (evidence["random"] > 1).all()
    table = tables(evidence)["networks"].columns
    assert table["network"] == list(NETS) and table["no unit on (%)"][0] == 100 and judge(evidence)[0].row == "B275"
