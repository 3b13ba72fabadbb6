import hashlib
import json
import math
import os
import random
import re
import shutil
from pathlib import Path

import numpy as np
import pytest

from ftheta.errors import FileFormatError, InputError, InputTypeError, RunError, StoreError
from ftheta.store import Run



def state(step):
    return {"w": np.full(40, step, np.float32), "step": step}


@pytest.fixture
def path(tmp_path):
    """A run that is under way: three steps, of which the last two have a checkpoint; then one more row."""
    folder = tmp_path / "runs/a"
    with Run(folder) as run:
        run.write("config.toml", "seed = 1\n")
        run.write("figures/loss.svg", b"<svg/>")
        for step in (1, 2, 3):
            run.log({"step": step, "loss": 1 / step})
            run.checkpoint(state(step), step)
        run.log({"step": 4, "loss": 0.25})
    return folder


def names(folder):
    return sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file())


def steps(run, **options):
    return [row["step"] for row in run.rows(**options)]


def flip(file, position, bit=0):
    data = bytearray(file.read_bytes())
    data[position] ^= 1 << bit
    file.write_bytes(data)


# --- life of a run ----------------------------------------------------------------------------------------------------


def test_a_run_writes_nothing_before_it_is_used(tmp_path):
    run = Run(str(tmp_path / "a"))
    assert run.path == tmp_path / "a" and not run.exists() and run.status == "new" and not run.allow_inexact
    assert run.latest() is None and run.rows() == [] and not run.has("config.toml")
    assert run.verify() == [f"{tmp_path / 'a' / 'manifest.json'} is missing: nothing here can be verified."]
    assert list(tmp_path.iterdir()) == []
    assert Run(tmp_path, allow_inexact=True).allow_inexact


def test_a_run_goes_from_new_to_running_to_finished(path):
    run = Run(path)
    assert run.exists() and run.status == "running"
    kept = ["checkpoint-2.safetensors", "checkpoint-3.safetensors"]
    other = ["config.toml", "figures/loss.svg", "lock", "manifest.json", "metrics.jsonl"]
    assert names(path) == [*kept, *other]
    with run:
        assert run.latest()[1] == 3
        run.write("model.safetensors", state(3))
        run.finish()
        run.finish()
    assert run.status == "finished" and run.verify() == [] and run.latest() is None and steps(run) == [1, 2, 3]
    assert names(path) == sorted([*other, "model.safetensors"])
    assert run.tree("model.safetensors")["step"] == 3 and run.read("config.toml") == b"seed = 1\n"


def test_a_run_with_only_a_config_exists(tmp_path):
    (tmp_path / "config.toml").write_text("")
    assert Run(tmp_path).exists() and Run(tmp_path).status == "new"


def test_a_finished_run_takes_files_but_no_training(path):
    run = Run(path)
    run.finish()
    run.write("report.html", "<html>")
    for act in (lambda: run.log({"a": 1}), lambda: run.checkpoint({}, 9), lambda: run.rewind(0)):
        with pytest.raises(RunError, match=f"{path} is finished and cannot be trained further. Choose another --run."):
            act()
    with run:
        assert run.latest() is None
    assert steps(run) == [1, 2, 3, 4] and run.verify() == []


def test_a_model_alone_makes_a_small_folder(tmp_path):
    with Run(tmp_path / "m") as run:
        run.write("model.safetensors", {"a": 1})
        run.finish()
    assert names(tmp_path / "m") == ["lock", "manifest.json", "model.safetensors"] and run.verify() == []
    assert run.rows() == [] and run.rows(unsaved=True) == []


# --- files ------------------------------------------------------------------------------------------------------------


