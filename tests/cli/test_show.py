"""Tables on the screen."""

import io
import os
import re
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from ftheta import explain
from ftheta.cli._show import echo, echo_result, echo_scores, echo_table
from ftheta.jobs.runs import result_table
from ftheta.results import Table


class Screen(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


def on_screen(monkeypatch, width=40, terminal=True):
    """Standard output is a terminal so wide."""
    monkeypatch.setattr(sys, "stdout", screen := Screen(terminal))
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((width, 24)))
    return screen


@pytest.mark.parametrize(("terminal", "width"), [(True, 20), (True, 40), (False, 20)])
def test_rows_are_cut_on_a_terminal_only_and_captions_never(monkeypatch, terminal, width):
    screen = on_screen(monkeypatch, width, terminal)
    echo_table(Table({"a": ["x" * 30], "b": [1]}, "c" * 30))
    caption, _, _, row, *left = screen.getvalue().splitlines()
    assert caption == "c" * 30 and left == (["... without b"] if terminal and width == 20 else [])
    assert row == ("x" * 19 + "…" if terminal and width == 20 else "x" * 30 + "  1")


def test_columns_that_do_not_fit_are_named_and_a_number_stays_beside_its_sign(monkeypatch):
    screen = on_screen(monkeypatch, 22)
    echo_table(Table({"a": [1.25], "seconds": [0.1234], "state": [7], "kB": [8]}))
    echo("errors in 1,014 of 44 %.")
    lines = screen.getvalue().splitlines()
    assert [lines[0].split(), *lines[3:]] == [
        ["a", "seconds", "state"],
        "... without kB",
        "errors in 1,014 of",
        "44 %.",
    ]


def test_a_terminal_shows_the_first_best_and_last_epoch_and_says_how_many_are_left(monkeypatch):
    screen = on_screen(monkeypatch)
    losses = [1.0, *np.linspace(0.5, 0.9, 19)]
    curves = explain.curves(SimpleNamespace(history_=[{"epoch": i + 1, "loss": x} for i, x in enumerate(losses)]))
    echo_result(curves, every=False)
    shown = screen.getvalue()
    assert re.findall(r"^ *(\d+) ", shown, re.MULTILINE) == ["1", "2", "20"] and "... 17 more rows" in shown
    echo_result(curves)
    assert len(re.findall(r"^ *\d+ ", screen.getvalue().removeprefix(shown), re.MULTILINE)) == 20


def test_long_words_stay_whole_and_long_sentences_are_broken_between_words(monkeypatch):
    screen = on_screen(monkeypatch)
    echo("elastic-net " * 6 + "x" * 50)
    lines = screen.getvalue().splitlines()
    assert lines == ["elastic-net elastic-net elastic-net", "elastic-net elastic-net elastic-net", "x" * 50]
    echo_table(Table({"a": [1], "what": ["many words in a cell that is far too long for a line"]}))
    assert screen.getvalue().splitlines()[5:] == ["1  many words in a cell that is far too", "   long for a line"]


def test_a_result_says_of_what_rows_it_is():
    scores = {"accuracy": 0.98765, "log loss": 0.1, "ROC AUC": None}
    found = {"part": "test part", "rows": 7, "level": 0.9, "scores": scores, "intervals": {"accuracy": [0.9, 1.0]}}
    lines = result_table(found).text().splitlines()
    assert lines[0] == "test part (n = 7); intervals of 90 % confidence"
    assert [line.split() for line in lines[3:]] == [
        ["accuracy", "0.9877", "0.9000", "1.000"],
        ["log", "loss", "0.1000", "none", "none"],
        ["ROC", "AUC", "none", "none", "none"],
    ]
    assert result_table(found).as_json()["columns"]["value"] == [0.98765, 0.1, None]


def test_a_terminal_shows_the_digits_that_an_interval_supports(monkeypatch):
    screen = on_screen(monkeypatch, 80)
    scores = {"RMSE": 27.7485, "MAE": 3217.4, "R²": 0.87654, "width": 230.5665, "hits": 12.0}
    intervals = {"RMSE": [24.51, 32.9], "MAE": [2900.2, 3500.9], "R²": [0.85, 0.891], "hits": [12.0, 12.0]}
    found = {"part": "test part", "rows": 7, "level": 0.95, "scores": scores, "intervals": intervals}
    table = result_table(found)
    more = {**table.columns, "baseline": [77.123, 6000.0, 0.0, None, 3.0]}
    echo_scores(replace(table, columns=more))
    assert screen.getvalue().splitlines()[1:] == [
        "metric  value  interval        baseline",
        "\x1b[1mRMSE  \x1b[0m  \x1b[1m 27.7\x1b[0m  \x1b[1m[24.5, 32.9]  \x1b[0m  \x1b[1m    77.1\x1b[0m",
        "MAE      3217  [2900, 3501]        6000",
        "R²      0.877  [0.850, 0.891]     0.000",
        "width     231  \x1b[2mnone          \x1b[0m  \x1b[2m    none\x1b[0m",
        "hits     12.0  [12.0, 12.0]         3.0",
    ]
