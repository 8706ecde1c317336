#!/usr/bin/env python3
"""Feeds damaged files to the loaders of Python: wisp.load, wisp.jit.load, wisp.onnx.load.

    tools/fuzz_files.py KIND SECONDS [--first CASE] [--findings FOLDER]

A case is a number: the same file of the same kind. Files are changed inside, then given the checksums and lengths that
they should have, so that what lies behind these is reached. Cases run in a process of their own. A finding is a case that
ends that process, computes for more than 20 seconds, asks for much memory, or raises what a loader does not promise; its file
is kept. The program returns 1 if there were any.
"""

import argparse
import io
import json
import pathlib
import random
import resource
import select
import signal
import subprocess
import sys
import time
import zipfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import fuzz_seeds

import wisp

MOST_SECONDS = 20  # of computing, per case
PATIENCE = 300  # seconds without anything: the machine may be busy
MEMORY = 8 << 30  # bytes of addresses
GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "tests" / "golden"
NUMBERS = [
    b"-1",
    b"0",
    b"1",
    b"255",
    b"65536",
    b"2147483648",
    b"9223372036854775807",
    b"18446744073709551616",
    b"1e999",
]


# --- changes


def changed(data, rng, words):
    """The same bytes with a few of them taken out, put in, moved or replaced."""
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        at = rng.randrange(len(data) + 1)
        size = rng.choice((1, 1, 2, 4, 16, 64))
        other = rng.randrange(len(data) + 1)
        what = rng.randrange(7)
        if what == 0:
            data[at : at + size] = b""
        elif what == 1:
            data[at : at + size] = rng.randbytes(size)
        elif what == 2:
            data[at:at] = data[other : other + size]
        elif what == 3:
            data[at : at + size] = data[other : other + size]
        elif what == 4:
            data[at : at + rng.choice((0, size))] = rng.choice(words)
        elif what == 5:
            data[at : at + rng.choice((0, 1, size))] = rng.choice(NUMBERS)
        elif at < len(data):
            data[at] ^= 1 << rng.randrange(8)
    return bytes(data)


def one_changed(parts, rng, words):
    """Parts of which one or two were changed, the longer ones more often."""
    parts = list(parts)
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.choices(range(len(parts)), [len(part) ** 0.5 + 1 for part in parts])[0]
        parts[at] = changed(parts[at], rng, words)
    return parts


# --- kinds of files: seeds, which are lists of parts, and how parts become a file


def container(key, document, header, data):
    """A file of ours with the right checksums, if its header can be read."""
    try:
        entries = json.loads(header)
        text = document.decode()
        check = zlib.crc32(document, zlib.crc32(json.dumps(entries, sort_keys=True).encode()))
        sums = json.dumps({"header": check, "data": zlib.crc32(data)})
        header = json.dumps({"__metadata__": {key: text, "wisp.checksums": sums}, **entries}).encode()
    except (ValueError, TypeError, RecursionError):
        pass
    return len(header).to_bytes(8, "little") + header + data


class Checkpoint:
    errors = (RuntimeError, EOFError)

    def __init__(self):
        files = (fuzz_seeds.to_bytes(wisp.save, value) for value in fuzz_seeds.saved().values())
        self.seeds = [fuzz_seeds.checkpoint_seed(file).split(b"\0", 2) for file in files]

    def file(self, parts):
        return container("wisp", *parts)

    def load(self, data):
        wisp.load(io.BytesIO(data))


class Archive:
    errors = (RuntimeError, EOFError, ValueError)

    def __init__(self):
        files = (fuzz_seeds.to_bytes(wisp.jit.save, made) for made in fuzz_seeds.compiled().values())
        self.seeds = [fuzz_seeds.archive_seed(file).split(b"\0", 3) for file in files]

    def file(self, parts):
        document, header, program, data = parts
        place = {"dtype": "U8", "shape": [len(program)], "data_offsets": [len(data), len(data) + len(program)]}
        entry = f'"__program__":{json.dumps(place)}'.encode()
        end = header.rfind(b"}")
        header = header[:end] + (b"" if header[:end].strip() == b"{" else b",") + entry + header[end:]
        return container("wisp.jit", document, header, data + program)

    def load(self, data):
        str(wisp.jit.load(io.BytesIO(data)))


