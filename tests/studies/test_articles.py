"""Pages of studies: finding, quotes, checks, figures; an index with a picture and a sentence each."""

import re
from html import escape
from typing import Any

import numpy as np
import pytest

from ftheta.store import Run
from ftheta.studies import (
    Check,
    Study,
    StudyInfo,
    _articles,
    _running,
    article,
    index,
    less,
    more,
    run,
    sentence,
    write_article,
)

NASTY = "<script>alert(1)</script>"


@pytest.fixture
def outcome(monkeypatch, tmp_path):
    study = Study(lambda seed, size: {"square": size**2 + seed, "curve": np.full(4, size)}, {"size": (1, 2)}, 3, {})
    study.claim("A004", says=NASTY)(
        lambda m: iter([more("curves rise", m["curve"][1, 0], 0), less("fall", [1, 1.1], 0)])
    )
    known = StudyInfo("toy/squares", f"What is {NASTY}?", ("A004",), "Words.\n\n    x = 1", ("curve",))
    for module in (_articles, _running):
        monkeypatch.setattr(module, "load", lambda name: {"study": study})
    monkeypatch.setattr(_articles, "info", lambda name: known)
    monkeypatch.setattr(_running, "fingerprint", lambda measure: "")
    monkeypatch.setattr(_running, "svg", lambda figure: "<svg/>")
    monkeypatch.chdir(tmp_path)
    return run("toy/squares")


def test_an_article_quotes_judges_draws_and_repeats(outcome):
    page = article(outcome)
    assert "<script" not in page and "default-src 'none'" in page
    says = "&lt;script&gt;alert(1)&lt;/script&gt;"
    assert f'<h1 id="top">What is {says}?</h1>' in page and f"“{says}”</p><footer>Machine Learning Explainers" in page
    assert '<span class="badge loose">loose</span> True in part: “' in page and "fails at “fall”." in page
    assert [re.sub(r"\..*", "", alt) for alt in re.findall(r'<svg[^>]*aria-label="([^"]*)"', page)] == [
        "curve",
        "square",
    ]
    headings = re.findall(r"<h2[^>]*>([^<]*)", page)
    assert headings == ["In one picture", "What the sources say", "What was measured", "Repeat it"]
    assert (
        page.index('<td style="text-align:left">curves rise') < page.index("<p>Words.</p>") < page.index("x = 1</code>")
    )
    assert "ftheta study toy/squares" in page and outcome.digest in page
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def test_an_article_is_kept_with_its_study_and_written_once(outcome):
    file = write_article(outcome)
    before = Run(outcome.path).digest
    assert file.read_text(encoding="utf-8") == article(outcome) and Run(outcome.path).verify() == []
    assert write_article(run("toy/squares")) == file and Run(outcome.path).digest == before


@pytest.mark.parametrize(
    ("verdict", "checks", "expected"),
    [
        ("right", [True], "Confirmed: “it is so”."),
        ("loose", [True, False], "True in part: “it is so” fails at “check 1”."),
        ("wrong", [None, False], "Not confirmed: “it is so” fails at “check 1”."),
        ("undecided", [True, None], "Not decided: “it is so”; open is “check 1”."),
    ],
)
def test_a_finding_is_one_sentence(verdict, checks, expected):
    made = [Check(f"check {i}", holds)._asdict() for i, holds in enumerate(checks)]
    finding = {"verdict": verdict, "source_says": "it is so", "checks": made}
    assert sentence([finding]) == expected
    two = sentence([{"verdict": "right", "source_says": "yes", "checks": []}, finding])
    assert two.startswith(expected[:-1]) or verdict == "right"
    assert two.endswith(f" {1 + (verdict == 'right')} of 2 claims {'are' if verdict == 'right' else 'is'} right.")


def test_what_is_left_out_is_named_and_a_study_without_claims_says_so():
    checks = [Check("a guess", None)._asdict(), Check("the data", None, "", True)._asdict()]
    assert (
        sentence([{"verdict": "incomplete", "source_says": [1, 2], "checks": checks}]) == "“1, 2” leaves out the data."
    )
    assert sentence([]) == "Numbers for reference; no claim is judged."


def test_the_index_has_a_picture_a_sentence_and_a_link_for_each(monkeypatch):
    monkeypatch.setattr(_articles, "names", lambda: ("convolution/depth", "energies/likelihood"))
    page = index({"convolution/depth": "a&b.html"})
    assert re.findall(r"<h2[^>]*>([^<]*)", page) == ["Convolution", "Energies"] and page.count("<article>") == 2
    said = sentence(_articles.ledger.recorded()["convolution/depth"]["findings"])
    assert page.count("<svg") == 2 and f"</span> {escape(said)}</p>" in page
    assert re.findall(r'<h3><a href="([^"]*)">How many convolutions', page) == ["a&amp;b.html"]
    assert page.count("<h3><a") == 1 and "Numbers for reference" in page


def test_a_thumbnail_shows_the_recorded_means():
    drawn: Any = _articles._thumbnail
    figure = drawn("convolution/depth")
    cells = _running.records("convolution/depth")["tables"]["study"]["columns"]["test accuracy (%)"]
    (line, *_) = figure.axes[0].lines
    assert line.get_ydata().tolist() == [float(cell.split(" ± ")[0]) for cell in cells]
    assert (figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()) == ("convolutions", "test accuracy (%)")
    (dots,) = drawn("convolution/denoising").axes
    cells = _running.records("convolution/denoising")["tables"]["study"]["columns"]
    assert [label.get_text() for label in dots.get_yticklabels()][0] == cells["method"][0]
    assert f"{dots.lines[0].get_xdata()[0]:.3g}" == cells["PSNR (dB)"][0].split(" ± ")[0]
