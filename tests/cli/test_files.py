"""Files as people have them: how they are read, on the command line."""

import json
import zipfile
from pathlib import Path

import click
import numpy as np

from ftheta.cli import compare, train, tune
from tests.cli._things import write

WORDS = "the a to and of it i you is in".split()
RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 2)).round(3)
ROWS = [["a", "b", "y"], *np.column_stack([X, (X[:, 0] + RNG.normal(0, 0.1, 60)).round(3)]).tolist()]
BELOW = [["Sales of 2024"], ["by region"], *ROWS]


def test_how_rows_are_chosen_is_asked_in_the_same_words_everywhere():
    def words(module):
        return {p.name: (p.opts, p.help) for p in module.command.params if isinstance(p, click.Option)}

    shared = set(words(train)) & set(words(compare)) & set(words(tune))
    assert {"target", "task", "seed", "test", "validation", "split", "group", "time_column"} <= shared
    assert {"encoding", "sheet", "skip_rows"} <= shared
    for name in shared - {"report", "json", "run", "resume", "time", "metric"}:
        assert words(train)[name] == words(compare)[name] == words(tune)[name]


def test_a_table_below_a_title_is_trained_on_and_predicted(ok, refused):
    write("below.csv", *BELOW)
    write("plain.csv", *ROWS)
    with zipfile.ZipFile("both.zip", "w") as archive:
        archive.write("below.csv", "below.csv")
        archive.write("plain.csv", "plain.csv")
    assert "--skip-rows 2" in refused("train", "ridge", "below.csv", "--target", "y")
    same = ("--no-report", "--run")
    ok("train", "ridge", "below.csv", "--target", "y", "--skip-rows", "2", *same, "r")
    ok("train", "ridge", "both.zip", "--target", "y", "--sheet", "plain.csv", *same, "s")
    told = [ok("predict", run, *file).out for run, *file in (
        ("r", "below.csv"), ("r", "plain.csv", "--skip-rows", "0"), ("s", "both.zip"), ("s", "plain.csv"),
        ("r", "both.zip", "--sheet", "below.csv", "--skip-rows", "2"),
    )]  # fmt: skip
    assert len(set(told)) == 1 and told[0].count("\n") == len(ROWS)
    assert "skip_rows = 2" in Path("r/config.toml").read_text(encoding="utf-8")
    assert "both (table): 60 rows" in ok("data", "show", "both.zip", "--sheet", "plain.csv").out
    assert "2 tables (below.csv, plain.csv)" in refused("evaluate", "r", "both.zip")


