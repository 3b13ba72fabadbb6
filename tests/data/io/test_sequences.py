"""Sequences from files: long tables, folders of tables, NPZ files of values and lengths."""

import numpy as np
import pandas as pd
import pytest

from ftheta.data import Dataset, format_of, gathered, read
from ftheta.errors import FileFormatError


def table(y=None, task="none"):
    x = pd.DataFrame({"a": [1.0, 2, 3, 4, 5], "b": list("xyxyx")})
    return Dataset("visits", x, y, ("a", "b"), (), task)


def test_rows_with_equal_names_are_a_sequence_in_their_order_or_that_of_time():
    names = ["q", "p", "q", "p", "q"]
    found = gathered(table(), names)
    assert found.kind == "sequence" and found.rows == 2 and found.row_names.tolist() == ["q", "p"]
    assert [frame["a"].tolist() for frame in found.x] == [[1, 3, 5], [2, 4]]
    timed = gathered(table(), names, [3, 1, 2, 0, 1])
    assert [frame["a"].tolist() for frame in timed.x] == [[5, 3, 1], [4, 2]]
    assert [frame["b"].tolist() for frame in timed.x] == [["x", "x", "x"], ["y", "y"]]


def test_a_target_that_agrees_within_sequences_is_of_the_sequence_and_else_of_the_step():
    names = ["q", "p", "q", "p", "q"]
    whole = gathered(table(np.array(list("ABABA")), "binary"), names)
    assert whole.task == "binary" and whole.y.tolist() == ["A", "B"]
    each = gathered(table(np.array(list("ABABB")), "binary"), names)
    assert each.task == "tag" and [part.tolist() for part in each.y] == [["A", "A", "B"], ["B", "B"]]
    asked = gathered(table(np.array(list("ABABA")), "binary"), names, each_step=True)
    assert [part.tolist() for part in asked.y] == [["A", "A", "A"], ["B", "B"]]
    with pytest.raises(FileFormatError, match="sequence 'q' has the targets 1 and 9; numbers are learned of whole"):
        gathered(table(np.array([1.5, 2, 1, 2, 9]), "regression"), names)


def write(folder, files):
    for name, cells in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(cells)
    return folder


def test_a_folder_has_a_table_for_each_sequence_and_its_folders_are_classes(tmp_path):
    files = {"walk/01.csv": "a,b\n1,x\n2,y\n", "walk/02.csv": "b,a\nx,3\n", "run/01.csv": "a,b\n4,z\n5,x\n6,x\n"}
    found = read(write(tmp_path / "moves", files))
    assert found.kind == "sequence" and found.task == "binary" and found.target_names == ("run", "walk")
    assert found.row_names.tolist() == ["run/01", "walk/01", "walk/02"] and found.y.tolist() == ["run", "walk", "walk"]
    assert [frame["a"].tolist() for frame in found.x] == [[4, 5, 6], [1, 2], [3]]
    assert {tuple(frame["b"].cat.categories) for frame in found.x} == {("x", "y", "z")}


def test_a_table_of_targets_names_the_files_and_may_have_several_columns(tmp_path):
    files = {"1.csv": "a\n1\n2\n", "2.csv": "a\n3\n"}
    folder = write(tmp_path / "f", files | {"targets.csv": "file,weight\n2.csv,7.5\n1.csv,6.5\n"})
    assert read(folder).y.tolist() == [6.5, 7.5] and read(folder).task == "regression"
    write(folder, {"targets.csv": "name,weight,kind\n1,6.5,a\n2,7.5,b\n"})
    assert read(folder, "kind").y.tolist() == ["a", "b"]
    numbered = write(tmp_path / "n", {"1e3.csv": "a\n1\n", "2e3.csv": "a\n2\n"})
    assert read(numbered).row_names.tolist() == ["1e3", "2e3"]
    with pytest.raises(FileFormatError, match="targets.csv: .*'size'"):
        read(folder, "size")
    write(folder, {"targets.csv": "name,kind\n1,a\n"})
    with pytest.raises(FileFormatError, match="column 'name' has no '2', which is 2.csv"):
        read(folder, "kind")


def test_a_column_of_the_files_may_be_the_target(tmp_path):
    folder = write(tmp_path / "f", {"1.csv": "a,tag\n1,u\n2,v\n", "2.csv": "a,tag\n3,u\n"})
    assert [part.tolist() for part in read(folder, "tag").y] == [["u", "v"], ["u"]]
    assert read(folder).y is None and list(read(folder).x[0]) == ["a", "tag"]
    write(folder, {"3.csv": "a\n1\n"})
    with pytest.raises(FileFormatError, match="3.csv: column 'tag' of 1.csv is missing"):
        read(folder, "tag")


def test_values_and_lengths_of_an_npz_file_are_sequences(tmp_path):
    path, values = tmp_path / "s.npz", np.arange(12.0).reshape(6, 2)
    np.savez(path, values=values, lengths=[1, 3, 2], y=["a", "b", "a"])
    found = read(path)
    assert [len(frame) for frame in found.x] == [1, 3, 2] and found.y.tolist() == ["a", "b", "a"]
    np.testing.assert_array_equal(pd.concat(found.x), values)
    np.savez(path, values=np.array(list("abcdef")), lengths=[4, 2], y=np.array(list("nnvnvv")))
    found = read(path)
    assert found.task == "tag" and [part.tolist() for part in found.y] == [["n", "n", "v", "n"], ["v", "v"]]


def test_a_folder_of_pictures_with_a_table_beside_them_is_one_of_pictures(tmp_path):
    folder = write(tmp_path / "f", {"a/1.png": "", "a/2.png": "", "b/1.png": "", "labels.csv": "a\n1\n"})
    assert format_of(folder) == "images"
    assert format_of(write(tmp_path / "g", {"a/1.csv": "a\n1\n", "notes.txt": ""})) == "images"
    assert format_of(write(tmp_path / "g", {"a/2.csv": "a\n1\n"})) == "sequences"


@pytest.mark.parametrize(("arrays", "sentence"), [
    ({"values": np.ones(4), "lengths": [1, 2]}, "lengths with the sum 3"),
    ({"values": np.ones(4), "lengths": [4, 0]}, "one integer >= 1 each"),
    ({"values": np.ones(4), "lengths": [2.0, 2.0]}, "one integer >= 1 each"),
    ({"values": np.ones((2, 2, 2)), "lengths": [2]}, "one row for each step"),
    ({"values": np.ones(4), "lengths": [2, 2], "y": [1, 2, 3]}, "targets of shape"),
])  # fmt: skip
def test_lengths_that_do_not_fit_are_refused(tmp_path, arrays, sentence):
    np.savez(tmp_path / "s.npz", **arrays)
    with pytest.raises(FileFormatError, match=sentence):
        read(tmp_path / "s.npz")
