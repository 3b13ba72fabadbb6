"""`make faults`: plant each fault in a copy, run the tests that must notice, and write results/faults.json."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .planted import FAULTS, Fault

ROOT = Path(__file__).parents[2]


def caught(fault: Fault, copy: Path) -> bool:
    """Whether a test fails once the fault is in: one of `make test`, or else one of `make middle`."""
    file = copy / "src/ftheta" / fault.file
    whole = file.read_text(encoding="utf-8")
    file.write_text(whole.replace(fault.old, fault.new), encoding="utf-8")
    try:
        return _fails(fault, copy) or _fails(fault, copy, "-m", "middle")
    finally:
        file.write_text(whole, encoding="utf-8")


def _fails(fault: Fault, copy: Path, *tier: str) -> bool:
    tests = [t for t in fault.tests if (copy / t).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tier, *tests]
    environment = {
        **os.environ,
        "PYTHONPATH": str(copy / "src"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "OMP_NUM_THREADS": "1",
    }
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, timeout=900)
    if done.returncode not in (0, 1, 5):  # 5: there are none in this tier
        sys.exit(f"{fault.what}: the tests did not run:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 1


def keep(found: dict[str, dict]) -> None:
    """Put what was found into the record; faults that are no longer planted leave it."""
    file = ROOT / "results" / "faults.json"
    known = json.loads(file.read_text(encoding="utf-8"))["faults"] if file.exists() else {}
    faults = {f.what: row for f in FAULTS if (row := (known | found).get(f.what))}
    record = {"planted": len(faults), "caught": sum(row["caught"] for row in faults.values()), "faults": faults}
    file.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def main() -> None:
    """All faults, or those whose description holds one of the words given."""
    words = sys.argv[1:]
    chosen = [f for f in FAULTS if not words or any(w in f.what or w in f.file for w in words)]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "repo"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", "runs", "__pycache__", ".*_cache"))
        found = {}
        for fault in chosen:
            found[fault.what] = {
                "file": fault.file,
                "planted": fault.new.strip() or "(removed)",
                "instead of": fault.old.strip(),
                "caught": caught(fault, copy),
            }
            print(f"{'caught' if found[fault.what]['caught'] else 'MISSED':<8}{fault.file:<28}{fault.what}", flush=True)
    missed = [what for what, row in found.items() if not row["caught"]]
    keep(found)
    print(f"{len(found) - len(missed)} of {len(found)} caught")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
