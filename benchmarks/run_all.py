"""Runs every benchmark of this folder, one after the other, and writes results.md and workloads.md anew.

    python benchmarks/run_all.py [--only REGEX]

Takes about two hours on two cores, and wants the machine to itself. Needs PyTorch; benchmarks of inference need onnx and
onnxruntime.
"""

import argparse
import os
import re
import subprocess
import sys
import time

import result_tables

HERE = os.path.dirname(os.path.abspath(__file__))
# The arguments with which each writes its committed figures.
BENCHMARKS = {
    "small": ["--json", os.path.join(HERE, "small.json")],
    "sweep": ["--quick"],
    "loader": ["--json", os.path.join(HERE, "loader.json")],
    "run_workloads": ["--all"],
    "networks": [],
    "autocast": [],
    "inference": ["--json", os.path.join(HERE, "inference.json")],
    "deployment": ["--json", os.path.join(HERE, "deployment.json")],
    "fusion": ["--compiled"],
    "loops": [],
    "busy": ["--json", os.path.join(HERE, "busy.json")],
    "lazy_steps": [],
    "ways": [],
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="benchmarks whose names match")
    options = parser.parse_args()
    failed = []
    for name, arguments in BENCHMARKS.items():
        if not re.search(options.only, name):
            continue
        start = time.monotonic()
        print(f"--- {name}", flush=True)
        done = subprocess.run([sys.executable, os.path.join(HERE, f"{name}.py"), *arguments], check=False)
        print(f"--- {name}: {time.monotonic() - start:.0f} s", flush=True)
        if done.returncode:
            failed.append(name)
    result_tables.main()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