class Zipped:
    """Files of PyTorch's."""

    errors = (RuntimeError, EOFError)

    def __init__(self):
        written = [fuzz_seeds.to_bytes(self._save, value) for value in fuzz_seeds.saved().values()]
        self.names, self.seeds = [], []
        for data in [(GOLDEN / "torch_zip.pt").read_bytes(), *written]:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                self.names.append(archive.namelist())
                self.seeds.append([archive.read(name) for name in archive.namelist()])

    @staticmethod
    def _save(value, file):
        wisp.save(value, file, format="torch")

    def file(self, parts):
        names = next(names for names in self.names if len(names) == len(parts))
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for name, data in zip(names, parts, strict=True):
                archive.writestr(zipfile.ZipInfo(name), data)  # not of this second: files are the same every time
        return made.getvalue()

    def load(self, data):
        wisp.load(io.BytesIO(data))


class Raw:
    """Whole files, without anything put right."""

    errors = (RuntimeError, EOFError)

    def __init__(self):
        zipped = fuzz_seeds.to_bytes(Zipped._save, fuzz_seeds.saved()["views"])
        ours = fuzz_seeds.to_bytes(wisp.save, fuzz_seeds.saved()["views"])
        self.seeds = [[(GOLDEN / "torch_legacy.pt").read_bytes()], [zipped], [ours]]

    def file(self, parts):
        return parts[0]

    def load(self, data):
        wisp.load(io.BytesIO(data))


class Onnx:
    errors = (RuntimeError, ValueError, TypeError)

    def __init__(self):
        import wisp.onnx

        self.seeds = []
        for name, (model, *args) in fuzz_seeds.exported().items():
            file = io.BytesIO()
            wisp.onnx.export(model, tuple(args), file)
            self.seeds.append([name.encode(), file.getvalue()])

    def file(self, parts):
        return parts[1]

    def load(self, data):
        wisp.onnx.load(data)


KINDS = {"checkpoint": Checkpoint, "archive": Archive, "zipped": Zipped, "raw": Raw, "onnx": Onnx}


class Cases:
    def __init__(self, kind):
        wisp.manual_seed(0)
        self.kind = KINDS[kind]()
        everything = b" ".join(part for seed in self.kind.seeds for part in seed)
        self.words = sorted(set(fuzz_seeds.words_in(everything)))

    def file(self, number):
        rng = random.Random(number)
        return self.kind.file(one_changed(rng.choice(self.kind.seeds), rng, self.words))

    def run(self, number):
        """What is wrong with a case; None if nothing is."""
        try:
            self.kind.load(self.file(number))
        except (MemoryError, wisp.OutOfMemoryError) as error:
            return f"memory: {error}"
        except self.kind.errors:
            return None
        except Exception as error:  # noqa: BLE001 (whatever it is, it is a finding)
            return f"{type(error).__name__}: {error}"
        return None


# --- processes


def work(kind, first):
    """Runs cases for ever, and says which it begins and what was wrong."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    wisp.set_num_threads(1)
    cases, number = Cases(kind), first
    while True:
        print(number, flush=True)
        signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)  # ends the process
        wrong = cases.run(number)
        if wrong is not None:
            print(f"wrong {wrong!r}", flush=True)
        number += 1


def watch(kind, first, deadline, report):
    """One process, until it ends, hangs or time is up; returns the case to go on with."""
    command = [sys.executable, __file__, kind, "0", "--worker", "--first", str(first)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    number, last, lines = first, time.monotonic(), b""
    while time.monotonic() < deadline:
        ready = select.select([process.stdout], [], [], 1)[0]
        block = process.stdout.read(65536) if ready else b""
        if ready and not block:
            report(number, f"the process ended with {process.wait()}: {process.stderr.read()[-300:]!r}")
            break
        if not block and time.monotonic() - last > PATIENCE:
            report(number, "it takes too long")
            break
        last = time.monotonic() if block else last
        *done, lines = (lines + block).split(b"\n")
        for line in done:
            if line.startswith(b"wrong"):
                report(number, line.decode())
            else:
                number = int(line)
    process.kill()
    process.wait()
    return number + 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--findings", type=pathlib.Path, default=pathlib.Path("build/fuzz/findings"))
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.kind, options.first)
    cases, found = Cases(options.kind), []

    def report(number, wrong):
        options.findings.mkdir(parents=True, exist_ok=True)
        path = options.findings / f"{options.kind}_{number}"
        path.write_bytes(cases.file(number))
        found.append(path)
        print(f"{path}: {wrong[:300]}", flush=True)

    number, deadline = options.first, time.monotonic() + options.seconds
    while time.monotonic() < deadline:
        number = watch(options.kind, number, deadline, report)
    print(f"{options.kind}: {number - options.first} cases, {len(found)} findings")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
