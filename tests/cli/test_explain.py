"""`ftheta explain`: what a run can show, as tables, and as figures in a folder that is asked for."""

import re
from importlib import import_module
from pathlib import Path

import pytest

import ftheta
from ftheta import catalog, explain
from tests.cli._things import QUICK, snapshot, table


@pytest.mark.middle
def test_all_explanations_are_shown_and_drawn(ok, pets):
    names = explain.available(ftheta.load(pets)[-1])
    before = snapshot(pets)
    done = ok("explain", pets, "--all", "--figures", "drawn")
    assert {"summary", "gradient-flow", "activations", "curves"} <= set(names)
    assert done.err.splitlines() == [f"drawn: drawn/{n}.{'html' if n == 'film' else 'svg'}" for n in names]
    for name in names:
        assert Path(f"drawn/{name}.svg").read_bytes().startswith(b"<svg")
    assert "33 parameters" in done.out and "epoch" in done.out and "48 rows" in done.out
    assert snapshot(pets) == before


def test_what_cannot_be_had_says_why_and_the_others_follow(ok, refused, pets, monkeypatch):
    monkeypatch.setattr("ftheta.explain.gradients.backprop.MAX_GRADIENTS", 1)
    monkeypatch.setattr(explain, "available", lambda model: ["summary", "backprop", "curves"])
    said = "1 rows and 33 parameters have 33 gradients, more than 1; pass a smaller max_rows=, or a smaller net."
    done = ok("explain", pets, "--all", "--figures", "drawn")
    drawn = [f"drawn: drawn/{name}.svg" for name in ("summary", "curves")]
    assert done.err.splitlines() == [drawn[0], f"backprop: {said}", drawn[1]]
    assert said in refused("explain", pets, "backprop")


def test_without_names_the_first_quick_ones_are_given_and_the_others_named(ok, pets, monkeypatch):
    monkeypatch.setattr("ftheta.jobs.trained.FIRST", 2)
    names = explain.available(ftheta.load(pets)[-1])
    quick = [name for name in names if catalog.view(name).cost == "quick"][:2]
    done = ok("explain", pets)
    headings = re.findall(r"^(.*\?) \((.*)\)$", done.out, re.MULTILINE)
    assert headings == [(catalog.view(name).question, name) for name in quick]
    assert f": {', '.join(name for name in names if name not in quick)}. --list" in done.err


def test_a_film_is_written_as_a_page(ft, ok, pets):
    done = ok("explain", pets, "film")
    assert "1 row: loss " in done.out and done.err.endswith(f"ftheta explain {pets} film --figures DIR writes it.\n")
    assert ok("explain", pets, "film", "--figures", "drawn").err == "drawn: drawn/film.html\n"
    page = Path("drawn/film.html").read_text(encoding="utf-8")
    assert page.startswith("<!DOCTYPE html>") and "Back-propagation through 3 layers" in page
    Path("drawn/film.svg").unlink(), Path("drawn/film.csv").unlink()
    assert "drawn/film.html exists" in ft("explain", pets, "film", "--figures", "drawn").err


def test_the_same_explanation_twice_is_the_same_and_changes_nothing(ok, pets):
    before = snapshot()
    first = ok("explain", "last", "curves")
    assert ok("explain", "last", "curves") == first and first.err == ""
    assert snapshot() == before
    ok("explain", "last", "curves", "--figures", "drawn")
    assert sorted(p.name for p in Path("drawn").iterdir()) == ["curves.csv", "curves.svg"]
    assert ok("explain", "last", "curves", "--figures", "again").out == first.out
    assert Path("drawn/curves.svg").read_bytes() == Path("again/curves.svg").read_bytes()


def test_the_list_says_what_there_is_without_data_and_draws_nothing(ok, pets):
    Path("pets.csv").unlink()
    before = snapshot()
    header, _, *rows = ok("explain", pets, "--list").out.splitlines()
    found = {row[0]: row[1:] for row in (re.split(" {2,}", row) for row in rows)}
    assert header.split() == ["explanation", "question", "cost", "what"]
    assert list(found) == explain.available(ftheta.load(pets)[-1])
    assert found["curves"] == ["How did training go?", "quick", "Learning curves, with the best epoch."]
    assert ok("explain", pets, "curves", "--list").out.splitlines()[2].startswith("curves")
    assert snapshot() == before


def test_rows_of_many_are_evenly_spaced(ok, pets, monkeypatch):
    monkeypatch.setattr(import_module("ftheta.jobs.prepare"), "EXPLAINED", 20)
    assert "Activations of 16 rows." in ok("explain", pets, "activations").out  # every third of 48


def test_a_run_on_pictures_is_explained(ok):
    from PIL import Image

    for label, grey in (("dark", 20), ("light", 200)):
        Path("pictures", label).mkdir(parents=True)
        for i in range(12):
            Image.new("L", (4, 4), grey + i).save(f"pictures/{label}/{i}.png")
    ok("train", "mlp", "pictures", *QUICK, "--run", "r")
    done = ok("explain", "r", "summary", "activations", "--figures", "drawn")
    assert "weight 8×16" in done.out and "Activations of 19 rows." in done.out
    assert sorted(p.name for p in Path("drawn").glob("*.svg")) == ["activations.svg", "summary.svg"]


def test_a_linear_model_shows_its_statistics_with_the_names_of_the_columns(ok):
    ok("train", "linear", "diabetes", "--run", "r")
    listed = ok("explain", "r", "--list").out
    assert "statistics" in listed and "solvers" in listed and "row-influence" in listed and "regions" not in listed
    shown = ok("explain", "r", "statistics", "--figures", "drawn").out
    assert "\nbmi " in shown and "Is it linear?" in shown and "1 - RSS/TSS" in shown  # the whole, not its table alone
    assert Path("drawn/statistics.svg").exists()


def test_statistics_are_of_all_rows_however_many_are_explained(ok, monkeypatch):
    monkeypatch.setattr(import_module("ftheta.jobs.prepare"), "EXPLAINED", 20)
    ok("train", "linear", table("prices.csv"), "--target", "price", "--run", "r")
    assert "48" in ok("explain", "r", "statistics").out.partition("-----")[0]  # 80 % of 60


@pytest.mark.middle
def test_a_classifier_of_words_without_probabilities_is_explained(ok):
    ok("train", "perceptron", table("pets.csv", "kind"), "--target", "kind", "--run", "r")
    done = ok("explain", "r", "row-influence", "regions", "--figures", "drawn")
    assert {p.name for p in Path("drawn").glob("*.svg")} == {"row-influence.svg", "regions.svg"}
    assert "moved along a from" in done.out and "Decision regions of 2 classes over a and b" in done.out


def test_an_unknown_explanation_is_answered_with_the_nearest(refused, pets):
    said = refused("explain", pets, "curves", "sumary")
    assert said.startswith("Unknown explanation of MLPClassifier: 'sumary'. Did you mean 'summary'?")
