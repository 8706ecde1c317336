"""How calls are timed where each takes long enough for a clock."""

import statistics
import time


def measured(call, count):
    """The shortest and the median of so many calls in milliseconds, after a tenth as many that do not count."""
    for _ in range(max(3, count // 10)):
        call()
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append(1e3 * (time.perf_counter() - start))
    return [min(times), statistics.median(times)]
