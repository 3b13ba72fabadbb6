"""Sources: the same rows whatever was asked for before, each once an epoch, and sentences for what does not fit."""

import numpy as np
import pytest
import torch

from ftheta.data import Batch, Indexed, Rows, Stream
from ftheta.draw import Draw
from ftheta.errors import InputError, InputTypeError


def epoch_of(source, epoch=0, start=0, seed=0):
    return list(source.batches(epoch, start, Draw(seed).at("order", epoch)))


def indices(batches):
    return [batch.index.tolist() for batch in batches]


@pytest.mark.parametrize("ahead", [0, 3])
def test_an_indexed_source_makes_each_batch_when_it_is_asked_for(ahead):
    """Windows of one long series take the memory of a batch, not of all windows; a thread gives the same ones."""
    steps, largest = torch.arange(1000.0), []

    def get(index, draw):
        windows = steps[index[:, None] + torch.arange(11)]
        largest.append(windows.numel())
        return Batch(windows[:, :-1], windows[:, 1:], None, index)

    source = Indexed(990, get, batch_size=32, ahead=ahead)
    batches = epoch_of(source)
    assert len(batches) == len(source) == 31 and max(largest) == 32 * 11
    assert sorted(sum(indices(batches), [])) == list(range(990))
    assert all(torch.equal(b.x + 1, b.y) for b in batches)
    assert indices(epoch_of(source, start=29)) == indices(batches)[29:]
    assert len(source.resized(990)) == 1 and len(source) == 31


def test_the_order_is_a_fair_shuffle():
    """The mean place of a row over 400 epochs is 4.5 with a standard error of 0.14."""
    source = Rows(torch.arange(10), batch_size=3)
    places = np.array([np.argsort(sum(indices(epoch_of(source, epoch=e)), [])) for e in range(400)])
    assert np.abs(places.mean(0) - 4.5).max() < 5 * 0.144


@pytest.mark.parametrize("size", [5, 6])
def test_one_batch_is_given_as_it_is_every_epoch(size):
    x = torch.arange(5)
    source = Rows(x, batch_size=size)
    (first,), (second,) = epoch_of(source), epoch_of(source, epoch=1)
    assert first is second and first.x is x and first.index.tolist() == [0, 1, 2, 3, 4]
    assert epoch_of(source, start=1) == []


def test_dicts_tuples_lists_and_arrays_are_rows_too():
    x = {"a": torch.arange(5), "b": (np.arange(5.0), list("vwxyz"))}
    y = np.array(["p", "q", "r", "s", "t"], dtype=object)
    for b in epoch_of(Rows(x, y, batch_size=2)):
        i = b.index.tolist()
        assert b.x["a"].tolist() == i and b.x["b"][0].tolist() == i
        assert b.x["b"][1] == ["vwxyz"[k] for k in i] and list(b.y) == ["pqrst"[k] for k in i]
    assert [b.x["b"][1] for b in epoch_of(Rows(x, batch_size=3, shuffle=False))] == [list("vwx"), list("yz")]


def test_an_array_that_may_not_be_written_becomes_a_tensor_without_a_warning():
    x = np.arange(3.0)
    x.flags.writeable = False
    assert epoch_of(Rows(x, batch_size=3))[0].x.dtype == torch.float64


@pytest.mark.parametrize(
    ("x", "y", "weight", "text"),
    [
        (torch.zeros(100, 2), torch.zeros(99), None, r"X has 100 rows but y has 99\. They must match"),
        (torch.zeros(4), None, torch.ones(3), "X has 4 rows but weight has 3"),
        ({"a": torch.zeros(4), "b": torch.zeros(5)}, None, None, r"X has 4 rows but X\['b'\] has 5"),
        ((torch.zeros(4), torch.zeros(5)), None, None, r"X has 4 rows but X\[1\] has 5"),
        (torch.zeros(0, 2), None, None, "X has 0 rows; at least 1 is needed"),
        ({}, torch.zeros(2), None, "X has 0 rows; at least 1 is needed"),
    ],
)
def test_rows_that_do_not_match_are_refused(x, y, weight, text):
    with pytest.raises(InputError, match=text):
        Rows(x, y, weight, batch_size=2)