def test_the_manifest_says_what_is_there_and_seals_itself(path):
    *body, last = (path / "manifest.json").read_bytes().splitlines(keepends=True)
    manifest = json.loads(b"".join(body))
    assert last.decode().strip() == hashlib.sha256(b"".join(body)).hexdigest() == Run(path).digest
    for name, mark in manifest["files"].items():
        data = (path / name).read_bytes()
        assert mark == {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    metrics = (path / "metrics.jsonl").read_bytes()
    for n, entry in zip((2, 3), manifest["checkpoints"], strict=True):
        prefix = b"".join(metrics.splitlines(keepends=True)[:n])
        assert entry["step"] == n and entry["file"] == f"checkpoint-{n}.safetensors"
        assert entry["sha256"] == hashlib.sha256((path / entry["file"]).read_bytes()).hexdigest()
        assert entry["metrics"] == {"bytes": len(prefix), "sha256": hashlib.sha256(prefix).hexdigest()}


def test_files_can_be_replaced_and_repaired(path):
    run = Run(path)
    for text in ("seed = 2\n", "seed = 2\n", "seed = 3\n"):
        run.write("config.toml", text)
        assert run.read("config.toml").decode() == text and run.verify() == []
    flip(path / "config.toml", 0)
    run.write("config.toml", "seed = 3\n")
    assert run.verify() == []


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "/etc/x", "a\\b", "C:x", ".hidden", "figures/", "figures/../x", "figures/a/b", "x\n"]
    + ["lock", "manifest.json", "Metrics.jsonl", "checkpoint-1.safetensors", "a" * 300, "nul\0"],
)
def test_only_plain_names_can_be_written(path, name):
    before = names(path)
    with pytest.raises(InputError, match="cannot be a file of a run; expected a plain name that fθ does not use itself"):
        Run(path).write(name, b"")
    assert names(path) == before


def test_a_name_that_the_run_does_not_have_is_refused(path, tmp_path):
    with pytest.raises(RunError, match=r"has no file 'x', only config.toml, figures/loss.svg. Check the name."):
        Run(path).read("x")
    with pytest.raises(RunError, match="has no file 'x', only none"):
        Run(tmp_path).tree("x")


def test_text_that_utf8_cannot_hold_changes_nothing(path):
    with pytest.raises(InputError, match="which UTF-8 cannot hold"):
        Run(path).write("config.toml", "\ud800")
    assert Run(path).verify() == []


# --- metrics ----------------------------------------------------------------------------------------------------------


def test_rows_end_where_the_checkpoint_was_made(path):
    assert steps(Run(path)) == [1, 2, 3] and steps(Run(path), unsaved=True) == [1, 2, 3, 4]


def test_rows_without_a_checkpoint_are_all_complete_lines(tmp_path):
    run = Run(tmp_path)
    run.log({"loss": np.float32(0.5), "n": np.int64(3), "bad": math.nan, "worse": -math.inf, "ok": True})
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"loss": 0.2')
    (row,) = run.rows()
    assert row == {"loss": 0.5, "n": 3, "bad": row["bad"], "worse": row["worse"], "ok": True}
    assert math.isnan(row["bad"]) and math.isnan(row["worse"])
    run.log({"loss": 0.1})
    assert [r["loss"] for r in run.rows()] == [0.5, 0.1]  # the half line is gone


def test_metrics_are_strict_json_and_reach_the_file_at_once(path):
    with Run(path) as run:
        run.log({"loss": math.inf})
        assert (path / "metrics.jsonl").read_bytes().endswith(b'}\n{"loss": null}\n')


@pytest.mark.parametrize(("line", "message"), [(b"{]", "metrics.jsonl line 1: not strict JSON"), (b"[]", "not a row")])
def test_a_line_that_is_not_a_row_is_named(tmp_path, line, message):
    (tmp_path / "metrics.jsonl").write_bytes(line + b"\n")
    with pytest.raises(FileFormatError, match=message):
        Run(tmp_path).rows()


def test_a_row_holds_numbers(path):
    with pytest.raises(InputTypeError, match="name='adam' in a row of metrics is a str, expected a number."):
        Run(path).log({"name": "adam"})


# --- checkpoints ------------------------------------------------------------------------------------------------------


def test_a_reader_gets_the_newest_state_and_changes_nothing(path):
    before = {name: (path / name).read_bytes() for name in names(path)}
    tree, step = Run(path).latest()
    assert step == 3 and np.array_equal(tree["w"], state(3)["w"])
    assert {name: (path / name).read_bytes() for name in names(path)} == before


def test_rows_after_the_checkpoint_are_dropped_when_a_run_goes_on(path):
    with Run(path) as run:
        run.latest()
        run.log({"step": 4})
        run.checkpoint(state(4), 4)
    assert steps(Run(path), unsaved=True) == [1, 2, 3, 4] and Run(path).verify() == []


def test_a_run_killed_before_its_first_checkpoint_starts_with_an_empty_log(tmp_path):
    Run(tmp_path).log({"step": 1})
    with Run(tmp_path) as run:
        assert run.latest() is None
        run.log({"step": 1})
    assert steps(run) == [1]


def test_rewind_goes_back_to_a_checkpoint_or_to_the_start(path):
    run = Run(path)
    with pytest.raises(InputError, match="has no checkpoint of step 7; rewind to one that it has, or to 0."):
        run.rewind(7)
    run.rewind(2)
    assert run.latest()[1] == 2 and steps(run, unsaved=True) == [1, 2] and run.verify() == []
    assert "checkpoint-3.safetensors" not in names(path)
    run.rewind(0)
    assert run.latest() is None and run.rows() == [] and run.verify() == [] and run.status == "running"


