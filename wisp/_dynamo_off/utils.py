"""torch._dynamo.utils"""

from collections import Counter, defaultdict

# What PyTorch counts while it compiles: nothing is compiled, so all counts are zero.
counters = defaultdict(Counter)


def compile_times(repr="str", aggregate=False):
    """How long compiling took: it took no time."""
    return "" if repr == "str" else ([], [])


def is_compile_supported(device_type):
    """False: there is no compiler of bytecode for any device."""
    return False
