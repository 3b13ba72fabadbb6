"""The list of planted faults fits the code: each stands exactly once where it is said to stand."""

from pathlib import Path

import pytest

from tests.faults.planted import FAULTS

SRC = Path(__file__).parents[1] / "src" / "ftheta"


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f.what)
def test_the_text_to_replace_stands_once_in_its_file(fault):
    assert (SRC / fault.file).read_text(encoding="utf-8").count(fault.old) == 1
    assert fault.old != fault.new
