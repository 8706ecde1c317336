"""One workload in one library, or the limits of the machine, measured in this process and printed as JSON.

Started by run_workloads.py with a task in JSON: a process of its own shows what memory and the first step cost.
"""

import importlib
import json
import resource
import statistics
import sys
import time

from workloads import WORKLOADS

PRODUCTS = (1024, 1536, 2048)
COPIES = (1, 16, 64)  # megabytes: one level of memory after the other


def memory(field):
    """A line of /proc/self/status in bytes. What getrusage calls the peak includes that of the parent, before exec."""
    try:
        with open("/proc/self/status") as f:
            return next(1024 * int(line.split()[1]) for line in f if line.startswith(field))
    except OSError:
        return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def forget_peak():
    """From here on the peak is that of the workload, not that of the import."""
    try:
        with open("/proc/self/clear_refs", "w") as f:
            f.write("5")
    except OSError:
        pass


def timed(f):
    start = time.perf_counter()
    result = f()
    return time.perf_counter() - start, result


def first_number(result):
    return result if isinstance(result, float) else result.flatten()[0].item()


def measure(T, task):
    imported = memory("VmRSS")
    forget_peak()
    step = WORKLOADS[task["case"]].build(T, **task["sizes"])
    first, result = timed(step)
    first_loss, times = first_number(result), []
    end = time.perf_counter() + task["seconds"]
    while len(times) < task["least"] or time.perf_counter() < end:
        took, result = timed(step)
        times.append(took)
    return {
        "best": min(times),
        "median": statistics.median(times),
        "first": first,
        "steps": len(times),
        "memory": max(memory("VmHWM") - imported, 0),
        "first_loss": first_loss,
        "last_loss": first_number(result),
    }


def best_of(f, seconds):
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        times.append(timed(f)[0])
    return min(times)


def limits(T, task):
    """Floating-point operations per second of a large product, and bytes per second of copies (read and written)."""
    seconds, flops, copies = task["seconds"] / 8, 0.0, {}
    for n in PRODUCTS:
        a, b, out = T.rand(n, n), T.rand(n, n), T.empty(n, n)
        flops = max(flops, 2 * n**3 / best_of(lambda a=a, b=b, out=out: T.mm(a, b, out=out), seconds))
    for megabytes in COPIES:
        source, target = T.ones(2, megabytes << 18)
        copied = best_of(lambda source=source, target=target: target.copy_(source), seconds)
        copies[str(megabytes)] = 2 * (megabytes << 20) / copied
    return {"flops": flops, "copies": copies, "version": T.__version__}


def main():
    task = json.loads(sys.argv[1])
    T = importlib.import_module(task["library"])
    T.set_num_threads(task["threads"])
    T.manual_seed(0)
    for name, value in task.get("switches", {}).items():
        setattr(T.backends.cpu, name, value)
    print(json.dumps(measure(T, task) if "case" in task else limits(T, task)))


if __name__ == "__main__":
    main()
