"""`ftheta doctor`: what a bug report needs."""

import os
import platform
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import click

from ..jobs.runs import versions
from ..results import Table
from ._show import echo_json, echo_table, json_option


@click.command("doctor", short_help="Versions, devices, threads, data: what a bug report needs.")
@json_option()
def command(as_json: bool) -> None:
    """Versions, devices, threads and data folder of this installation."""
    facts = environment()
    echo_json(facts, 1) if as_json else echo_table(Table({"what": list(facts), "value": list(facts.values())}))


def environment() -> dict[str, str]:
    """Everything that decides how fθ behaves here."""
    import torch

    facts = versions("click", "rich", "pydantic")
    facts["python"] += f" ({sys.platform}, {platform.machine()})"
    cuda = torch.cuda.device_count() if torch.cuda.is_available() else 0
    devices = ["cpu", *(f"cuda:{i} ({torch.cuda.get_device_name(i)})" for i in range(cuda))]
    facts["devices"] = ", ".join(devices + (["mps"] if torch.backends.mps.is_available() else []))
    facts["threads"] = f"torch {torch.get_num_threads()} of {os.cpu_count()} cores"
    place = os.environ.get("FTHETA_DATA", "")
    facts["data folder"] = place or "FTHETA_DATA is not set; built-in data sets only"
    if place and not Path(place).is_dir():
        facts["data folder"] += " (FTHETA_DATA) does not exist"
    tools = [name for name, there in (("pip", find_spec("pip")), ("uv", which("uv"))) if there]
    facts["data get"] = f"with {tools[0]}" if tools else "needs pip or uv: install one"
    facts["progress"] = "off (FTHETA_PROGRESS=0)" if os.environ.get("FTHETA_PROGRESS") == "0" else "on"
    facts["runs here"] = "can be written" if os.access(".", os.W_OK) else "cannot be written: choose another folder"
    return facts
