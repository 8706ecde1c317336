#!/usr/bin/env python3
"""Writes the inputs that the fuzzers of core/fuzz begin with, and the words that these are made of.

tools/fuzz_seeds.py FOLDER
"""

import io
import json
import pathlib
import re
import struct
import sys

import wisp
from wisp import nn


@wisp.jit.script
class Counter:
    def __init__(self, start: int):
        self.n = start

    def more(self, by: int = 2) -> int:
        self.n += by
        return self.n


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 2, 3)
        self.norm = nn.BatchNorm1d(2)
        self.names = ["a", "b"]
        self.table = {"a": 1.5}
        self.limit = float("inf")

    def forward(self, x, k: float = 2.0):
        counter = Counter(3)
        y = self.norm(self.conv(x)) * k
        for i in range(x.size(0)):
            if counter.more(i) > 4 and len(self.names) > 1:
                y = y.relu() + self.table["a"]
            else:
                y -= i
        return y, [y.sum(), y.mean(dim=1).max()]


@wisp.jit.script
def texts(a: str, n: int):
    found = {"x": 1}
    while n > 0:
        a += f"{n}: {a.upper()}"
        found[a] = n
        n -= 1
        if n == 3:
            break
    if n < 0:
        raise ValueError("negative")
    assert n != 7, "seven"
    print(a, found)
    return (a, found, [i * 2.5 for i in [1.0, 2.0]], None)


@wisp.jit.script
def shapes(x: wisp.Tensor, y: wisp.Tensor | None = None):
    if y is None:
        y = wisp.zeros(x.shape, dtype=wisp.float64, device="cpu")
    z = wisp.cat([x, y.float()], dim=0).view(-1)[1:5:2]
    a, b = wisp.split(wisp.ones(4), 2)
    z[0] = 3
    return z.add_(a.sum()), b.max(dim=0), x.t() @ y.float()


def traced():
    constant = wisp.arange(3.0)
    return wisp.jit.trace(lambda x: (x * constant).softmax(-1) + wisp.tensor([1, 2, 3]), wisp.ones(2, 3))


def compiled():
    net = wisp.jit.script(Net().eval())
    frozen = wisp.jit.freeze(wisp.jit.script(nn.Sequential(nn.Linear(2, 3), nn.Tanh()).eval()))
    # Files say what programs were called with.
    net(wisp.ones(2, 1, 9))
    texts._c.example = ["a", 2]  # it would print
    shapes(wisp.ones(2, 2))
    frozen(wisp.ones(1, 2))
    return {"net": net, "texts": texts, "shapes": shapes, "traced": traced(), "frozen": frozen}


def saved():
    base = wisp.arange(6.0).reshape(2, 3)
    model = nn.Linear(3, 2)
    return {
        "views": {"w": base, "row": base[1], "turned": base.t(), "n": [1, (2.5, "x"), None, True]},
        "kinds": [
            wisp.ones(2, dtype=d) for d in (wisp.bool, wisp.int16, wisp.bfloat16, wisp.complex64, wisp.complex128)
        ],
        "state": model.state_dict(),
        "numbers": {1: float("nan"), "a": -(1 << 60), "empty": wisp.zeros(0, 4)},
    }


def exported():
    """Models with the inputs that they are exported on."""
    layers = nn.Sequential(
        nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3)
    )
    return {
        "layers": (layers.eval(), wisp.ones(1, 1, 4, 4)),
        "loop": (counted, wisp.ones(2, 3), wisp.tensor(2)),
        "lstm": (nn.LSTM(3, 2), wisp.ones(4, 1, 3)),
        "shapes": (
            lambda x: wisp.cat([x.t(), x.view(-1, 2)[:2]], 0).softmax(1).transpose(0, 1)[:, 1:],
            wisp.ones(2, 2),
        ),
    }


@wisp.jit.script
def counted(x, n):
    for i in range(int(n)):
        if x.sum() > 3:
            x = x + i
        else:
            x = x * 2
    return x


def to_bytes(save, value):
    file = io.BytesIO()
    save(value, file)
    return file.getvalue()


def taken_apart(file):
    """The metadata of a file, its entries and its data."""
    end = 8 + int.from_bytes(file[:8], "little")
    header = json.loads(file[8:end])
    return header.pop("__metadata__"), header, file[end:]


def checkpoint_seed(file):
    metadata, header, data = taken_apart(file)
    return b"\0".join([metadata["wisp"].encode(), json.dumps(header).encode(), data])


def archive_seed(file):
    """The program is a part of its own: its place in the file follows from its length."""
    metadata, header, data = taken_apart(file)
    begin, end = header.pop("__program__")["data_offsets"]
    for entry in header.values():
        entry["data_offsets"] = [at - (end - begin if at >= end else 0) for at in entry["data_offsets"]]
    rest = data[:begin] + data[end:]
    return b"\0".join([metadata["wisp.jit"].encode(), json.dumps(header).encode(), data[begin:end], rest])


def array_seeds():
    """Files of NumPy's and of MNIST's."""
    header = "{'descr': '%s', 'fortran_order': %s, 'shape': (%s), }\n"
    for name, shape, order in (("<f4", "2, 3", "False"), ("<i2", "3, 4", "True"), ("|b1", "24,", "False")):
        text = (header % (name, order, shape)).encode()
        yield b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(24)
    yield struct.pack(">I3I", 0x0803, 2, 3, 4) + bytes(24)


def seeds():
    archives = {name: to_bytes(wisp.jit.save, made) for name, made in compiled().items()}
    checkpoints = {name: to_bytes(wisp.save, value) for name, value in saved().items()}
    parts = [archive_seed(file) for file in archives.values()] + [archives["texts"]]
    return {
        "archive": parts,
        "run": parts,
        "checkpoint": [checkpoint_seed(file) for file in checkpoints.values()] + [checkpoints["views"]],
        "program": [archive_seed(file).split(b"\0")[2] for file in archives.values()],
        "npy": list(array_seeds()),
    }


def words_in(data):
    """What data is made of, and a fuzzer may put elsewhere."""
    return re.findall(rb"[A-Za-z_:.]{2,30}|[^\s\w]{1,2}", data)


def dictionary(inputs):
    """The words of inputs in the form that libFuzzer reads."""
    found = {word for data in inputs for word in words_in(data)}
    printable = (word.decode() for word in found if word.isascii() and word.decode().isprintable())
    return "".join('"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"\n' for word in sorted(printable))


def main(folder):
    for name, inputs in seeds().items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(inputs):
            (folder / name / f"seed_{number}").write_bytes(data)
        (folder / f"{name}.dict").write_text(dictionary(inputs))


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
