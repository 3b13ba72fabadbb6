"""Run folders and model files: the only room of the library that writes to the disk.

    tree -> ONE safetensors file -> temporary name -> fsync -> rename -> manifest {name: SHA-256}, last

`files`: bytes that arrive whole or not at all; `tree`: tensors and plain values as one file, without pickle;
`run`: the folder of a run.
"""

from .files import to_toml, write_atomic, write_folder
from .run import Run
from .tree import Tree, dump_tree, load_tree, parse_tree, save_tree

__all__ = [
    "Run",
    "Tree",
    "dump_tree",
    "load_tree",
    "parse_tree",
    "save_tree",
    "to_toml",
    "write_atomic",
    "write_folder",
]
