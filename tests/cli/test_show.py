"""Tables on the screen."""

import io
import os
import sys

import pytest

from ftheta.cli._show import echo_table
from ftheta.jobs.runs import result_table
from ftheta.results import Table


class Screen(io.StringIO):
    def __init__(self, terminal):
        super().__init__()
        self.terminal = terminal

    def isatty(self):
        return self.terminal


@pytest.mark.parametrize(("terminal", "width"), [(True, 20), (True, 40), (False, 20)])
def test_rows_are_cut_on_a_terminal_only_and_captions_never(monkeypatch, terminal, width):
    screen = Screen(terminal)
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr("shutil.get_terminal_size", lambda: os.terminal_size((width, 24)))
    echo_table(Table({"a": ["x" * 30], "b": [1]}, "c" * 30))
    caption, _, _, row = screen.getvalue().splitlines()
    assert caption == "c" * 30
    assert row == ("x" * 19 + "…" if terminal and width == 20 else "x" * 30 + "  1")


def test_a_result_says_of_what_rows_it_is():
    scores = {"accuracy": 0.98765, "log loss": 0.1, "ROC AUC": None}
    found = {"part": "test part", "rows": 7, "level": 0.9, "scores": scores, "intervals": {"accuracy": [0.9, 1.0]}}
    lines = result_table(found).text().splitlines()
    assert lines[0] == "test part (n = 7); low and high: 90% confidence"
    assert [line.split() for line in lines[3:]] == [
        ["accuracy", "0.9877", "0.9000", "1.0000"],
        ["log", "loss", "0.1000", "none", "none"],
        ["ROC", "AUC", "none", "none", "none"],
    ]