def test_the_same_step_can_be_saved_again(path):
    with Run(path) as run:
        for value in (10, 11, 12):
            run.checkpoint(state(value), 3)
            assert run.latest()[0]["step"] == value and run.verify() == []
    assert [n for n in names(path) if "checkpoint" in n][0] == "checkpoint-2.safetensors"
    assert len(names(path)) == 7


def test_a_step_is_a_count(path):
    with pytest.raises(InputError, match="step=-1, expected at least 0; count the steps that are done."):
        Run(path).checkpoint({}, -1)


def test_an_error_in_saving_names_the_last_good_checkpoint(path, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(PermissionError(13, "no")))
    with pytest.raises(StoreError, match=r"Cannot write .*checkpoint-4.safetensors: Permission.*checkpoint: step 3\.$"):
        Run(path).checkpoint(state(4), 4)
    with pytest.raises(StoreError, match=r"Cannot write .*manifest.json: Permission.*Last good checkpoint: none\.$"):
        Run(tmp_path / "b").checkpoint(state(4), 4)


# --- damage -----------------------------------------------------------------------------------------------------------


def test_a_damaged_checkpoint_is_named_and_the_one_before_is_used(path):
    expected = hashlib.sha256((path / "checkpoint-3.safetensors").read_bytes()).hexdigest()
    flip(path / "checkpoint-3.safetensors", -1)
    got = hashlib.sha256((path / "checkpoint-3.safetensors").read_bytes()).hexdigest()
    sentence = f"checkpoint-3.safetensors digest differs (expected {expected[:4]}.., got {got[:4]}..): file damaged."
    run = Run(path)
    with pytest.warns(UserWarning, match=re.escape(f"step-00003: {sentence} Resuming from step 2.") + "$"):
        tree, step = run.latest()
    assert step == tree["step"] == 2 and steps(run) == [1, 2]
    assert run.verify() == [f"{path}: {sentence}"]
    with run, pytest.warns(UserWarning, match="Resuming from step 2"):
        run.latest()
        run.log({"step": 3})
        run.checkpoint(state(3), 3)
    assert run.verify() == [] and run.latest()[1] == 3 and steps(run, unsaved=True) == [1, 2, 3]


def test_a_missing_checkpoint_is_damage_too(path):
    (path / "checkpoint-3.safetensors").unlink()
    with pytest.warns(UserWarning, match="checkpoint-3.safetensors cannot be read: No such file.*Resuming from step 2"):
        assert Run(path).latest()[1] == 2


def test_without_a_whole_checkpoint_a_run_cannot_go_on(path):
    a, b = (path / f"checkpoint-{n}.safetensors" for n in (2, 3))
    a.rename(path / "c"), b.rename(a), (path / "c").rename(b)  # two files swapped
    for _ in range(2):
        with pytest.raises(FileFormatError, match="no whole checkpoint: step-00003: checkpoint-3.* Start a new run."):
            with Run(path) as run:
                run.latest()
    assert len(run.verify()) == 2 and a.exists() and b.exists()


def test_damaged_metrics_take_the_run_back_to_the_checkpoint_before(path):
    size = (path / "metrics.jsonl").read_bytes().index(b'{"step": 3')
    flip(path / "metrics.jsonl", size + 3)
    with pytest.raises(FileFormatError, match="metrics.jsonl digest differs"):
        Run(path).rows()
    with pytest.raises(FileFormatError, match="metrics.jsonl digest differs"):
        Run(path).log({"step": 9})  # which would seal the damage
    with Run(path) as run, pytest.warns(UserWarning, match="step-00003: metrics.jsonl digest differs .* step 2"):
        assert run.latest()[1] == 2
    assert steps(run) == [1, 2] and run.verify() == []


def test_every_byte_of_the_manifest_counts(path):
    file, rng = path / "manifest.json", random.Random(0)
    data, before = file.read_bytes(), names(path)
    run = Run(path)
    acts = [run.latest, run.rows, run.__enter__, lambda: run.read("config.toml"), lambda: run.status]
    acts += [lambda: run.checkpoint({}, 9), run.finish, lambda: run.write("x", b""), lambda: run.log({"a": 1})]
    (path / "checkpoint-1.safetensors").write_bytes(b"stale")
    for position in range(len(data)):
        file.write_bytes(data[:position] + bytes([data[position] ^ 1 << rng.randrange(8)]) + data[position + 1 :])
        assert len(run.verify()) == 1
        with pytest.raises(FileFormatError, match="manifest.json"):
            acts[position % len(acts)]()
        file.write_bytes(data[:position])
        assert len(run.verify()) == 1
    assert names(path) == sorted([*before, "checkpoint-1.safetensors"])  # nothing was deleted
    file.write_bytes(data)
    with run:
        assert names(path) == before  # and now the stale one is


