"""Damage for files: flipped bits, extreme numbers, splices, cuts, copies and swaps, the same for the same seed.

`in_child` opens them where a crash, a hang or hunger for memory harms nobody.
"""

import gc
import json
import os
import random
import re
import resource
import signal
from pathlib import Path

EXTREME = [0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**63, 2**64 - 1]
NUMBERS = ["0", "-1", "1e999", "-1e999", "NaN", "Infinity", "4294967296", "9" * 20, "9" * 400, "1e-400", "true", '""']
NUMBERS = [text.encode() for text in (*NUMBERS, "null", "[]", "0x7f", "1_0", "0.0", "-0", "1.5", "1" + "0" * 5000)]


def flip(chance, data, other):
    for _ in range(chance.randint(1, 8)):
        at = chance.randrange(len(data))
        data[at] ^= 1 << chance.randrange(8)


def extreme(chance, data, other):
    size, value = chance.choice((1, 2, 4, 8)), chance.choice(EXTREME)
    at = chance.randrange(len(data))
    data[at : at + size] = (value % 2 ** (8 * size)).to_bytes(size, chance.choice(("little", "big")))


def number(chance, data, other):
    found = list(re.finditer(rb"-?\d+(\.\d+)?", data))
    if found:
        place = chance.choice(found)
        data[place.start() : place.end()] = chance.choice(NUMBERS)


def cut(chance, data, other):
    del data[chance.randrange(len(data)) :]


def remove(chance, data, other):
    at, size = piece(chance, data)
    del data[at : at + size]


def double(chance, data, other):
    at, size = piece(chance, data)
    data[at:at] = data[at : at + size]


def splice(chance, data, other):
    (at, size), here = piece(chance, other), chance.randrange(len(data))
    data[here : here + chance.choice((0, size))] = other[at : at + size]


def swap(chance, data, other):
    a, b = chance.randrange(len(data)), chance.randrange(len(data))
    data[a], data[b] = data[b], data[a]


def piece(chance, data):
    return chance.randrange(len(data)), chance.choice((1, 2, 4, 8, 16, 64, 256))


def mutated(seed, files):
    """One of the files, damaged one to three times; `seed` decides all."""
    chance = random.Random(seed)
    data, other = bytearray(chance.choice(files)), chance.choice(files)
    for _ in range(chance.choice((1, 1, 2, 3))):
        if data:
            chance.choice((flip, extreme, number, cut, remove, double, splice, swap))(chance, data, other)
    return bytes(data)


def peak():
    """The most memory that this process has had, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024  # kB on Linux


def in_child(work, megabytes):
    """What the work returns, in a process that may take so much more address space than this one; or how it failed."""
    read, write = os.pipe()
    child = os.fork()
    if not child:
        try:
            size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (size + megabytes * 2**20,) * 2)
            resident = int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20
            gc.freeze()  # what the tests before have left is not walked again: its size is not the work's
            os.write(write, json.dumps(work() | {"peak MB": round(max(peak() - resident, 0), 1)}).encode())
        except BaseException as error:
            os.write(write, json.dumps({"failed": f"{type(error).__name__}: {error}"[:2000]}).encode())
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        content = stream.read()
    _, status = os.waitpid(child, 0)
    return json.loads(content) if content else {"failed": f"ended by {signal.Signals(os.WTERMSIG(status)).name}"}
