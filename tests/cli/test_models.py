"""`ftheta models`: the catalog, as a table and as JSON."""

import json

from ftheta.catalog import CARDS


def test_every_model_has_a_line(ok):
    header, _, *lines = ok("models").out.splitlines()
    assert header.split() == ["model", "tasks", "input", "what", "it", "is"]
    assert [line.split()[0] for line in lines] == list(CARDS)
    assert any("Multi-layer perceptron" in line and "classify, regress" in line for line in lines)


def test_json_holds_the_whole_card(ok):
    cards = [json.loads(line) for line in ok("models", "--json").out.splitlines()]
    found = {card["name"]: {(t["kind"], t["task"]): t["class"] for t in card["targets"]} for card in cards}
    assert found == {name: card.targets for name, card in CARDS.items()}
