"""Compiled models without Python: from C++ and from C, compared with Python bit for bit."""

import json
import random
import struct
import zlib

import pytest

import wisp
from tests.cpp_build import PROGRAMS, compiled, compiled_c, run, write_all
from wisp import nn
from wisp.serialization import _format


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    return compiled(PROGRAMS / "jit.cpp", tmp_path_factory.mktemp("jit") / "jit", torch=True)


# --- models


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm, self.fc = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.Linear(8 * 16, 5)

    def forward(self, x):
        return self.fc(nn.functional.max_pool2d(self.norm(self.conv(x)).relu(), 2).flatten(1))


class Step(nn.Module):
    """One step of an LSTM, its state passed in and out."""

    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(6, 5)

    def forward(self, x, state: tuple[wisp.Tensor, wisp.Tensor]):
        h, c = self.cell(x, state)
        return h, (h, c)


class Control(nn.Module):
    """Loops, branches, lists and dicts."""

    def forward(self, x, count: int, names: list[str]):
        found: dict[str, wisp.Tensor] = {}
        total = 0.0
        for i in range(count):
            if i % 2 == 0:
                x = x * 2 + i
            else:
                x = x.tanh()
            total += float(x.sum())
        for i, name in enumerate(names):
            found[name] = x[i]
        return found, [x, -x], total, (count > 2, names[0], None)


class Fused(nn.Module):
    """A chain of pointwise operators, on enough elements to be fused."""

    def forward(self, x, y):
        return ((x * y + 1).sigmoid() * x.tanh() - y).relu()


@wisp.jit.script
def polynomial(x, n: int = 3):
    result = wisp.zeros_like(x)
    for i in range(n):
        result = result * x + i
    return result


def mlp():
    return nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3), nn.Softmax(1))


def models():
    """{name: (compiled, inputs)}"""
    wisp.manual_seed(0)
    rows, image, net, step = wisp.randn(5, 4), wisp.randn(2, 3, 8, 8), ConvNet(), Step()
    net(image)  # statistics of its own
    state = (wisp.randn(2, 5), wisp.randn(2, 5))
    large = (wisp.randn(300, 300), wisp.randn(300, 300))
    script, trace, freeze = wisp.jit.script, wisp.jit.trace, wisp.jit.freeze
    return {
        "mlp_traced": (trace(mlp(), rows), (rows,)),
        "mlp_scripted": (script(mlp()), (rows,)),
        "conv_training": (script(ConvNet()), (image,)),
        "conv": (trace(net.eval(), image), (image,)),
        "conv_frozen": (freeze(script(net.eval())), (image,)),
        "step": (script(step), (wisp.randn(2, 6), state)),
        "sequence": (trace(nn.LSTM(6, 5, num_layers=2).eval(), wisp.randn(7, 2, 6)), (wisp.randn(7, 2, 6),)),
        "control": (script(Control()), (rows, 4, ["a", "b"])),
        "fused": (freeze(script(Fused().eval())), large),
        "function": (polynomial, (rows, 5)),
        "function_with_default": (polynomial, (rows.double(),)),
    }


def same(found, expected):
    """Whether two results are the same to the last bit."""
    if isinstance(expected, wisp.Tensor):
        return found.dtype == expected.dtype and found.shape == expected.shape and wisp.equal(found, expected)
    if isinstance(expected, (list, tuple)):
        return len(found) == len(expected) and all(map(same, found, expected)) and isinstance(found, type(expected))
    if isinstance(expected, dict):
        return list(found) == list(expected) and all(same(found[key], expected[key]) for key in expected)
    return type(found) is type(expected) and found == expected


def save_model(path, model, inputs):
    wisp.jit.save(model, f"{path}.pt")
    wisp.save(list(inputs), f"{path}.in.pt")


