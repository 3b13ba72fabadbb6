"""Randomness as a function of (seed, path): repeated by construction, different elsewhere, no trace in the globals."""

import contextlib
import random
from hashlib import blake2b

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from ftheta.draw import Draw, seed_of
from tests.contract.enrolled import generators

paths = st.lists(st.integers(-5, 1000) | st.text(max_size=4), max_size=4).map(tuple)


def numbers(draw, stream="", n=3):
    return torch.rand(n, generator=draw.generator(stream)).tolist()


@given(seed=st.integers(0, 2**31), path=paths, stream=st.text(max_size=5))
def test_the_same_place_always_draws_the_same_numbers(seed, path, stream):
    here = Draw(seed).at(*path)
    assert numbers(here, stream) == numbers(Draw(seed, path), stream)
    torch.rand(3)
    assert numbers(here, stream) == numbers(here, stream)


@given(
    a=st.tuples(st.integers(0, 3), paths, st.text(max_size=3)),
    b=st.tuples(st.integers(0, 3), paths, st.text(max_size=3)),
)
def test_another_seed_path_or_stream_draws_other_numbers(a, b):
    assume(a != b)
    assert Draw(*a[:2]).key(a[2]) != Draw(*b[:2]).key(b[2])


@pytest.mark.parametrize(
    ("one", "other"), [(("a", 1), ("a", "1")), (("a", "b"), ("ab",)), ((1, 23), (12, 3)), ((0,), ())]
)
def test_paths_that_look_alike_are_told_apart(one, other):
    assert numbers(Draw(0, one)) != numbers(Draw(0, other))


def test_a_stream_is_not_a_step_of_the_path():
    assert numbers(Draw(0).at("latent")) != numbers(Draw(0), "latent")


def test_the_way_to_a_place_does_not_matter():
    assert Draw(3).at("train", 5).at("critic") == Draw(3).at("train").at(5, "critic") == Draw(3, ("train", 5, "critic"))


def test_the_key_is_that_of_every_machine_and_day():
    """Not Python's hash, which differs from process to process."""
    expected = int.from_bytes(blake2b(b"(7, ('train', 3, 0), 'latent')", digest_size=8).digest(), "little")
    assert Draw(7).at("train", 3, 0).key("latent") == expected
    assert torch.equal(
        torch.randn(4, generator=Draw(7).at("train", 3, 0).generator("latent")),
        torch.randn(4, generator=torch.Generator().manual_seed(expected)),
    )


def test_the_first_numbers_of_neighbouring_steps_are_independent_and_uniform():
    first = np.array([numbers(Draw(0).at("train", step), n=2) for step in range(2000)])
    assert stats.kstest(first[:, 0], "uniform").pvalue > 0.01
    assert abs(np.corrcoef(first[1:, 0], first[:-1, 0])[0, 1]) < 4 / 2000**0.5
    assert abs(np.corrcoef(*first.T)[0, 1]) < 4 / 2000**0.5


def test_the_global_generator_is_seeded_by_the_place():
    with Draw(0).scope():
        Draw(1).at("x").seed_global()
        found = torch.rand(3)
    assert torch.equal(found, torch.rand(3, generator=torch.Generator().manual_seed(Draw(1).at("x").key())))


def spend():
    Draw(9).seed_global()
    torch.rand(3), np.random.rand(3), random.random(), random.gauss(0, 1), np.random.normal()


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt, GeneratorExit])
def test_a_scope_restores_the_old_states_also_after_an_error(error):
    before = generators()
    with pytest.raises(error) if error else contextlib.nullcontext(), Draw(0).scope():
        spend()
        inner = generators()
        with Draw(2).scope():
            spend()
        assert generators() == inner
        if error:
            raise error
    assert generators() == before


def test_fresh_seeds_fit_31_bits_and_differ():
    seeds = [seed_of(None) for _ in range(50)]
    assert len(set(seeds)) == 50 and min(seeds) >= 0 and 2**20 < max(seeds) < 2**31
    before = generators()
    seed_of(None)
    assert generators() == before


def test_a_scope_repeats_torch_numpy_and_python():
    found = []
    for place in (Draw(3).at("train", 1), Draw(3).at("train", 2), Draw(4).at("train", 1), Draw(3).at("train", 1)):
        with place.scope():
            found.append((np.random.rand(), random.random(), torch.rand(1).item()))
    assert found[0] == found[3] and all(len({row[i] for row in found[:3]}) == 3 for i in range(3))
