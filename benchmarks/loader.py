"""Time of one epoch of a DataLoader, in wisp and (where installed) in PyTorch, alternately in one process."""

import argparse
import gc
import importlib.util
import json
import random
import time
import warnings


class Rows:
    """A dataset as users write them."""

    def __init__(self, x, y, noise=False):
        self.x, self.y, self.noise = x, y, noise

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        scale = random.random() if self.noise else 1.0
        return self.x[index] * scale, self.y[index]


def cases(T):
    data = T.utils.data
    table = T.rand(60_000, 10), T.arange(60_000) % 10
    images = T.rand(512, 3, 224, 224), T.arange(512) % 10
    few = tuple(column[:6000] for column in table)

    def epoch(dataset, **options):
        return lambda: sum(1 for _ in data.DataLoader(dataset, shuffle=True, **options))

    found = {
        "TensorDataset, 60,000 rows in batches of 64": epoch(data.TensorDataset(*table), batch_size=64),
        "the same, 2 workers": epoch(data.TensorDataset(*table), batch_size=64, num_workers=2),
        "own dataset, 6,000 rows in batches of 64": epoch(Rows(*few), batch_size=64),
        "own dataset that draws, batches of 64": epoch(Rows(*few, noise=True), batch_size=64),
        "own dataset, 6,000 batches of 1": epoch(Rows(*few), batch_size=1),
        "own dataset, batches of 64, 2 workers": epoch(Rows(*few), batch_size=64, num_workers=2),
        "512 images of 224x224, batches of 32, 2 workers": epoch(Rows(*images), batch_size=32, num_workers=2),
    }
    if T.__name__ == "wisp":
        threads = epoch(Rows(*images), batch_size=32, num_workers=2, worker_type="thread")
        found["512 images of 224x224, batches of 32, 2 threads"] = threads
    return found


def timed(f):
    start = time.perf_counter()
    f()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", help="file to write the times to")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = ["wisp"] + (["torch"] if importlib.util.find_spec("torch") else [])
    tables = {name: cases(__import__(name)) for name in names}
    times = {name: {} for name in names}
    for case in tables["wisp"]:
        mine = [name for name in names if case in tables[name]]
        for _ in range(options.rounds):
            for name in mine:
                gc.collect()
                found = timed(tables[name][case])
                times[name][case] = min(found, times[name].get(case, found))
        row = [f"{1e3 * times[name][case]:10.1f} ms" for name in mine]
        ratio = f"{times['torch'][case] / times['wisp'][case]:7.1f}x" if "torch" in mine else ""
        print(f"{case:50s}", *row, ratio, flush=True)
    if options.json:
        with open(options.json, "w") as f:
            json.dump(times, f, indent=1)


if __name__ == "__main__":
    main()
