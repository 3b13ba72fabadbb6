import tempfile
from pathlib import Path

import pytest

from ftheta.store import Run
from tests.store._runs import state


@pytest.fixture
def tmp_path():
    """In memory where the system offers that: these tests write thousands of files."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@pytest.fixture
def path(tmp_path):
    """A run under way: three steps, of which the last two have a checkpoint, then one more row."""
    folder = tmp_path / "runs/a"
    with Run(folder) as run:
        run.write("config.toml", "seed = 1\n")
        run.write("figures/loss.svg", b"<svg/>")
        for step in (1, 2, 3):
            run.log({"step": step, "loss": 1 / step})
            run.checkpoint(state(step), step)
        run.log({"step": 4, "loss": 0.25})
    return folder
