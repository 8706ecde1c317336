"""What wisp was built for and how it runs here, as text for reports."""

from wisp import _C, version
from wisp.backends.cpu import get_cpu_capability


def show():
    """The version, the kernels in use and the number of threads."""
    return f"wisp {version.__version__}\n  - kernels: {get_cpu_capability()}\n  - threads: {_C.get_num_threads()}\n"


def parallel_info():
    """How many threads operators use."""
    return f"threads of operators: {_C.get_num_threads()}\n"
