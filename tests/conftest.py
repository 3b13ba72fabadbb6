"""What every test stands on: one thread, the same draws every time, no network, and the folder of real data."""

import os
import tempfile

os.environ.setdefault("SCIPY_ARRAY_API", "1")  # read when SciPy is imported; scikit-learn's array checks need it
os.environ.setdefault("MPLBACKEND", "Agg")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when NumPy and torch are imported, here and in child processes
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MKL_NUM_THREADS", "1")
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="ftheta-cache-")  # decoded pictures; workers inherit it

import gc
import ipaddress
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["tests._ledger"]

settings.register_profile(
    "test", deadline=None, derandomize=True, max_examples=50, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("soak", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("FTHETA_PROFILE", "test"))


def pytest_configure(config):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's background jobs ignore
    patch = pytest.MonkeyPatch()
    for name in ("connect", "connect_ex"):
        patch.setattr(socket.socket, name, _local_only(getattr(socket.socket, name)))
    config.add_cleanup(patch.undo)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup():
    """A test that draws from torch's own generator draws the same whatever ran before it."""
    sys.modules["torch"].default_generator.manual_seed(0)  # torch.manual_seed takes half a millisecond


def _local_only(connect):
    def guarded(self, address):
        if self.family != getattr(socket, "AF_UNIX", None) and not _is_loopback(address[0]):
            raise RuntimeError(f"A test tried to reach {address}; tests may connect to this machine only.")
        return connect(self, address)

    return guarded


def _is_loopback(host):
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:  # a name
        return host == "localhost"


@pytest.fixture(scope="session")
def data_dir():
    """The folder of real data: without FTHETA_DATA the test is skipped, with it a missing file fails the test."""
    if not os.environ.get("FTHETA_DATA"):
        pytest.skip("reads real data: set FTHETA_DATA to the folder that holds it")
    folder = Path(os.environ["FTHETA_DATA"])
    assert folder.is_dir(), f"FTHETA_DATA is {folder}, which is not a folder."
    return folder


def pytest_collection_finish():  # not called in the process that only hands out tests
    import torch

    torch.set_num_threads(1)
    gc.freeze()  # the collector need not walk thousands of tests again and again


@pytest.fixture
def fresh():
    """fresh(code): run it in a new Python and say which heavy libraries that loaded."""

    def loaded(code):
        ask = f"{code}\nimport sys; print(*{{'torch', 'sklearn', 'numpy', 'pandas', 'matplotlib'}} & set(sys.modules))"
        source = str(Path(__file__).parents[1] / "src")
        done = subprocess.run([sys.executable, "-c", ask], env=os.environ | {"PYTHONPATH": source}, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
        return set(done.stdout.decode().split())

    return loaded


collect_ignore = ["peers/scikit_learn.py"]  # run by test_scikit_learn.py in a process of its own
