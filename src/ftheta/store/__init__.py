"""Run folders and model files: the only package that writes to the disk.

    tree -> ONE safetensors file -> temporary name -> fsync -> rename -> manifest {name: SHA-256}

`files`: written completely or not at all; `tree`: tensors and plain values as one file, without pickle;
`run`: the folder of a run.
"""

from .files import to_toml, write_atomic, write_folder
from .run import Run
from .tree import Tree, dump_tree, load_tree, parse_tree

__all__ = ["Run", "Tree", "dump_tree", "load_tree", "parse_tree", "to_toml", "write_atomic", "write_folder"]