def test_row_names_are_left_out_and_what_joins_rows_is_told(ok):
    """R's birthwt: its row names tell the class; visits of the same patients on several days."""
    n = 60
    names = [*range(85, 85 + n // 2), *range(4, 4 + n // 2)]
    rows = [["", "patient_id", "day", "size", "low"]]
    rows += [[names[i], i % 12, f"2024-01-{1 + i % 28:02}", X[i, 0], int(i >= n // 2)] for i in range(n)]
    write("birth.csv", *rows)
    said = ok("train", "linear", "birth.csv", "--target", "low", "--no-report").err
    assert "'column 1' left out: an identifier" in said
    assert "'patient_id' looks like an identifier of 12 groups" in said and "use --group patient_id" in said
    assert "'day' holds dates and rows are held out at random" in said and "--time-column day" in said
    write("few.csv", ["id", "size", "y"], *([i, *row[:2]] for i, row in enumerate(ROWS[1:13])))
    assert "identifier" not in ok("train", "linear", "few.csv", "--target", "y", "--no-report").err  # one row for each
    quiet = ("--group", "patient_id", "--split", "random")
    said = ok("train", "linear", "birth.csv", "--target", "low", "--no-report", *quiet).err
    assert "looks like an identifier" not in said and "at random" not in said


def test_tasks_have_their_usual_names_and_missing_files_their_own_sentence(ok, refused):
    write("plain.csv", *ROWS)
    said = ok("train", "linear", "plain.csv", "--target", "y", "--task", "regression", "--no-report")
    assert "linear (regress) on plain" in said.err
    sentence = refused("train", "linear", "housing", "--target", "y")
    assert sentence.startswith("housing: there is no data set and no file of this name in ")
    assert "Did you mean" not in sentence and "iris" not in sentence
    assert "Did you mean 'plain.csv'?" in refused("train", "linear", "plan", "--target", "y")
    for option, column, free in (("--group", "bb", "Known: a, b."), ("--time-column", "y", "used for something else")):
        assert free in refused("train", "linear", "plain.csv", "--target", "y", option, column)
    write("new.csv", ["a", "bb"], [1, 2])
    assert "Column 'b' is missing (is it 'bb'?)" in refused("predict", "last", "new.csv")
    write("new.csv", ["a", "c"], [1, 2])
    assert "Column 'b' is missing: the model" in refused("predict", "last", "new.csv")


def test_integers_as_a_target_say_how_they_were_taken(ok):
    for name, top, taken in (
        ("visits", 5, "6 classes; as numbers: --task regress"),
        ("many", 39, "numbers; of counts"),
    ):
        write(f"{name}.csv", ["a", "n"], *([X[i % len(X), 0], i % (top + 1)] for i in range(160)))
        said = ok("train", "linear", f"{name}.csv", "--target", "n", "--no-report").err
        assert f"the target 'n' holds integers from 0 to {top} and was taken as {taken}" in said
        assert "--set likelihood=poisson" in said
        said = ok("train", "linear", f"{name}.csv", "--target", "n", "--no-report", "--task", "regress").err
        assert "integers" not in said
    rate = ok("train", "mlp", "visits.csv", "--target", "n", "--no-report", "--task", "regress", "--epochs", 2,
              "--set", "likelihood=poisson")  # fmt: skip
    assert "mlp (regress)" in rate.err
    write("two.csv", ["a", "n"], *([X[i % len(X), 0], i % 2] for i in range(60)))
    assert "integers" not in ok("train", "linear", "two.csv", "--target", "n", "--no-report").err


def test_a_file_of_labels_and_texts_trains_and_is_not_exported(ok, refused):
    spam, ham = "win free cash now".split(), "lunch home see later".split()
    kinds = RNG.random(120) < 0.4
    texts = [" ".join(RNG.permutation([*RNG.choice(WORDS, 8), *RNG.choice(spam if k else ham, 3)])) for k in kinds]
    write("spam.csv", ["label", "text"], *(["spam" if k else "ham", t] for k, t in zip(kinds, texts, strict=True)))
    done = ok("train", "lda", "spam.csv", "--target", "label", "--no-report", "--json")
    scores = next(json.loads(line) for line in done.out.splitlines() if '"result"' in line)
    assert scores and "identifier" not in done.err
    write("new.csv", ["text"], ["the win and free a cash to it now"], ["lunch in the home of see later you"])
    assert [line.split(",")[0] for line in ok("predict", "last", "new.csv").out.splitlines()[1:]] == ["spam", "ham"]
    assert "'text' is free text, which scripts do not encode" in refused("export", "last")


def test_units_are_kept_with_a_run(ok, refused):
    write("units.csv", ["a", "b", "y"], *([f"{a} m2", b, f"{y} EUR"] for a, b, y in ROWS[1:]))
    said = ok("train", "linear", "units.csv", "--target", "y", "--no-report", "--task", "regression").err
    assert "column 'a': numbers in m2" in said and "column 'y': numbers in EUR" in said
    answers = []
    for unit in (" m2", "", " sqft"):
        write("new.csv", ["a", "b"], [f"1{unit}", 0], [f"2{unit}", 0])
        answers.append(ok("predict", "last", "new.csv"))
    assert answers[0].out == answers[1].out != answers[2].out
    assert "2 cells could not be read as numbers ('1 sqft'), taken as missing" in answers[2].err
    assert "'a' have a unit" in refused("export", "last")
