import importlib.util
import os
import signal
import sys

import pytest

import wisp

# Shells start what runs in the background with Ctrl-C ignored; tests of it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def clean_state():
    """Every test starts from the same seed and leaves global settings as it found them."""
    wisp.manual_seed(0)
    threads, dtype = wisp.get_num_threads(), wisp.get_default_dtype()
    yield
    wisp.set_num_threads(threads)
    wisp.set_default_dtype(dtype)


@pytest.fixture
def one_thread():
    """Of a busy machine, another thread may not be had for milliseconds: no time for those who compare times."""
    wisp.set_num_threads(1)


@pytest.fixture
def notes_apart():
    """What an error says is compared with what is said without Python, or by PyTorch."""
    if sys.version_info < (3, 11):
        pytest.skip("exceptions have no notes: they are a part of the message")


@pytest.fixture
def nothing_learnt():
    """Lazy evaluation finds out what is worth joining, and counts calls, as if nothing had run before in this process."""
    wisp.compiler.reset()


@pytest.fixture
def joining_gains(one_thread, nothing_learnt):
    """Kernels that are joined are faster."""
    if wisp.backends.cpu.get_cpu_capability() == "DEFAULT" or "WISP_SANITIZED" in os.environ:
        pytest.skip("kernels of the oldest processors, and sanitised ones, are limited by arithmetic: nothing gains")


@pytest.fixture
def unchecked():
    """Distributions are asked about values outside of their support too."""
    from wisp.distributions import Distribution

    Distribution.set_default_validate_args(False)
    yield
    Distribution.set_default_validate_args(True)


@pytest.fixture
def checked(unchecked):
    """Within a file of unchecked ones."""
    from wisp.distributions import Distribution

    Distribution.set_default_validate_args(True)


@pytest.fixture
def forked_and_gone():
    """Workers are forked, and leave no process and no shared memory."""
    from tests.datasets import forking, nothing_left

    with forking(), nothing_left():
        yield


@pytest.fixture
def written(tmp_path):
    """A function that writes something with a SummaryWriter, and gives the folder."""
    from wisp.utils.tensorboard import SummaryWriter

    def write(use, **settings):
        with SummaryWriter(tmp_path, **settings) as w:
            use(w)
        return tmp_path

    return write


def pytest_report_header():
    torch = (
        "present: results are compared live"
        if importlib.util.find_spec("torch")
        else "absent: recorded values are used"
    )
    return f"wisp {wisp.__version__} ({wisp._C._cpu_capability()}, {wisp.get_num_threads()} threads); torch {torch}"
