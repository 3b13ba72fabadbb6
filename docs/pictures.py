"""Both pictures of the README: `python docs/pictures.py` trains, draws and photographs them anew, by a Chromium.

hero.png shows five figures of runs as tiles, report.png the first screen of a report.
"""

import re
import subprocess
import sys
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote

from figures import noise
from matplotlib.figure import Figure

from ftheta import jobs
from ftheta.results import svg

STYLE = """<style>body{margin:16px;width:1568px;display:grid;grid-template-columns:repeat(3,1fr);gap:20px;
font:16px sans-serif}section{border:2px solid #d5dae0;border-radius:14px;padding:16px;overflow:hidden}
h2{margin:0;font-size:30px}code{font-size:21px;color:#555e68;display:block;margin:4px 0 16px}.drawn{width:100%}
.grid{display:grid;grid-template-columns:repeat(4,1fr);gap:12px}figure{margin:0}strong{font-weight:400}
.grid img{width:100%;height:88px;object-fit:contain;background:#000;image-rendering:pixelated}
.wide{grid-column:span 2}iframe{border:0;width:100%;height:285px}</style>"""


BACK = "<script>at.value=7;at.dispatchEvent(new Event('input'))</script>"  # when δ is on its way back


def photograph(page: Path, to: Path, width: int, height: int) -> None:
    """The top of a page as PNG."""
    how = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={width},{height}"]
    done = subprocess.run(["chromium", *how, f"--screenshot={to}", page.as_uri()], capture_output=True, text=True)
    sys.exit(f"Chromium wrote no picture:\n{done.stderr}") if done.returncode else print(f"written: {to}")


def drawn(figure: Figure) -> str:
    """A figure whose names are its own."""
    return f'<img class="drawn" src="data:image/svg+xml,{quote(svg(figure))}">'


def tiles(folder: Path) -> str:
    """The page of the five figures."""
    moons = jobs.train("mlp", "moons", run=folder / "moons", report=False)
    wine = jobs.train("mlp", "wine", run=folder / "wine", report=False)
    digits = jobs.train("convnet", "mnist", run=folder / "mnist", epochs=1).report().read_text(encoding="utf-8")
    small = jobs.train("mlp", "moons", run=folder / "small", epochs=30, hidden=(3,), report=False)
    film = small.explained("film").html()
    only = "<style>*{transition:none!important}h1,h2,p,.buttons,#steps,footer,details{display:none}"
    only += "body{padding:0;zoom:1.12}</style></head>"  # the net alone
    wrong = re.search(r'<div class="grid">.*?</div>', digits, flags=re.DOTALL)
    shown = re.sub(r"<br>.*?</figcaption>", "</figcaption>", wrong[0]).replace("predicted as", "taken for")
    made = [
        ("Where it decides", "ftheta explain last regions", drawn(moons.explained("regions").figure())),
        ("What it got wrong", "ftheta train convnet mnist", shown),
        ("Which columns matter", "ftheta explain last importance", drawn(wine.explained("importance").figure())),
        (
            "What one training step does",
            "ftheta explain last film",
            f'<iframe srcdoc="{escape(film.replace("</head>", only) + BACK)}"></iframe>',
        ),
        ("Intervals that widen", 'likelihood="gaussian-heteroscedastic"', drawn(noise())),
    ]
    parts = [
        f"<section{' class=wide' * ('film' in code)}><h2>{title}</h2><code>{escape(code)}</code>{body}</section>"
        for title, code, body in made
    ]
    return f"<!DOCTYPE html><meta charset=utf-8>{STYLE}{''.join(parts)}"


with TemporaryDirectory() as name:
    folder, to = Path(name), Path(__file__).parent / "pictures"
    jobs.train("linear", "diabetes", run=folder / "linear")
    photograph(folder / "linear/report.html", to / "report.png", 1152, 930)
    (folder / "hero.html").write_text(tiles(folder), encoding="utf-8")
    photograph(folder / "hero.html", to / "hero.png", 1600, 976)
