"""The figures of all benchmarks but the workloads as tables in Markdown, in one file.

    python benchmarks/result_tables.py

reads the .json files of this folder and writes results.md. Nothing is measured.
"""

import json
import os
import statistics

ABOUT = """\
Written by `python benchmarks/result_tables.py` from the files of this folder. What was measured, and how, is in the
[README](README.md); whole networks are in [workloads.md](workloads.md)."""
HERE = os.path.dirname(os.path.abspath(__file__))


def duration(seconds):
    for unit, scale in (("s", 1), ("ms", 1e3), ("µs", 1e6), ("ns", 1e9)):
        if seconds * scale >= 1:
            break
    return f"{seconds * scale:.3g} {unit}" if seconds * scale < 100 else f"{seconds * scale:.0f} {unit}"


def milliseconds(count):
    return duration(count / 1e3)


def table(columns, rows):
    """Cells that are numbers are ratios."""
    shown = ([f"{cell:.2f}" if isinstance(cell, float) else cell for cell in row] for row in rows)
    lines = [" | ".join(row) for row in (columns, ["---"] * len(columns), *shown)]
    return "\n".join(f"| {line} |" for line in lines)


def of_both(what, times):
    """Of ``{library: {case: seconds}}``."""
    rows = [
        (case, *(duration(times[library][case]) for library in ("wisp", "torch")), times["torch"][case] / best)
        for case, best in times["wisp"].items()
        if case in times["torch"]
    ]
    return table([what, "wisp", "PyTorch", "times faster"], rows)


def sweep(results):
    rows = []
    for size in ("1k", "100k", "10M"):
        ratios = [row["torch"] / row["wisp"] for key, row in results.items() if f", {size}" in key]
        rows.append((size, str(len(ratios)), statistics.median(ratios), str(sum(r < 0.9 for r in ratios))))
    return table(["elements", "calls", "median, times PyTorch's speed", "calls under 0.9"], rows)


def chains(results):
    """Times of every way, and how many times faster wisp compiled is."""
    results = {case: result["best"] for case, result in results.items() if "best" in result}
    ways = list(next(iter(results.values())))
    others = [way for way in ways if way != "wisp compiled"]
    rows = [
        (f"`{case}`", *(duration(best[way]) for way in ways), *(best[way] / best["wisp compiled"] for way in others))
        for case, best in results.items()
    ]
    return table(["chain", *ways, *(f"against {way}" for way in others)], rows)


def scripts(results):
    rows = [
        (name, duration(best["eager"]), duration(best["script"]), best["eager"] / best["script"])
        for name, best in results.items()
    ]
    return table(["100 steps of an LSTM cell", "Python", "interpreter", "times faster"], rows)


def loops(results):
    """Of one way; the last row has the medians of the ratios."""
    sizes = list(next(iter(results.values())))
    rows = [
        (name, *(f"{duration(row[size]['script'])}, {row[size]['python'] / row[size]['script']:.1f}" for size in sizes))
        for name, row in results.items()
    ]
    medians = [
        statistics.median(row[size]["python"] / row[size]["script"] for row in results.values()) for size in sizes
    ]
    return table(["loop", *(size.replace("x", " x ") for size in sizes)], [*rows, ("median", *medians)])


def steps(results):
    """Of eager, lazy and compiled calls."""
    rows = [
        (case, duration(best["eager"]), best["eager"] / best["lazy"], best["eager"] / best["compile"])
        for case, best in results.items()
    ]
    return table(["function or step", "eager", "lazy against eager", "compile against eager"], rows)


def inference(results):
    columns = ["model", "eager", "compiled", "onnxruntime", "eager, times its speed", "median", "compiled", "median"]
    rows = []
    for name, result in results.items():
        eager, compiled, other = (result[program] for program in ("wisp", "compiled", "onnxruntime"))
        times = [milliseconds(each[0]) for each in (eager, compiled, other)]
        rows.append((name, *times, *(other[i] / ours[i] for ours in (eager, compiled) for i in (0, 1))))
    return table(columns, rows)


def deployment(results):
    columns = ["model", "wisp", "onnxruntime", "times its speed", "median", "without the cost of its call"]
    extra = max(0, results["call"]["onnxruntime"][0] - results["call"]["wisp"][0])
    rows = []
    for name, result in results.items():
        if name not in ("call", "start"):
            ours, other = result["wisp"], result["onnxruntime"]
            ratios = other[0] / ours[0], other[1] / ours[1], (other[0] - extra) / ours[0]
            rows.append((name, milliseconds(ours[0]), milliseconds(other[0]), *ratios))
    return table(columns, rows)


def networks(results):
    rows = [
        (case, duration(best["wisp"]), duration(best["torch"]), best["torch"] / best["wisp"])
        for case, best in sorted(results.items(), key=lambda item: item[1]["torch"] / item[1]["wisp"])
    ]
    return table(["network", "wisp", "PyTorch", "times faster"], rows)


def autocast(rows):
    cells = [
        (f"{row['case']}, {row['what']}", *(duration(row[key]) for key in ("wisp", "wisp_autocast")), row["gain"],
         *((duration(row["torch_autocast"]), row["times_faster"]) if "torch" in row else ("", "")))
        for row in rows
    ]  # fmt: skip
    return table(["case", "wisp", "with autocast", "gain", "PyTorch with autocast", "times faster"], cells)


def busy(rows):
    cells = [
        (
            row["case"],
            str(row["others"]),
            *(duration(ms / 1e3) for library in ("wisp", "torch") for ms in row.get(library, ())),
        )
        for row in rows
    ]
    return table(["case", "others", "wisp", "mean", "PyTorch", "mean"], cells)


SECTIONS = (
    ("Small calls", "small", "", lambda found: of_both("call", found)),
    ("Every operator of the core list", "sweep", "", sweep),
    ("DataLoader", "loader", "One epoch.", lambda found: of_both("dataset", found)),
    ("Networks of many kinds", "networks", "Training steps with Adam.", networks),
    ("bfloat16", "autocast", "", autocast),
    ("Inference from Python", "inference", "One sample at a time; the shortest call, and the median.", inference),
    ("Inference from C++", "deployment", "One sample at a time; the shortest call, and the median.", deployment),
    ("Fused chains", "fusion", "Ratios are those of compiled calls of wisp.", chains),
    ("The interpreter", "fusion", "", lambda found: scripts(found["scripts"])),
    ("Loops in scripts", "loops", "By batch and width; how many times faster than Python. Without gradients.",
     lambda found: loops(found["plain"])),
    ("Beside other programs", "busy", "Median and mean of a call, beside so many processes that never rest.", busy),
    ("Training steps, lazy and compiled", "lazy_steps", "", steps),
    ("Functions, lazy and compiled", "ways", "", steps),
)  # fmt: skip


def results_of(name):
    with open(os.path.join(HERE, f"{name}.json")) as file:
        return json.load(file)


def markdown():
    parts = ["# Results", ABOUT]
    for title, name, about, made in SECTIONS:
        parts += [f"## {title}", f"`{name}.json`. {about}".rstrip(), made(results_of(name))]
    return "\n\n".join(parts) + "\n"


def main():
    with open(os.path.join(HERE, "results.md"), "w") as file:
        file.write(markdown())


if __name__ == "__main__":
    main()
