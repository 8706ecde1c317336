"""Training steps and inference of whole networks, in wisp and (where installed) in PyTorch, in fresh processes alternately.

The workloads and their sizes are in workloads.py. Writes the figures, the table of them and two plots.
"""

import argparse
import datetime
import importlib.util
import json
import os
import platform
import re
import statistics
import subprocess
import sys

import plots
import workload_report
from workloads import GROWTH, WORKLOADS, work

HERE = os.path.dirname(os.path.abspath(__file__))


def run(**task):
    """What a process reports that does the task; None, with a word about it, if it fails."""
    command = [sys.executable, os.path.join(HERE, "workload_process.py"), json.dumps(task)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    reason = (done.stderr.strip().splitlines() or [f"return code {done.returncode}"])[-1]
    print(f"{task.get('case', 'limits')} cannot be run in {task['library']}: {reason}", flush=True)
    return None


def merged(reports):
    """One report of those of several rounds."""
    found = dict(reports[-1])
    for key in ("best", "first", "memory"):
        found[key] = min(report[key] for report in reports)
    found["median"] = statistics.median(report["median"] for report in reports)
    found["steps"] = sum(report["steps"] for report in reports)
    return found


def measure(case, sizes, threads, options):
    """Reports by library."""
    reports = {name: [] for name in options.libraries}
    for _ in range(options.rounds):
        for name in options.libraries:
            own = {**sizes, **(WORKLOADS[case].rival if name == "torch" else {})}
            switches = WORKLOADS[case].own if name == "wisp" else {}
            budget = {"seconds": options.seconds, "least": options.least}
            reports[name].append(run(library=name, case=case, sizes=own, switches=switches, threads=threads, **budget))
    return {name: merged(found) for name, found in reports.items() if all(found)}


def limit(case, sizes, machine):
    """Seconds that the products take at the highest rate, and the traffic at that of the level of memory it fits into."""
    needed, copies = work(case, sizes), machine["copies"]
    # A copy of so many megabytes occupies twice as many.
    fitting = [int(size) for size in copies if 2 * int(size) << 20 <= needed["bytes"]]
    level = str(max(fitting, default=min(map(int, copies))))
    return {**needed, "products": needed["flops"] / machine["flops"], "traffic": needed["bytes"] / copies[level]}


def processor():
    try:
        with open("/proc/cpuinfo") as f:
            return next(line.split(":")[1].strip() for line in f if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def machine_limits(options):
    """The best of either library, and what machine that was."""
    names = options.libraries * options.rounds
    found = [(name, run(library=name, threads=options.threads, seconds=options.seconds)) for name in names]
    reports = [report for _, report in found if report]
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "threads": options.threads,
        "date": datetime.date.today().isoformat(),
        "versions": {name: report["version"] for name, report in found if report},
        "flops": max(report["flops"] for report in reports),
        "copies": {size: max(report["copies"][size] for report in reports) for size in reports[0]["copies"]},
    }


def say(name, reports, dropout=False):
    row = [f"{1e3 * report['best']:12.3f} ms" for report in reports.values()]
    both = [reports[library] for library in ("wisp", "torch") if library in reports]
    ratio = f"{both[1]['best'] / both[0]['best']:8.2f}x" if len(both) == 2 else ""
    print(f"{name:50s}", *row, ratio, flush=True)
    losses = [report["first_loss"] for report in both]
    if not dropout and max(losses) - min(losses) > 1e-3 * max(map(abs, losses)):
        print(f"{name:50s} results differ: {losses}", flush=True)


def measure_cases(options, results):
    pattern = re.compile(options.only)
    for case, workload in WORKLOADS.items():
        if not pattern.search(case):
            continue
        reports = measure(case, workload.sizes, options.threads, options)
        if reports:
            bound = limit(case, workload.sizes, results["machine"])
            results["cases"][case] = {**reports, "limit": bound, "threads": options.threads}
            say(case, reports, workload.sizes.get("dropout") and workload.states is not None)


def measure_growth(options, results):
    pattern = re.compile(options.only)
    for name, growth in GROWTH.items():
        if not pattern.search(name):
            continue
        points = []
        for value in growth.values:
            sizes, threads = {**WORKLOADS[growth.case].sizes, **growth.fixed}, options.threads
            if growth.size == "threads":
                threads = value
            else:
                sizes[growth.size] = value
            reports = measure(growth.case, sizes, threads, options)
            if reports:
                points.append({"size": value, **reports})
                say(f"{name}: {value}", reports, sizes.get("dropout"))
        results["growth"][name] = {"axis": growth.axis, "points": points}


def arguments():
    installed = [name for name in ("wisp", "torch") if importlib.util.find_spec(name)]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="regular expression on the name of the case")
    parser.add_argument("--growth", action="store_true", help="time and memory by size instead of the cases")
    parser.add_argument("--all", action="store_true", help="the cases and their growth")
    parser.add_argument("--seconds", type=float, default=2.0, help="per case, library and round; at least 3 steps")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="a tenth of the time, one round, at least one step")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--libraries", default=",".join(installed), help="wisp, torch or both; those installed")
    parser.add_argument(
        "--json", default=os.path.join(HERE, "workloads.json"), help="figures; those measured anew change"
    )
    parser.add_argument("--markdown", default=os.path.join(HERE, "workloads.md"), help="the plots go beside it")
    parser.add_argument(
        "--report", action="store_true", help="measure nothing, write table and plots of what is in the file"
    )
    options = parser.parse_args()
    options.libraries, options.least = options.libraries.split(","), 3
    if options.quick:
        options.seconds, options.rounds, options.least = options.seconds / 10, 1, 1
    return options


def measure_wanted(options, results):
    results["machine"] = machine_limits(options)
    try:
        if options.all or not options.growth:
            measure_cases(options, results)
        if options.all or options.growth:
            measure_growth(options, results)
    finally:
        for part, order in (("cases", WORKLOADS), ("growth", GROWTH)):
            results[part] = {name: results[part][name] for name in order if name in results[part]}
        with open(options.json, "w") as f:
            json.dump(results, f, indent=1)
            f.write("\n")


def main():
    options = arguments()
    results = {"machine": {}, "cases": {}, "growth": {}}
    if os.path.exists(options.json):
        with open(options.json) as f:
            results = json.load(f)
    if not options.report:
        measure_wanted(options, results)
    folder = os.path.dirname(os.path.abspath(options.markdown))
    pages = {
        options.markdown: workload_report.markdown(results),
        os.path.join(folder, "workloads.svg"): plots.ratios(results["cases"]),
        os.path.join(folder, "growth.svg"): plots.growth(results["growth"]),
    }
    for path, text in pages.items():
        with open(path, "w") as f:
            f.write(text)


if __name__ == "__main__":
    main()