def seal(content):
    body = (content if isinstance(content, str) else json.dumps(content)).encode() + b"\n"
    return body + hashlib.sha256(body).hexdigest().encode() + b"\n"


MARK = {"bytes": 1, "sha256": "00"}
ENTRY = {"step": 1, "file": "checkpoint-1.safetensors", **MARK, "metrics": MARK}
GOOD = {"format": 1, "status": "running", "files": {"a": MARK}, "checkpoints": [ENTRY]}


@pytest.mark.parametrize(
    "content",
    ["[]", "1", "{]", GOOD | {"format": 2}, GOOD | {"status": "done"}, GOOD | {"files": []}, GOOD | {"status": "finished"}]
    + [GOOD | {"files": {name: MARK}} for name in ("../x", "/etc/passwd", "figures/../../x")]
    + [GOOD | {"files": {"a": mark}} for mark in (1, {}, MARK | {"bytes": "1"}, MARK | {"also": 1})]
    + [GOOD | {"checkpoints": [entry]} for entry in (1, MARK, ENTRY | {"file": "../x"}, ENTRY | {"metrics": 1})]
    + ['{"format": 1, "format": 1}', "[" * 100_000],
)
def test_a_manifest_of_another_make_is_refused_even_if_its_seal_is_right(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(seal(GOOD))
    assert Run(tmp_path).status == "running"
    (tmp_path / "manifest.json").write_bytes(seal(content))
    with pytest.raises(FileFormatError, match="manifest.json: not (a manifest that this version of fθ reads|strict JSON)"):
        _ = Run(tmp_path).status


def test_a_lost_manifest_deletes_nothing(path):
    (path / "manifest.json").unlink()
    before = names(path)
    for act in (Run(path).latest, Run(path).__enter__, lambda: Run(path).write("x", b"")):
        with pytest.raises(FileFormatError, match="manifest.json is missing beside checkpoints; nothing was deleted"):
            act()
    assert names(path) == before and len(Run(path).verify()) == 1


@pytest.mark.parametrize("finished", [False, True])
def test_50_flipped_bits_and_50_cuts_are_all_noticed(path, tmp_path, finished):
    rng = random.Random(finished)
    if finished:
        Run(path).write("model.safetensors", state(3))
        Run(path).finish()
    sealed = json.loads((path / "manifest.json").read_text().rpartition("}")[0] + "}")
    length = sealed.get("metrics", {"bytes": sealed["checkpoints"][-1]["metrics"]["bytes"]} if not finished else None)["bytes"]
    files = [name for name in names(path) if name != "lock"]
    for i in range(100):
        broken = tmp_path / "broken"
        shutil.copytree(path, broken)
        name = files[i // 2 % len(files)]
        size = length if name == "metrics.jsonl" else (path / name).stat().st_size
        if i % 2:
            flip(broken / name, rng.randrange(size), rng.randrange(8))
        else:
            (broken / name).write_bytes((path / name).read_bytes()[: rng.randrange(size)])
        problems = Run(broken).verify()
        assert problems and any(Path(name).name in problem for problem in problems), name
        if name in sealed["files"]:
            with pytest.raises(FileFormatError, match=f"{name} digest differs"):
                Run(broken).read(name)
        shutil.rmtree(broken)


def test_what_was_appended_to_a_finished_log_is_noticed(path):
    Run(path).finish()
    with (path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 9}\n')
    assert "metrics.jsonl digest differs" in Run(path).verify()[0]
    with pytest.raises(FileFormatError, match="metrics.jsonl digest differs"):
        Run(path).rows()


def test_entering_removes_what_was_left_over_and_nothing_else(path):
    stale = ["checkpoint-1.safetensors", ".config.toml.0123abcd.tmp", "figures/.loss.svg.0123abcd.tmp"]
    own = ["notes.txt", ".hidden", "x.tmp", "checkpoint-best.safetensors", "figures/mine.png"]
    before = names(path)
    for name in stale + own:
        (path / name).write_bytes(b"")
    with Run(path):
        assert names(path) == sorted(before + own)
