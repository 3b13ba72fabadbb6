"""Sequences on the command line: a long table with --group, a folder of tables, and an NPZ file."""

import re

import numpy as np
import pandas as pd
import pytest

from ftheta import jobs

QUICK = ("--epochs", "2", "--hidden", "4", "--no-report")


def steps(n=30):
    """Rising and falling lines of 3 to 7 steps, mixed rows; `sign` is of each step, `kind` of each line."""
    rng, rows = np.random.default_rng(0), []
    for i in range(n):
        y = (2 * (i % 2) - 1) * np.linspace(-1, 1, rng.integers(3, 8)) + 0.1 * rng.normal()
        for t, v in enumerate(y):
            kind, sign = ("fall", "rise")[i % 2], ("minus", "plus")[int(v > 0)]
            rows.append({"id": 100 + i, "t": t, "v": round(float(v), 3), "at": "ab"[i % 2], "kind": kind, "sign": sign})
    return pd.DataFrame(rows).sample(frac=1, random_state=0)


@pytest.mark.middle
def test_a_long_table_is_trained_on_predicted_and_evaluated(ok):
    long = steps().drop(columns="sign")
    long.to_csv("long.csv", index=False)
    done = ok("train", "lstm", "long.csv", "--group", "id", "--time-column", "t", "--target", "kind", *QUICK)
    assert "lstm (classify) on long: 24 training, 6 test rows, 2 columns, 3 to 7 steps" in done.err
    new = long[long.id < 105].drop(columns="kind")
    new.to_csv("new.csv", index=False)
    ok("predict", "last", "new.csv", "-o", "out.csv")
    out = pd.read_csv("out.csv")
    assert out["id"].tolist() == list(dict.fromkeys(new["id"])) and list(out)[1:] == [
        "prediction",
        "p(fall)",
        "p(rise)",
    ]
    model = jobs.open("last")
    sequence = new[new.id == out["id"][0]].sort_values("t")[["v", "at"]]
    p = model.model.predict_proba(model.encoder.transform([sequence]))
    np.testing.assert_allclose(out.loc[0, ["p(fall)", "p(rise)"]].to_numpy(float), p[0], rtol=1e-5)
    assert "(n = 30)" in ok("evaluate", "last", "long.csv").out
    page = model.report().read_text()
    assert "Which columns matter" not in page
    wrong = page.split("rows were predicted wrongly")[1].split("</table>")[0]  # by name, not by number alone
    assert re.findall(r"<th[^>]*>([^<]+)", wrong) == ["row", "id", "steps", "true", "predicted", "p(true class)"]


@pytest.mark.middle
def test_steps_are_tagged_and_the_report_shows_it(ok):
    long = steps().drop(columns="kind")
    long.to_csv("long.csv", index=False)
    done = ok(
        "train", "gru", "long.csv", "--group", "id", "--time-column", "t", "--target", "sign", *QUICK[:-1], "--report"
    )
    assert "gru (tag)" in done.err and "whole sequences" in done.out and "always 'minus'" in done.out
    ok("predict", "last", "long.csv", "-o", "out.csv")
    out = pd.read_csv("out.csv")
    assert list(out) == ["id", "step", "prediction", "p(minus)", "p(plus)"] and len(out) == len(long)
    assert out["id"].tolist() == [i for i in dict.fromkeys(long["id"]) for _ in range((long["id"] == i).sum())]
    assert out.groupby("id")["step"].apply(list).map(lambda s: s == list(range(1, len(s) + 1))).all()
    found = jobs.open("last")
    page = (found.run.path / "report.html").read_text()
    assert "Confusion matrix of the steps" in page and "sequences have a wrong step" in page
    assert "accuracy" in ok("evaluate", "last", "long.csv").out
    ok("train", "rnn", "long.csv", "--group", "id", "--time-column", "t", "--target", "sign", *QUICK)
    compared = jobs.compare_runs([jobs.open("last").run, found.run])
    assert len(compared.pairs) == 1 and len(list(compared.tables())) == 3


@pytest.mark.middle
def test_a_folder_and_an_npz_file_are_trained_on(ok, tmp_path):
    for (i, kind), rows in steps().sort_values("t").groupby(["id", "kind"]):
        (tmp_path / "lines" / kind).mkdir(parents=True, exist_ok=True)
        rows[["v", "at"]].to_csv(tmp_path / "lines" / kind / f"{i}.csv", index=False)
    assert "first values" in ok("data", "show", "lines").out
    ok("train", "rnn", "lines", *QUICK)
    ok("predict", "last", "lines/rise", "-o", "out.csv")
    assert pd.read_csv("out.csv")["sequence"].tolist() == list(range(101, 130, 2))
    ok("predict", "last", "lines/rise/101.csv", "-o", "one.csv")
    assert len(pd.read_csv("one.csv")) == 1
    ordered = steps().sort_values(["id", "t"])
    whole = ordered.groupby("id")
    np.savez("s.npz", values=ordered[["v"]], lengths=whole.size(), y=whole["v"].sum())
    assert "lstm (regress) on s: " in ok("train", "lstm", "s.npz", *QUICK).err
    ok("predict", "last", "s.npz", "-o", "npz.csv")
    assert len(pd.read_csv("npz.csv")) == 30


def test_words_of_a_column_are_tokens(ok):
    words = [("the", "det"), ("cat", "noun"), ("ran", "verb"), ("fast", "adv")]
    rows = [{"id": i, "word": w, "part": p} for i in range(20) for w, p in words[i % 2 : 3 + i % 2]]
    pd.DataFrame(rows).to_csv("words.csv", index=False)
    ok("train", "lstm", "words.csv", "--group", "id", "--target", "part", *QUICK)
    model = jobs.open("last").model
    assert list(model.input_.facts["tokens"]) == ["cat", "fast", "ran", "the"]


def test_what_is_not_a_set_of_sequences_is_refused_in_a_sentence(refused):
    steps().to_csv("long.csv", index=False)
    take = ("train", "lstm", "long.csv", "--target", "kind")
    assert "--group COLUMN makes a sequence of the rows with equal cells" in refused(*take)
    assert "--group: Unknown column 'idd'" in refused(*take, "--group", "idd")
    assert "takes one number" in refused(*take, "--group", "id", "--hidden", "8,8")
    both = refused("train", "lstm", "long.csv", "--target", "v", "--group", "id")
    assert "numbers are learned of whole sequences" in both