@pytest.mark.parametrize("y", [3, torch.tensor(3.0)])
def test_what_has_no_rows_is_refused(y):
    with pytest.raises(InputTypeError, match="y is .*3.*; rows are needed"):
        Rows(torch.zeros(4), y, batch_size=2)


@pytest.mark.parametrize("size", [0, -1, 2.5, "auto"])
def test_a_batch_size_is_a_whole_number_of_rows(size):
    with pytest.raises(InputError, match=f"batch_size is {size!r}; it must be an integer of at least 1"):
        Rows(torch.zeros(4), batch_size=size)


def test_an_iterator_goes_on_from_epoch_to_epoch():
    source = Stream(iter(torch.arange(6.0).split(1)), length=2)
    got = [b.x.item() for e in range(3) for b in epoch_of(source, epoch=e)]
    assert got == [0, 1, 2, 3, 4, 5] and len(source) == 2
    assert not source.exact and source.state_dict() == {}


def test_an_iterator_is_not_skipped_when_an_epoch_goes_on():
    source = Stream(iter(torch.arange(6.0).split(1)), length=4)
    running = source.batches(0, 0, Draw(0))
    assert [next(running).x.item() for _ in range(2)] == [0, 1]
    assert [b.x.item() for b in epoch_of(source, start=2)] == [2, 3]
    source.load_state_dict({})


@pytest.mark.parametrize(
    "make", [lambda: list(torch.arange(3.0).split(1)), lambda: lambda: iter(torch.arange(3.0).split(1))]
)
def test_what_can_start_anew_does_so_in_each_epoch_and_skips_what_was_seen(make):
    source = Stream(make(), length=3)
    assert [[b.x.item() for b in epoch_of(source, epoch=e)] for e in range(2)] == [[0, 1, 2], [0, 1, 2]]
    assert [b.x.item() for b in epoch_of(source, start=1)] == [1, 2]


def test_a_stream_takes_pairs_and_what_a_data_loader_gives():
    x, y = torch.arange(4.0), torch.arange(4)
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=2)
    assert [b.y.tolist() for b in epoch_of(Stream(loader, 2))] == [[0, 1], [2, 3]]
    ready = Batch(x, y)
    assert epoch_of(Stream([ready], 1)) == [ready]
    assert epoch_of(Stream([(x, y, x)], 1))[0].weight is x


def test_a_stream_that_ends_early_says_how_far_it_came():
    source = Stream(iter([torch.zeros(1)] * 7), length=5)
    epoch_of(source)
    with pytest.raises(InputError, match="The stream ended after 2 of 5 batches of epoch 1"):
        epoch_of(source, epoch=1)


def test_a_stream_refuses_what_is_no_batch_and_an_empty_epoch():
    with pytest.raises(InputError, match="The stream gave 4 things"):
        epoch_of(Stream([(1, 2, 3, 4)], 1))
    with pytest.raises(InputError, match="length is 0; an epoch of a stream has at least 1 batch"):
        Stream([], 0)


def test_rows_in_batches_of_another_size_are_the_same_rows_in_the_same_order_and_form():
    x = torch.arange(10.0)
    knobs = {"y": -x, "weight": 2 * x, "expand": lambda part: part + 100}
    for shuffle in (True, False):
        one, two = Rows(x, batch_size=2, shuffle=shuffle, **knobs), Rows(x, batch_size=5, shuffle=shuffle, **knobs)
        found, truth = ([*source.batches(3, 0, Draw(0))] for source in (one.resized(5), two))
        assert len(found) == len(truth) == 2 and one.batch_size == 2
        for a, b in zip(found, truth, strict=True):
            assert all(torch.equal(mine, theirs) for mine, theirs in zip(a, b, strict=True))