def test_models_give_the_same_as_in_python(program, tmp_path):
    expected = {}
    for name, (model, inputs) in models().items():
        save_model(tmp_path / name, model, inputs)
        with wisp.no_grad():  # a loaded copy: batch norm counts what it has seen
            expected[name] = wisp.jit.load(tmp_path / f"{name}.pt")(*inputs)
    run(program, "run", *(tmp_path / name for name in expected))
    for name, result in expected.items():
        assert same(wisp.load(tmp_path / f"{name}.out.pt"), result), name


def test_threads_share_a_model(program, tmp_path):
    model, inputs = models()["conv"]
    save_model(tmp_path / "conv", model, inputs)
    assert run(program, "threads", tmp_path / "conv") == "1111"


def test_the_listing_of_the_talks(program, tmp_path):
    """Its model is smaller than the talks', which nobody sees."""
    wisp.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 7, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 9)
    )
    traced = wisp.jit.trace(model, wisp.rand(1, 3, 224, 224))
    traced.save(tmp_path / "serialized_resnet.pt")
    shown = run(program, "listing", cwd=tmp_path)
    assert shown.startswith("tensor([[") and shown.count(",") >= 4
    assert "libpython" not in run("ldd", program).lower()


# --- members


class Net(nn.Module):
    names: list[str]
    table: dict[str, float]
    maybe: wisp.Tensor | None

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(1, 2, 3), nn.BatchNorm1d(2)
        self.tied = nn.Linear(2, 2)
        self.again = self.tied
        self.tied.bias.requires_grad_(False)
        self.register_buffer("passing", wisp.ones(2), persistent=False)
        self.names, self.table, self.maybe, self.most = ["a", "b"], {"a": 1.5}, None, (1 << 63) - 1

    def forward(self, x: wisp.Tensor, scale: float = 2.0) -> wisp.Tensor:
        x = self.norm(self.conv(x)).mean(dim=2)
        return self.again(self.tied(x)) * scale + self.passing

    @wisp.jit.export
    def halves(self, numbers: list[float]) -> list[float]:
        return [n / 2 for n in numbers]


def net():
    wisp.manual_seed(4)
    return Net().eval()


def message(f):
    with pytest.raises(Exception) as caught:
        f()
    return str(caught.value)


@pytest.mark.usefixtures("notes_apart")
def test_members(program, tmp_path):
    wisp.jit.script(net()).save(tmp_path / "net.pt")
    loaded = wisp.jit.load(tmp_path / "net.pt")
    facts, errors = run(program, "members", tmp_path / "net.pt").split("===\n")
    parameters = [f"{name} {list(p.shape)} {int(p.requires_grad)}" for name, p in loaded.named_parameters()]
    buffers = [name for name, _ in loaded.named_buffers()]
    attributes = f"b 1.5 101 {(1 << 63) - 1} BatchNorm1d"
    assert facts.splitlines() == ["Net", *parameters, *buffers, attributes, "001100", "1 2.5"]
    check_errors(errors.split("\n---\n"), loaded)


def check_errors(errors, loaded):
    x = wisp.ones(2, 1, 15)
    assert errors[0] == message(lambda: loaded())
    wrong = message(lambda: loaded(x, "two")).splitlines()
    assert errors[1].splitlines() == [line for line in wrong if not line.startswith("Value: ")]
    assert errors[2] == message(lambda: loaded(x, 2.0, 3.0))
    assert errors[3] == message(lambda: loaded(wisp.ones(2, 5, 15)))
    assert f'File "{__file__}"' in errors[3] and "~ <--- HERE" in errors[3]
    assert errors[4:] == [
        "'Net' has no method 'nothing'",
        "'Net' object has no attribute 'nothing'",
        "a script gave an object of a class, which C++ programs cannot take",
        "'Net' has no module 'names'",
        "this module is empty: see jit::load()",
        "",
    ]


