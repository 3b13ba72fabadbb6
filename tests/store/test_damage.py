"""Bit rot, cuts, swaps and lost files in a run: always noticed, named, and gone round where that is possible."""

import contextlib
import hashlib
import json
import random
import re
import shutil
from pathlib import Path

import pytest

from ftheta.errors import FileFormatError
from ftheta.store import Run
from ftheta.store._kept import Kept
from tests.store._runs import both, flip, names, state, steps


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
        with pytest.raises(FileFormatError, match="no complete checkpoint: step-00003: checkpoint-3.* Start a new"):
            with Run(path) as run:
                run.latest()
    assert len(run.verify()) == 2 and a.exists() and b.exists()


@pytest.mark.parametrize("line", [1, 2, 3])
@pytest.mark.parametrize("damage", ["flipped bit", "other digit", "garbage", "cut", "lost"])
def test_a_damaged_line_of_metrics_costs_the_rows_from_there_on_and_no_checkpoint(path, line, damage):
    file = path / "metrics.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    start = sum(map(len, lines[: line - 1]))
    if damage == "flipped bit":
        flip(file, start + 3)
    elif damage == "lost":
        file.unlink()
    else:
        bad = {"other digit": lines[line - 1].replace(b"loss", b"1oss"), "garbage": b"\0\xff\n", "cut": b""}[damage]
        rest = b"" if damage == "cut" else b"".join(lines[line:])
        file.write_bytes(b"".join(lines[: line - 1]) + bad + rest)
    with pytest.raises(FileFormatError, match="metrics.jsonl digest differs"):
        Run(path).rows()
    with pytest.raises(FileFormatError, match="metrics.jsonl digest differs"):
        Run(path).log({"step": 9})  # which would seal the damage
    good = list(range(1, 1 if damage == "lost" else line))
    with Run(path) as run, pytest.warns(UserWarning, match=f"metrics.jsonl is damaged after line {len(good)} and"):
        tree, step = run.latest()
        assert step == tree["step"] == 3 and steps(run) == good and run.verify() == []
        run.log({"step": 4})
        run.checkpoint(state(4), 4)
    assert steps(Run(path)) == [*good, 4] and Run(path).verify() == []
    flip(path / "checkpoint-4.safetensors", -1)  # the checkpoint before is as good as ever
    with Run(path) as run, pytest.warns(UserWarning, match="Resuming from step 3"):
        assert run.latest()[1] == 3 and steps(run) == good


def test_damaged_metrics_beside_a_damaged_checkpoint(path):
    flip(path / "metrics.jsonl", 3)
    flip(path / "checkpoint-3.safetensors", -1)
    with Run(path) as run, pytest.warns(UserWarning) as caught:
        assert run.latest()[1] == 2 and steps(run) == [] and run.verify() == []
    assert "Resuming from step 2" in str(caught[0].message) and "damaged after line 0" in str(caught[1].message)


@pytest.mark.parametrize("name", ["manifest.json", "fit.json", "split.safetensors"])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("harm", ["flipped", "empty", "cut", "lost"])
def test_of_two_copies_the_good_one_is_used_and_the_other_restored(path, name, which, harm):
    with Run(path) as run:
        run.write("fit.json", "{}")
        run.write("split.safetensors", {"train": [1, 2]})
    whole = {file: file.read_bytes() for file in both(path, name)}
    assert len(set(whole.values())) == 1
    file = both(path, name)[which]
    data = file.read_bytes()
    if harm == "lost":
        file.unlink()
    else:
        file.write_bytes({"flipped": bytes([data[0] ^ 1]) + data[1:], "empty": b"", "cut": data[:-9]}[harm])
    spoiled = {f: f.read_bytes() for f in path.rglob("*") if f.is_file()}
    reader = Run(path)
    assert reader.read("fit.json") == b"{}" and reader.tree("split.safetensors") == {"train": [1, 2]}
    assert reader.latest()[1] == 3 and reader.check() is reader and steps(reader) == [1, 2, 3]
    assert [file.name in problem for problem in reader.verify()] == [True] * (harm != "lost")
    assert {f: f.read_bytes() for f in path.rglob("*") if f.is_file()} == spoiled  # readers write nothing
    said = contextlib.nullcontext() if harm == "lost" else pytest.warns(UserWarning, match=f"{file.name} is not as it")
    with said:
        Run(path).write("other", b"")
    assert Run(path).verify() == []
    assert name == "manifest.json" or {file: file.read_bytes() for file in both(path, name)} == whole
    assert len({file.read_bytes() for file in both(path, name)}) == 1


@pytest.mark.middle
def test_every_byte_of_the_manifest_counts(path):
    file, rng = path / "manifest.json", random.Random(0)
    (path / ".manifest.json.copy").unlink()
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
        assert names(path) == sorted([*before, ".manifest.json.copy"])  # and now the stale one is


