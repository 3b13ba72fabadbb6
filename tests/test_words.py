"""Phrases that do not come back in what users and contributors read: source, guide, README, CONTRIBUTING."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PHRASES = {  # what is not written, and what is written instead
    r"(?<!there )\b(is|are|was|were) no (?!longer\b|more\b|less\b|better\b|worse\b|such\b|other\b)[a-z]": "is not a",
    r"\bone (line|row|figure|report|column|table|number|test) an? (?!weight)[a-z]": "one row per",
    r"\bputs? (them|it|these) back\b": "restores",
    r"\bgo(es)? in steps\b": "runs in steps",
    r"\bwith the (same )?life\b": "as an estimator",
    r"\bknobs?\b": "settings",
    r"\b(what|nothing|that) is said\b": "what is shown",
    r"\bis said of\b": "holds for",
    r"\bis told\b": "receives",
    r"\b(is|are|was|were) asked for\b": "is requested",
    r"\bwhole numbers?\b": "integer",
    r"\bcannot be had\b": "cannot be computed",
    r"\bset aside\b": "held out",
    r"\bsays? nothing of\b": "does not depend on, does not show",
    r"\bthis very (text|file)\b": "this text",
    r"\b(the|a|every|each) rooms? of\b": "package",
    r"\bleak\?": "Possible leak",
}
ALLOWED = {"src/ftheta/studies/optimizers/_line.py"}  # a name in it is part of recorded digests
FILES = [
    *sorted((ROOT / "src/ftheta").rglob("*.py")),
    *sorted((ROOT / "src/ftheta").rglob("*.j2")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
]


def phrases_in(text):
    """Each phrase that a text contains, with the words around it; line ends and comment signs do not count."""
    plain = " ".join(text.lower().split()).replace(" # ", " ")
    for phrase in PHRASES:
        if re.search(phrase.removeprefix(r"\b"), plain):  # what begins with a letter is looked for quickly
            for found in re.finditer(phrase, plain):
                yield phrase, plain[max(found.start() - 30, 0) : found.end() + 30]


@pytest.mark.parametrize(
    "text", ["this is no number", "one row a penalty", "there is one row\n    # an image", "a whole number", "LEAK?"]
)
def test_a_phrase_would_be_found(text):
    assert list(phrases_in(text))


@pytest.mark.parametrize("text", ["there is no such file", "it is no longer", "one row per penalty", "integers"])
def test_plain_words_pass(text):
    assert not list(phrases_in(text))


def test_phrases_do_not_come_back():
    found = [
        f"{name}: ...{around}...  (use: {PHRASES[phrase]})"
        for name, text in ((str(path.relative_to(ROOT)), path.read_text(encoding="utf-8")) for path in FILES)
        for phrase, around in phrases_in(text)
        if name not in ALLOWED
    ]
    assert found == []
