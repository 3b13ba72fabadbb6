"""Training in a child process: torch's generator, threads and signals belong to a process.

started = start("mlp", "wine", epochs=50)
for event in started.events(): ...          {"event": "row", "epoch": 3, ...}, one dict per line of the child
started.cancel()                            within a second; `train` with the same settings and run continues it
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .config import Config, merge, settings_of
from .runs import new_path


class Started:
    """A child process that trains."""

    def __init__(self, process: subprocess.Popen[str], run: Path) -> None:
        self.process, self.run = process, run

    def events(self) -> Iterator[dict[str, Any]]:
        """What happens, until it ends; a line that is not JSON is an event `text`."""
        for line in self.process.stdout or ():
            try:
                yield json.loads(line)
            except ValueError:
                yield {"event": "text", "what": line.rstrip("\n")}

    def cancel(self) -> None:
        """Interrupt it; what was learned is in the run."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its exit code: 0 done, 2 a mistake, 130 interrupted."""
        code = self.process.wait(timeout)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code


def start(
    model: str | Config, data: str = "", *, run: Path | str | None = None, report: bool = True, **settings: Any
) -> Started:
    """Train in a child process; the arguments are those of `train`."""
    config = model if isinstance(model, Config) else merge({"model": model, "data": data}, settings_of(settings))
    folder = Path(run or new_path(config.model, config.data))
    command = [sys.executable, "-m", "ftheta", "train", "--config", "-", "--run", str(folder), "--json"]
    process = subprocess.Popen(
        command + ([] if report else ["--no-report"]),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"FTHETA_PROGRESS": "0"},
    )
    if process.stdin is not None:
        process.stdin.write(config.toml())
        process.stdin.close()
    return Started(process, folder)