def seal(content):
    body = (content if isinstance(content, str) else json.dumps(content)).encode() + b"\n"
    return body + hashlib.sha256(body).hexdigest().encode() + b"\n"


MARK = {"bytes": 1, "sha256": "0" * 64}
ENTRY = {"step": 1, "file": "checkpoint-1.safetensors", **MARK, "metrics": MARK}
GOOD = {"format": 1, "status": "running", "files": {"a": MARK}, "checkpoints": [ENTRY]}


@pytest.mark.parametrize(
    "content",
    ["[]", "1", "{]", GOOD | {"format": 2}, GOOD | {"status": "done"}, GOOD | {"status": "finished"}]
    + [GOOD | {"files": {name: MARK}} for name in ("../x", "/etc/passwd", "figures/../../x")]
    + [GOOD | {"files": {name: MARK}} for name in ("a\n", "\x1b[2J", "a" * 300, "lock", "manifest.json", "")]
    + [GOOD | {"files": {"a": mark}} for mark in (None, 1, {}, MARK | {"sha256": "00"}, MARK | {"sha256": "G" * 64})]
    + [GOOD | {"files": {"a": MARK | {"bytes": n}}} for n in ("1", None, True, 1e300, 1.0, -1, 10**30, [])]
    + [GOOD | {"checkpoints": [entry]} for entry in (None, 1, MARK, ENTRY | {"file": "../x"}, ENTRY | {"metrics": 1})]
    + [GOOD | {"checkpoints": [ENTRY | {"step": n}]} for n in ("1", None, True, 1e300, -1, 10**30)]
    + [GOOD | {"checkpoints": [ENTRY | {"file": f"checkpoint-{'9' * 5000}.safetensors"}]}, GOOD | {"checkpoints": {}}]
    + [GOOD | {key: value} for key in ("status", "format", "files") for value in (None, True, 1e300, [], "\0")]
    + ['{"format": 1, "format": 1}', "[" * 100_000, '{"a": 1e999' + "9" * 100_000 + "}"],
)
def test_a_manifest_of_another_make_is_refused_even_if_its_seal_is_right(tmp_path, content):
    (tmp_path / "manifest.json").write_bytes(seal(GOOD))
    assert Run(tmp_path).status == "running"
    (tmp_path / "manifest.json").write_bytes(seal(content))
    for act in (lambda run: run.status, lambda run: run.read("a"), Run.latest, Run.rows, Run.__enter__):
        with pytest.raises(FileFormatError, match="manifest.json: ") as caught:
            act(Run(tmp_path))
        assert len(str(caught.value)) < 1000
    assert len(Run(tmp_path).verify()) == 1


def test_a_lost_manifest_deletes_nothing(path):
    for file in both(path, "manifest.json"):
        file.unlink()
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
    sealed = json.loads((path / "manifest.json").read_text()[:-65])
    length = (sealed if finished else sealed["checkpoints"][-1])["metrics"]["bytes"]
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
        if name in sealed["files"]:  # none of them is kept twice
            with pytest.raises(FileFormatError, match=f"{name} digest differs"):
                Run(broken).read(name)
        shutil.rmtree(broken)


@pytest.mark.parametrize("act", [lambda run: run.latest()[1], lambda run: run.verify()])
def test_a_reader_is_not_misled_by_a_writer_that_goes_on_meanwhile(path, act, monkeypatch):
    reader, read = Run(path), Kept.verified

    def slow(self, name, mark, where):
        monkeypatch.setattr(Kept, "verified", read)
        for step in (5, 6):
            Run(path).checkpoint(state(step), step)  # what the reader wants to read next is gone
        return read(self, name, mark, where)

    monkeypatch.setattr(Kept, "verified", slow)
    assert act(reader) in (6, [])


def test_what_was_appended_to_a_finished_log_is_noticed(path):
    Run(path).finish()
    with (path / "metrics.jsonl").open("ab") as file:
        file.write(b'{"step": 9}\n')
    assert "metrics.jsonl digest differs" in Run(path).verify()[0]
    with pytest.raises(FileFormatError, match="metrics.jsonl digest differs"):
        Run(path).rows()


def test_entering_removes_what_was_left_over_and_nothing_else(path):
    stale = ["checkpoint-1.safetensors", ".config.toml.0123abcd.tmp", "figures/.loss.svg.0123abcd.tmp"]
    stale += [".never-named.copy", ".config.toml.copy", "figures/.x.svg.copy"]
    own = ["notes.txt", ".hidden", "x.tmp", "checkpoint-best.safetensors", "figures/mine.png"]
    before = names(path)
    for name in stale + own:
        (path / name).write_bytes(b"")
    with Run(path):
        assert names(path) == sorted(before + own)
