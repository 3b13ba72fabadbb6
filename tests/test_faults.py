"""The list of planted faults fits the code: each stands exactly once where it is said to stand."""

from pathlib import Path

from tests.faults.planted import FAULTS

SRC = Path(__file__).parents[1] / "src" / "ftheta"


def test_the_text_to_replace_stands_once_in_its_file():
    for fault in FAULTS:
        found = (SRC / fault.file).read_text(encoding="utf-8").count(fault.old)
        assert found == 1 and fault.old != fault.new, fault.what
