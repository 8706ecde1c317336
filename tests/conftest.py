import importlib.util

import pytest

import wisp


@pytest.fixture(autouse=True)
def clean_state():
    """Every test starts from the same seed and leaves global settings as it found them."""
    wisp.manual_seed(0)
    threads, dtype = wisp.get_num_threads(), wisp.get_default_dtype()
    yield
    wisp.set_num_threads(threads)
    wisp.set_default_dtype(dtype)


def pytest_report_header():
    torch = (
        "present: results are compared live"
        if importlib.util.find_spec("torch")
        else "absent: recorded values are used"
    )
    return f"wisp {wisp.__version__} ({wisp._C._cpu_capability()}, {wisp.get_num_threads()} threads); torch {torch}"
