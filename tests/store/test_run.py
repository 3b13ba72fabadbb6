import hashlib
import json
import math
import os
import zlib

import numpy as np
import pytest

from ftheta.errors import FileFormatError, InputError, InputTypeError, RunError, StoreError
from ftheta.store import Run
from tests.store._runs import flip, names, state, steps

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
    other = [".manifest.json.copy", "config.toml", "figures/loss.svg", "lock", "manifest.json", "metrics.jsonl"]
    assert names(path) == sorted([*kept, *other])
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
    assert names(tmp_path / "m") == [".manifest.json.copy", "lock", "manifest.json", "model.safetensors"]
    assert run.verify() == []
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
    with pytest.raises(
        InputError, match="cannot be a file of a run; expected a plain name that fθ does not use itself"
    ):
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
        assert (path / "metrics.jsonl").read_bytes().splitlines()[-1].startswith(b'{"loss": null, ')


ROWS = [{"a": [1]}, {"a": {}}, {"a": "text"}, {"a": 10**400}, {"\x1b[2J": 1}, {"a": [[[]]]}, [], None, 1, "text"]


def checked(row):
    """A line whose check sum is right, whatever is in it."""
    return json.dumps(row | {"crc": zlib.crc32(json.dumps(row).encode())} if isinstance(row, dict) else row).encode()


@pytest.mark.parametrize("line", [b"{]", b"\0", b"{}", b'{"a": 1}', b'{"a": NaN}', b"[" * 9999, *map(checked, ROWS)])
def test_a_line_that_is_not_a_row_is_named(tmp_path, line):
    (tmp_path / "metrics.jsonl").write_bytes(checked({"loss": 0.5}) + b"\n")
    assert Run(tmp_path).rows() == [{"loss": 0.5}]
    with (tmp_path / "metrics.jsonl").open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(FileFormatError, match="metrics.jsonl line 2: not a row of numbers as it was written"):
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
    assert len(names(path)) == 8


def test_a_step_is_a_count(path):
    with pytest.raises(InputError, match="step=-1, expected at least 0; count the steps that are done."):
        Run(path).checkpoint({}, -1)


def test_the_log_is_durable_before_a_checkpoint_speaks_of_it(path, monkeypatch):
    calls, fsync, replace = [], os.fsync, os.replace
    log = (path / "metrics.jsonl").stat().st_ino
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append("log" if os.fstat(fd).st_ino == log else ""), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b, **at: (calls.append(b), replace(a, b, **at)))
    for act in (lambda: Run(path).checkpoint(state(5), 5), lambda: Run(path).finish()):
        act()
        named = [call for call in calls if call]
        assert named[0] == "log" and named[-1] == "manifest.json", calls
        calls.clear()


def test_an_error_in_saving_names_the_last_good_checkpoint(path, monkeypatch, tmp_path):
    monkeypatch.setattr(os, "replace", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "no")))
    with pytest.raises(StoreError, match=r"Cannot write .*checkpoint-4.safetensors: Permission.*checkpoint: step 3\.$"):
        Run(path).checkpoint(state(4), 4)
    with pytest.raises(StoreError, match=r"Cannot write .*manifest.json: Permission.*Last good checkpoint: none\.$"):
        Run(tmp_path / "b").checkpoint(state(4), 4)
