"""Tables on the screen."""

import io
import os
import sys

import pytest

from ftheta.cli._show import echo_table, result_table
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
    found = {"part": "test part", "rows": 7, "scores": {"accuracy": 0.98765, "log loss": 0.1}}
    text = "test part (n = 7)\nmetric    value\n--------  ------\naccuracy  0.9877\nlog loss  0.1000"
    assert result_table(found).text() == text
