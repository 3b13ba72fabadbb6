"""The film of a pass: its numbers are those of autograd, its page is closed, legible and can be moved."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
import torch
from torch import nn

from ftheta import MLPClassifier, explain
from ftheta.errors import InputError
from tests.jobs._browser import CHECK, browser


def net():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(2, 3), nn.Sigmoid(), nn.Linear(3, 1), nn.Sigmoid()).double()


X, Y = torch.tensor([[0.5, -1.0], [2.0, 1.0]], dtype=torch.float64), torch.tensor([1.0, 0.0], dtype=torch.float64)


class Skip(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.act, self.b = nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Linear(3, 2)

    def forward(self, x):
        return self.b(x + self.act(self.a(x)))


def test_small_supervised_nets_are_offered_a_film():
    assert "film" in explain.available(MLPClassifier(hidden=(4,), epochs=1).fit(X.numpy(), ["a", "b"]))
    assert "film" not in explain.available(MLPClassifier(hidden=(500, 500), epochs=1).fit(X.numpy(), ["a", "b"]))


def test_the_numbers_are_those_of_autograd_and_of_one_step():
    module = net()
    film = explain.film(module, X, Y, row=1, lr=0.5)
    assert explain.film(module, X, Y, lambda raw, y: 7 + 0 * raw.sum(1), row=1).loss == 7
    h, kept = X[1:], []
    for part in [nn.Identity(), *module]:
        h = part(h)
        if h.requires_grad:
            h.retain_grad()
        kept.append(h)
    loss = ((h[:, 0] - Y[1:]) ** 2).mean() / 2
    loss.backward()
    steps = film.steps
    assert [step.kind for step in steps] == ["input", "Linear", "Sigmoid", "Linear", "Sigmoid"]
    for step, truth in zip(steps[1:], kept[1:], strict=True):
        np.testing.assert_allclose(step.value[0], truth.detach()[0])
        np.testing.assert_allclose(step.delta[0], truth.grad[0])
    for name, p in module.named_parameters():
        np.testing.assert_allclose(film.gradient[name], p.grad)
    with torch.no_grad():
        for p in module.parameters():
            p.sub_(0.5 * p.grad)
        after = ((module(X[1:])[:, 0] - Y[1:]) ** 2).mean() / 2
    np.testing.assert_allclose([film.loss, film.loss_after], [float(loss.detach()), float(after)])
    assert film.targets == 0 and film.loss_after < film.loss


def test_a_way_past_a_layer_is_not_drawn_as_a_chain():
    film = explain.film(Skip(), torch.randn(1, 3), torch.randn(1, 2))
    assert [step.name for step in film.steps] == ["input", "a", "act", "+", "b"]
    lines = film.html().count("<line")
    assert lines == 2 * (9 + 6) + 3  # both dense layers before and after, and the activation; the sum has two parents


class Parts(HTMLParser):
    def __init__(self):
        super().__init__()
        self.frames, self.texts, self.tags, self.open = 0, [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.frames += "frame" in dict(attrs).get("class", "").split()

    def handle_data(self, data):
        self.texts.append(data.strip())


def test_the_page_has_every_number_and_fetches_nothing():
    film = explain.film(net(), X, Y, lr=0.5)
    page = film.html()
    parts = Parts()
    parts.feed(page)
    assert parts.frames == 5 + 1 + 5 + 1  # forward, loss, backward, update
    for step in film.steps:
        assert {*(f"{v:.3g}" for v in step.value[0]), *(f"δ {d:.3g}" for d in step.delta[0])} <= set(parts.texts)
    assert "default-src 'none'" in page and not re.search(r"https?:|src=|@import|url\(", page)
    assert all(button in page for button in ('id="play"', 'id="next"', 'id="back"', 'type="range"'))
    assert "prefers-reduced-motion" in page and page == explain.film(net(), X, Y, lr=0.5).html()
    lines = [a for tag, a in parts.tags if tag == "line"]
    assert sum(a["class"] == "minus" for a in lines) + sum(a["class"] == "plus" for a in lines) == 2 * (6 + 3)


def test_large_layers_show_some_of_their_units_and_lengths():
    big = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(18, 3))
    film = explain.film(big, torch.randn(2, 1, 8, 8), torch.tensor([1, 2]), row=1)
    page = film.html()
    assert "57 more" in page and "‖value‖ = " in page and "Conv2d 2×6×6" in page and film.targets == 2
    assert film.figure().axes[0].get_title()


def test_whole_numbers_as_input_and_an_estimator():
    words = nn.Sequential(nn.Embedding(5, 3), nn.Flatten(), nn.Linear(6, 2))
    film = explain.film(words, torch.tensor([[0, 4]]), torch.tensor([1]))
    assert film.html().count('class="frame"') == 4 + 1 + 3 + 1
    model = MLPClassifier(hidden=(3,), epochs=1, random_state=0).fit(X.numpy(), ["a", "b"])
    assert explain.film(model, X.numpy(), ["a", "b"], row=1).targets == 1


def test_a_file_is_not_overwritten_without_being_asked(tmp_path):
    film, path = explain.film(net(), X, Y), tmp_path / "film.html"
    assert film.save(path) == path and path.read_text(encoding="utf-8") == film.html()
    path.write_text("mine")
    with pytest.raises(InputError, match=r"film.html exists; choose another path, or for a file pass overwrite=True"):
        film.save(path)
    assert path.read_text() == "mine"
    assert film.save(path, overwrite=True).read_text(encoding="utf-8") == film.html()
    with pytest.raises(InputError, match=r"exists; choose another path"):
        film.save(tmp_path, overwrite=True)


@pytest.fixture(scope="module")
def chromium():
    with browser() as opened:
        yield opened


@pytest.fixture(scope="module")
def films(tmp_path_factory):
    folder = tmp_path_factory.mktemp("films")
    big = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 10), nn.Tanh(), nn.Linear(10, 3))
    explain.film(net(), X, Y).save(folder / "small.html")
    explain.film(big, torch.randn(1, 1, 8, 8), torch.tensor([2])).save(folder / "big.html")
    return folder


def press(chromium, key):
    chromium.run(f"document.dispatchEvent(new KeyboardEvent('keydown', {{key: {json.dumps(key)}}}))")


STATE = """(() => { const seen = e => e && getComputedStyle(e).visibility === "visible";
  return {frame: [...document.querySelectorAll(".frame")].findIndex(e => !e.hidden),
          frames: document.querySelectorAll(".frame").length,
          values: [...document.querySelectorAll("svg text.h")].filter(seen).length,
          deltas: [...document.querySelectorAll("svg text.d")].filter(seen).length,
          play: document.getElementById("play").textContent,
          slider: Number(document.getElementById("at").value)}; })()"""


@pytest.mark.middle
@pytest.mark.parametrize(("width", "dark"), [(400, True), (1200, False)])
@pytest.mark.parametrize("name", ["small", "big"])
def test_every_frame_is_legible_quiet_and_closed(chromium, films, name, width, dark):
    path = films / f"{name}.html"
    seen = chromium.open(path, width, dark=dark)
    assert seen.complaints == [] and [url for url in seen.requests if url != path.as_uri()] == []
    for _ in range(chromium.run(STATE)["frames"]):
        facts = chromium.run(CHECK)
        wrong = ("overlaps", "faint", "unnamed", "unscoped", "repeated", "dangling")
        assert {key: facts[key] for key in wrong if facts[key]} == {} and facts["scroll"] <= 0
        press(chromium, "ArrowRight")


@pytest.mark.middle
def test_values_come_layer_by_layer_then_deltas_then_the_update(chromium, films):
    chromium.open(films / "small.html", 1200)
    seen = []
    for _ in range(12):
        seen.append(chromium.run(STATE))
        press(chromium, "ArrowRight")
    assert [s["frame"] for s in seen] == list(range(12)) == [s["slider"] for s in seen]
    assert [s["values"] for s in seen] == [2, 5, 8, 9, 10, *[11] * 7]
    assert [s["deltas"] for s in seen] == [0, 0, 0, 0, 0, 0, 2, 3, 6, 9, 11, 10]  # the loss has δ 1 until it is new


@pytest.mark.middle
def test_buttons_and_keys_move_the_film_and_it_plays_and_pauses(chromium, films):
    chromium.open(films / "small.html", 1200)

    def frame():
        return chromium.run(STATE)["frame"]

    for id_, place in (("next", 1), ("next", 2), ("back", 1), ("first", 0)):
        chromium.run(f"document.getElementById('{id_}').click()")
        assert frame() == place
    for key, place in (("End", 11), ("ArrowLeft", 10), ("Home", 0), ("ArrowLeft", 0)):
        press(chromium, key)
        assert frame() == place
    press(chromium, " ")
    assert chromium.run(STATE)["play"] == "Pause"
    chromium.ask("Runtime.evaluate", expression="new Promise(done => setTimeout(done, 1900))", awaitPromise=True)
    assert frame() >= 1
    press(chromium, " ")
    assert chromium.run(STATE)["play"] == "Play"
    at = frame()
    chromium.ask("Runtime.evaluate", expression="new Promise(done => setTimeout(done, 1900))", awaitPromise=True)
    assert frame() == at
    chromium.run("const s = document.getElementById('at'); s.value = 7; s.dispatchEvent(new Event('input'))")
    assert frame() == 7


@pytest.mark.middle
def test_reduced_motion_is_respected(chromium, films):
    chromium.open(films / "small.html", 1200)
    asked = "getComputedStyle(document.querySelector('svg g')).transitionDuration"
    assert chromium.run(asked) == "0.3s"
    chromium.ask("Emulation.setEmulatedMedia", features=[{"name": "prefers-reduced-motion", "value": "reduce"}])
    assert chromium.run(asked) == "0s"
