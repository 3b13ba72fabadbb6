"""Pages in a real browser: closed, quiet, legible on a telephone and a wide screen, by day and by night."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tests.cli._things import call
from tests.jobs._browser import browser
from tests.jobs._pages import made

pytestmark = pytest.mark.middle

PAGES = {
    "digits": {},
    "wine": {"data": {"leaks": ["12 rows are on both sides of the split."], "notes": ["A column was left out."]}},
    "nasty": {"nasty": True},
}
COMMANDS = {  # the words after `ftheta train`
    "mlp-digits": "mlp digits",
    "mlp-diabetes": "mlp diabetes",
    "mlp-own": "mlp own.csv --target label",
    "linear-iris": "linear iris",
    "linear-diabetes": "linear diabetes",
    "mlp-moons": "mlp moons",
}


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    for name, changes in PAGES.items():
        run = made(folder / f"run-{name}", "wine" if name == "nasty" else name, epochs=15, **changes)
        (folder / f"{name}.html").write_text(run.page(), encoding="utf-8")
    _own_table(folder / "own.csv")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, words in COMMANDS.items():
            assert call(patch, "train", *words.split(), "--run", f"run-{name}", "--report") == 0
            (folder / f"run-{name}/report.html").rename(folder / f"{name}.html")
    return folder


def _own_table(path):
    """Identifiers, dates, levels, missing cells, markup in names and classes, numbers from tiny to huge."""
    rng = np.random.default_rng(0)
    lines = ["id,when,<b>colour</b>,size $,tiny,huge,label"]
    for i in range(160):
        colour, size = rng.choice(["red", "gr<i>een", "blue", ""]), rng.normal()
        label = "<script>yes" if size + (colour == "red") > 0.3 else "no & never"
        huge = "" if i % 9 == 0 else f"{rng.normal() * 1e12:.3g}"
        lines.append(f"{i},2020-0{1 + i % 9}-1{i % 9},{colour},{size:.3f},{rng.normal() * 1e-9:.3g},{huge},{label}")
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def problems(seen, path):
    """All that is wrong with a page; nothing when it is well."""
    found = {
        key: seen.facts[key] for key in ("overlaps", "faint", "unnamed", "unscoped", "repeated", "dangling", "clipped")
    }
    found["external"] = [url[:80] for url in seen.requests if url != path.as_uri() and not url.startswith("data:")]
    found["complaints"] = seen.complaints
    found["scroll"] = max(seen.facts["scroll"], 0)
    levels = seen.facts["headings"]
    nested = levels[:1] == [1] and levels.count(1) == 1 and all(b <= a + 1 for a, b in zip(levels, levels[1:]))  # noqa: B905
    found["headings"] = [] if nested else levels
    return {key: value for key, value in found.items() if value}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [400, 1280])
@pytest.mark.parametrize("name", [*PAGES, *COMMANDS])
def test_a_page_is_closed_quiet_and_legible(chromium, pages, name, width, dark):
    path = pages / f"{name}.html"
    seen = chromium.open(path, width, dark=dark)
    assert problems(seen, path) == {}
    assert seen.facts["letters"] >= (7 if width == 400 else 9)
    assert seen.facts["texts"] > 200 and seen.facts["figures"] >= 1 and seen.facts["tables"] >= 7
    back, ink = chromium.run("[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]")
    assert (back == "rgb(255, 255, 255)") != dark and back != ink


AXE = """axe.run(document, {resultTypes: ["violations"]}).then(found => found.violations
  .filter(v => ["serious", "critical"].includes(v.impact)).map(v => [v.id, v.nodes[0].html.slice(0, 120)]))"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The source of axe-core, by its name in the registry of npm."""
    folder = tmp_path_factory.mktemp("axe")
    if shutil.which("npm") is None:
        pytest.skip("npm, which installs axe-core, is missing")
    done = subprocess.run(["npm", "install", "--silent", "axe-core"], cwd=folder, capture_output=True, timeout=120)
    file = folder / "node_modules/axe-core/axe.min.js"
    if done.returncode or not file.exists():
        pytest.skip("axe-core cannot be installed with npm")
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["wine", "digits", "nasty", "linear-diabetes", "mlp-moons"])
def test_axe_finds_no_serious_violation(chromium, pages, axe, name, dark):
    chromium.open(pages / f"{name}.html", 1280, dark=dark)
    chromium.run(axe + "; 0")
    assert chromium.run(AXE) == []


def test_a_page_prints(chromium, pages):
    chromium.open(pages / "digits.html", 1400, dark=True, unfold=False)
    paper = chromium.pdf()
    assert paper.startswith(b"%PDF") and 3 <= paper.count(b"/Type /Page\n") + paper.count(b"/Type /Page ") <= 20


def test_a_page_of_digits_is_light(tmp_path):
    assert len(made(tmp_path / "run", "digits", epochs=3).page()) < 1e6


HEAD = '<html lang="en"><body style="background:#fff;color:#000"><h1>A</h1>'
PLANTED = [
    ("overlaps", '<p style="position:absolute;top:90px">one text</p><p style="position:absolute;top:95px">two</p>'),
    (
        "overlaps",
        '<svg role="img" aria-label="a" width="90" height="50"><text x="9" y="20">one</text>'
        '<text x="14" y="24">two</text></svg>',
    ),
    ("external", '<img alt="a" src="http://example.invalid/a.png">'),
    ("complaints", "<script>throw new Error('a')</script>"),
    ("complaints", "<script>console.error('a')</script>"),
    ("scroll", '<div style="width:2000px">wide</div>'),
    ("faint", '<p style="color:#999">faint</p>'),
    ("unnamed", "<svg></svg>"),
    ("unnamed", '<img src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'),
    ("unscoped", "<table><thead><tr><th>a</th></tr></thead></table>"),
    ("headings", "<h3>a</h3>"),
    ("clipped", '<main><div style="width:50px;overflow-x:auto"><p style="width:90px">wide</p></div></main>'),
    ("repeated", '<p id="a">a</p><p id="a">b</p>'),
    ("dangling", '<a href="#nowhere">a</a>'),
]


@pytest.mark.parametrize(("fault", "html"), PLANTED)
def test_a_planted_fault_is_found(chromium, tmp_path, fault, html):
    path = Path(tmp_path / "planted.html")
    path.write_text(f"<!DOCTYPE html>{HEAD}{html}", encoding="utf-8")
    found = problems(chromium.open(path, 1400), path)
    assert fault in found and set(found) <= {fault, "complaints"}  # a failed request is also a complaint


def test_a_page_without_faults_has_none(chromium, tmp_path):
    path = Path(tmp_path / "well.html")
    path.write_text(f"<!DOCTYPE html>{HEAD}<p>one</p><p>two</p><details><summary>more</summary>c</details>")
    assert problems(chromium.open(path, 400), path) == {}
