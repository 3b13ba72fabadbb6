"""Items made ahead of time by a thread: all of them, in order, no more than asked for, and no thread left behind."""

import gc
import threading
import time
import weakref

import pytest

from ftheta.data._ahead import ahead

EARLIER = weakref.WeakSet()  # threads of tests before this one


def threads():
    return [t for t in threading.enumerate() if t.name.startswith("ftheta-ahead") and t not in EARLIER]


def until(condition):
    """Whether it becomes true; a busy machine may take its time."""
    end = time.monotonic() + 60
    while not condition() and time.monotonic() < end:
        time.sleep(0.001)
    return condition()


def gone():
    return until(lambda: not threads())


@pytest.fixture(autouse=True)
def none_is_left():
    EARLIER.update(threads())
    yield
    assert gone()


def test_all_items_come_in_order_from_another_thread():
    def make():
        for i in range(50):
            yield i, threading.current_thread()

    found = list(ahead(make, 3))
    assert [i for i, _ in found] == list(range(50)) and threading.current_thread() not in {t for _, t in found}


def test_no_items_are_no_items():
    assert list(ahead(lambda: iter(()), 1)) == []


def test_it_is_ahead_by_the_depth_and_no_more():
    made = []

    def make():
        for i in range(100):
            made.append(i)
            yield i

    items = ahead(make, 4)
    assert made == []  # nothing before the first is asked for
    next(items)
    assert until(lambda: len(made) >= 6)  # 1 given, 4 in the queue, 1 in hand
    time.sleep(0.05)  # time to make another
    assert len(made) == 6
    items.close()


def test_what_is_raised_there_is_raised_here_after_the_items_before_it():
    def make():
        yield 1
        yield 2
        raise KeyError("three")

    items = ahead(make, 5)
    assert [next(items), next(items)] == [1, 2]
    with pytest.raises(KeyError, match="three"):
        next(items)
    with pytest.raises(StopIteration):
        next(items)


def test_it_raises_even_if_the_function_does():
    def make():
        raise OSError("no")

    with pytest.raises(OSError, match="no"):
        list(ahead(make, 1))


@pytest.mark.parametrize("depth", [1, 3])
def test_closing_ends_a_thread_that_waits_and_closes_what_it_reads(depth):
    made, closed = [], []

    def make():
        try:
            while True:
                made.append(0)
                yield 0
        finally:
            closed.append(True)

    items = ahead(make, depth)
    next(items)
    assert until(lambda: len(made) == depth + 2)
    closing = threading.Thread(target=items.close, daemon=True)
    closing.start()
    closing.join(60)
    assert not closing.is_alive() and gone()
    del items, closing
    gc.collect()
    assert until(lambda: closed == [True])


def test_an_iterator_that_nobody_holds_ends_its_thread():
    items = ahead(lambda: iter(range(10**9)), 2)
    next(items)
    assert threads()
    del items
    gc.collect()
    assert gone()


def test_one_in_a_cycle_ends_its_thread_even_if_that_collects_it():
    class Holder:
        pass

    let_go, collected = threading.Event(), []

    def make():
        yield 0
        let_go.wait()
        collected.append(gc.collect())
        yield from iter(int, 1)

    holder = Holder()
    holder.items, holder.me = ahead(make, 2), holder
    gc.disable()
    try:
        next(holder.items)
        del holder
        let_go.set()
        assert gone() and collected[0] > 0
    finally:
        gc.enable()