def test_training_goes_on_in_cpp(program, tmp_path):
    made = wisp.jit.script(net())
    made.save(tmp_path / "net.pt")
    run(program, "train", tmp_path / "net.pt", tmp_path / "state.pt")
    x = wisp.linspace(0, 1, 30).reshape(2, 1, 15)
    made.train()
    optimizer = wisp.optim.SGD(made.parameters(), lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        made(x).pow(2).sum().backward()
        optimizer.step()
    expected = dict(made.named_parameters()) | dict(made.named_buffers())
    found = wisp.load(tmp_path / "state.pt")
    assert list(found) == list(expected)
    assert all(wisp.equal(found[name], value) for name, value in expected.items())


# --- damaged files


def python_loads(path):
    try:
        wisp.jit.load(path)
    except (RuntimeError, ValueError, TypeError, IndexError, EOFError):
        return False
    return True


def test_damaged_files_are_refused(program, tmp_path):
    good = wisp.jit.script(net()).save_to_buffer()
    assert len(good) > 4000
    damaged = []
    for i in range(0, len(good), len(good) // 200):
        damaged += [good[:i], good[:i] + bytes([good[i] ^ 0x15]) + good[i + 1 :]]
    paths = write_all(tmp_path, damaged)
    loaded = run(program, "damaged", *paths, tmp_path).split()
    assert loaded == [str(path) for path in paths if python_loads(path)]
    assert len(loaded) < len(paths) / 50


class Archive:
    """An archive taken apart: what is changed in it gets checksums that are right."""

    def __init__(self, data):
        size = int.from_bytes(data[:8], "little")
        self.header = json.loads(data[8 : 8 + size])
        self.data = data[8 + size :]
        self.document = json.loads(self.header.pop("__metadata__")["wisp.jit"])
        begin, end = self.header["__program__"]["data_offsets"]
        assert end == len(self.data)  # bytes come last
        self.text = self.data[begin:].decode()
        self.data = self.data[:begin]

    def with_text(self, text, document=None):
        entry = {"dtype": "U8", "shape": [len(text)], "data_offsets": [len(self.data), len(self.data) + len(text)]}
        return self.bytes({**self.header, "__program__": entry}, self.data + text, document)

    def with_document(self, document):
        return self.bytes(self.header, self.data + self.text.encode(), document)

    def bytes(self, header, data, document=None):
        text = json.dumps(document or self.document)
        sums = {"header": _format._header_check(header, text), "data": zlib.crc32(data)}
        head = json.dumps({"__metadata__": {"wisp.jit": text, "wisp.checksums": json.dumps(sums)}, **header}).encode()
        return struct.pack("<Q", len(head)) + head + data


def changes(document):
    """Descriptions of objects that are wrong in one way each."""

    def changed(change):
        copy = json.loads(json.dumps(document))
        change(copy, copy["objects"][copy["module"]]["attributes"])
        return copy

    yield changed(lambda d, a: d.update(version=2))
    yield changed(lambda d, a: d.update(version="1"))
    yield changed(lambda d, a: d.update(module=99))
    yield changed(lambda d, a: d.update(module=None))
    yield changed(lambda d, a: d.update(objects=None))
    yield changed(lambda d, a: d.update(function="nowhere"))
    yield changed(lambda d, a: d["objects"][0].update({"class": "__wisp__.Nothing"}))
    yield changed(lambda d, a: d["objects"][0].pop("attributes"))
    yield changed(lambda d, a: a.pop("names"))
    yield changed(lambda d, a: a.update(more=1))
    values = [
        None, 1, "text", [], {}, {"tensor": "nowhere"}, {"object": 99}, {"object": document["module"]},
        {"list": [1]}, {"list": None}, {"list": ["a", None]}, {"dict": [[1]]}, {"dict": [[{"list": []}, 1]]},
        {"float": "many"}, {"complex": ["1"]}, {"dtype": "float7"}, {"device": "moon"}, {"code": "import os"},
    ]  # fmt: skip
    for value in values:
        yield changed(lambda d, a: a.update(names=value))
    yield changed(lambda d, a: a.update(conv=1))
    yield changed(lambda d, a: a.update(conv=a["norm"]))
    yield changed(lambda d, a: a.update(passing=3.5))
    yield changed(lambda d, a: a["passing"].update(tensor="__program__", requires_grad=True))


def test_hostile_descriptions_are_refused(program, tmp_path):
    archive = Archive(wisp.jit.script(net()).save_to_buffer())
    fine = tmp_path / "fine.pt"
    fine.write_bytes(archive.with_document(archive.document))
    wrong = write_all(tmp_path, [archive.with_document(each) for each in changes(archive.document)])
    assert run(program, "damaged", fine, *wrong).split() == [str(fine)]
    assert not any(map(python_loads, wrong))


NODE = b"""program 1
class __wisp__.Node module {
  parameter weight : Tensor
  plain training : bool
  plain next : __wisp__.Node?
}
"""


def chain(archive, last, count=50_000):
    """A file of many modules, each inside the one before."""
    weight = {"tensor": "passing", "requires_grad": False, "parameter": True}
    described = [
        {"class": "__wisp__.Node", "attributes": {"weight": weight, "training": True, "next": {"object": i + 1}}}
        for i in range(count)
    ]
    described[-1]["attributes"]["next"] = last
    document = {"version": 1, "module": 0, "name": "Node", "objects": described}
    return archive.with_text(NODE, document)


def test_long_chains_and_rings_of_modules(program, tmp_path):
    archive = Archive(wisp.jit.script(net()).save_to_buffer())
    paths = write_all(tmp_path, [chain(archive, None), chain(archive, {"object": 0})])
    assert run(program, "walk", *paths) == "10\n10\n"  # one parameter, no longer in training


def test_damaged_programs_are_refused(program, tmp_path):
    """The text of a program changed anywhere: C++ takes what Python takes."""
    archive, rng = Archive(wisp.jit.script(net()).save_to_buffer()), random.Random(3)
    text = archive.text.encode()
    contents = []
    for _ in range(300):
        begin = rng.randrange(len(text))
        end = begin + rng.choice([0, 1, 1, 5, 40])
        contents.append(archive.with_text(text[:begin] + rng.choice([b"", b"7", b"%", b"Tensor", b"}"]) + text[end:]))
    paths = write_all(tmp_path, contents)
    assert run(program, "damaged", *paths).split() == [str(path) for path in paths if python_loads(path)]


# --- C


class ForC(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x, mask):
        return {"out": self.fc(x).T}, [x * mask, mask.sum()], 2.5, x.shape[0]


def test_c(tmp_path):
    program = compiled_c(PROGRAMS / "c_api.c", tmp_path / "c_api")
    wisp.manual_seed(0)
    model = wisp.jit.script(ForC())
    model.save(tmp_path / "model.pt")
    results, errors = run(program, tmp_path / "model.pt", cwd=tmp_path).split("---\n")
    lines = results.splitlines()
    shown = [float.fromhex(number) for number in lines[0].split("] ")[1].split()[1:]]
    x = wisp.arange(6.0).view(2, 3) / 2
    assert lines[0].startswith("8 [2, 2] 16 ")
    assert shown == model(x, wisp.tensor([False, True, True]))[0]["out"].flatten().tolist()
    assert lines[1:] == ["8 [2, 3] 24 0x0p+0 0x1p-1 0x1p+0 0x0p+0 0x1p+1 0x1.4p+1", "5 [] 8", "9 [] 8", "5 [] 8"]
    check_c_errors(errors.splitlines())


def check_c_errors(errors):
    assert errors[:4] == [
        "No such file, or not to be read: 'nowhere.pt'", "a path is missing", "there is no dtype 77",
        "from_blob(): sizes and strides must not be negative, got [-1] and [1]",
    ]  # fmt: skip
    assert errors[4:7] == ["the data of a tensor is missing", "input 0 is missing", "'ForC' has no method 'nothing'"]
    missing = ["a tensor is null", "a shape is missing", "input 0 is missing", *["an argument is null"] * 3]
    assert errors[7:13] == missing
    assert errors[13].startswith("ForC.forward() is missing value for argument 'mask'")
