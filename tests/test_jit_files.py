"""Files of compiled functions and modules: what comes back, what is refused."""

import io
import json
import os
import pathlib

import pytest

import wisp
from tests.fresh import python
from wisp import nn
from wisp.jit import load, save, script, trace
from wisp.serialization import FileError

FOLDER = pathlib.Path(__file__).parent / "jit_files"


class Net(nn.Module):
    """A module with attributes of many kinds."""

    names: list[str]
    table: dict[str, float]
    maybe: wisp.Tensor | None

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 2, 3)
        self.norm = nn.BatchNorm1d(2)
        self.tied = nn.Parameter(wisp.full((2,), 2.0))
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        self.layers[1].weight = self.layers[0].weight
        self.register_buffer("kept", wisp.arange(2))
        self.register_buffer("passing", wisp.ones(2), persistent=False)
        self.names, self.table, self.maybe, self.rate, self.count = ["a", "b"], {"a": 1.5}, None, float("inf"), 3

    def forward(self, x: wisp.Tensor, scale: float = 2.0) -> wisp.Tensor:
        x = self.norm(self.conv(x)).mean(dim=2)
        for layer in self.layers:
            x = layer(x)
        if self.rate > 10.0:
            x = x * self.table["a"] * len(self.names) + self.passing
        return x * self.tied * scale + self.count + self.kept


def make():
    wisp.manual_seed(4)
    return Net().eval()


def again(compiled, **options):
    file = io.BytesIO()
    save(compiled, file)
    return load(io.BytesIO(file.getvalue()), **options)


X = wisp.linspace(0, 1, 30).reshape(2, 1, 15)


# --- what comes back


def test_a_function():
    @script
    def f(x, n: int = 2):
        for i in range(n):
            x = x + i
        return x

    loaded = again(f)
    assert wisp.equal(loaded(wisp.ones(2)), f(wisp.ones(2)))
    assert wisp.equal(loaded(wisp.ones(2), n=5), f(wisp.ones(2), 5))
    assert loaded.name == "f"
    assert str(loaded.graph) == str(f.graph)


def test_a_scripted_module():
    net = make()
    loaded = again(script(net))
    assert wisp.equal(loaded(X), net(X))
    assert wisp.equal(loaded(X, scale=1.0), net(X, 1.0))
    assert list(loaded.state_dict()) == list(net.state_dict())
    assert all(wisp.equal(a, b) for a, b in zip(loaded.state_dict().values(), net.state_dict().values(), strict=True))
    assert loaded.names == ["a", "b"]
    assert loaded.table == {"a": 1.5}
    assert loaded.maybe is None
    assert loaded.rate == float("inf")
    assert loaded.original_name == "Net"
    assert type(loaded.tied) is nn.Parameter


def test_a_traced_module_with_constants():
    outside = wisp.arange(2.0)
    net = nn.Sequential(nn.Linear(3, 2), nn.Softmax(1))
    traced = trace(lambda x: net(x) + outside, wisp.rand(4, 3))
    loaded = again(traced)
    x = wisp.rand(5, 3)
    assert wisp.equal(loaded(x), traced(x))


def test_tied_weights_stay_tied():
    loaded = again(script(make()))
    layers = loaded.layers
    assert layers[0].weight is layers[1].weight
    assert len(list(loaded.parameters())) == len(list(make().parameters()))


def test_a_loaded_module_can_be_trained_on():
    net = make()
    loaded = again(script(net))
    loaded.train()
    assert loaded.training
    assert loaded.norm.training
    net.train()
    for each in (net, loaded):
        optimizer = wisp.optim.SGD(each.parameters(), lr=0.05)
        for _ in range(3):
            optimizer.zero_grad()
            each(X).pow(2).sum().backward()
            optimizer.step()
    for (name, a), b in zip(net.state_dict().items(), loaded.state_dict().values(), strict=True):
        wisp.testing.assert_close(a, b, msg=name)


def test_a_loaded_module_is_a_module():
    loaded = again(script(make()))
    assert loaded.double()(X.double()).dtype == wisp.float64
    assert loaded.float().requires_grad_(False)(X).requires_grad is False
    loaded.load_state_dict(make().state_dict())
    wisp.testing.assert_close(loaded(X), make()(X))
    assert wisp.equal(again(loaded)(X), loaded(X))


def test_errors_of_loaded_programs_show_their_source():
    with pytest.raises(RuntimeError) as error:
        again(script(make()))(wisp.ones(2, 5, 15))
    text = str(error.value)
    assert f'File "{__file__}"' in text
    assert "self.norm(self.conv(x))" in text
    assert "~ <--- HERE" in text


def test_paths_and_extra_files(tmp_path):
    compiled = script(make())
    path = tmp_path / "net.pt"
    compiled.save(path, _extra_files={"note.txt": "hello", "raw": b"\x00\x01"})
    extra = {"note.txt": "", "raw": "", "absent": "x"}
    assert wisp.equal(load(str(path), _extra_files=extra)(X), compiled(X))
    assert extra == {"note.txt": b"hello", "raw": b"\x00\x01", "absent": "x"}
    assert load(path, map_location="cpu").tied.device.type == "cpu"
    with pytest.raises(RuntimeError, match="cuda"):
        load(path, map_location="cuda")
    assert os.listdir(tmp_path) == ["net.pt"]
    other = script(make())
    other(X)  # files say what they were called with
    assert compiled.save_to_buffer() == other.save_to_buffer()


def test_extra_files_and_locations_that_cannot_be():
    compiled = script(lambda x: x + wisp.tensor([1.0, 2.0]))
    with pytest.raises(TypeError, match="'a' must be a str or bytes, got int"):
        compiled.save_to_buffer({"a": 3})
    file = compiled.save_to_buffer({"a": "text"})
    with pytest.raises(TypeError, match="must be a dict"):
        load(io.BytesIO(file), _extra_files=["a"])

    constant = wisp.ones(2)
    traced = wisp.jit.trace(lambda x: x + constant, wisp.ones(2)).save_to_buffer()
    assert load(io.BytesIO(traced), map_location="cpu")(wisp.ones(2)).tolist() == [2, 2]
    for wrong in ("cuda", "nonsense", 3):
        with pytest.raises(RuntimeError, match="which this machine does not have"):
            load(io.BytesIO(traced), map_location=wrong)


def test_two_files_in_one_stream():
    file = io.BytesIO()
    save(script(make()), file)
    save(trace(wisp.neg, wisp.ones(1)), file)
    file.seek(0)
    assert wisp.equal(load(file)(X), make()(X))
    assert load(file)(wisp.ones(1)).item() == -1


def test_weights_are_a_safetensors_file(tmp_path):
    from wisp.utils import safetensors

    net = make()
    save(script(net), tmp_path / "net.pt")
    found = safetensors.load_file(tmp_path / "net.pt")
    assert wisp.equal(found["conv.weight"], net.conv.weight)
    assert bytes(found["__program__"].tolist()).startswith(b"program 1\n")


def test_another_process_needs_no_source(tmp_path):
    save(script(make()), tmp_path / "net.pt")
    printed = python(f"""
import wisp

x = wisp.linspace(0, 1, 30).reshape(2, 1, 15)
print(wisp.jit.load({str(tmp_path / "net.pt")!r})(x).tolist())
""")
    assert json.loads(printed) == make()(X).tolist()


# --- files of earlier versions


def test_a_file_of_version_1():
    """Written by the first version that could; see tests/jit_files/write.py. It has to stay readable."""
    loaded = load(FOLDER / "net_1.pt")
    expected = load(FOLDER / "function_1.pt")
    with wisp.no_grad():
        result = loaded(X)
    assert [round(each, 4) for each in result.flatten().tolist()] == json.loads((FOLDER / "net_1.json").read_text())
    assert expected(wisp.ones(2), 3).tolist() == [12.0, 12.0]


# --- what is refused


def test_what_cannot_be_saved():
    with pytest.raises(TypeError, match="expected a compiled function or module"):
        save(nn.Linear(1, 1), io.BytesIO())

    @wisp.jit.ignore
    def aside(x: wisp.Tensor) -> wisp.Tensor:
        return x

    def uses(x):
        return aside(x)

    with pytest.raises(RuntimeError, match="calls a Python function"):
        save(script(uses), io.BytesIO())


def test_other_files_are_refused(tmp_path):
    with pytest.raises(EOFError, match="empty"):
        load(io.BytesIO())
    for data in (b"abc", b"PK\x03\x04" + bytes(100), bytes(100)):
        with pytest.raises(FileError):
            load(io.BytesIO(data))
    wisp.save({"a": wisp.ones(1)}, tmp_path / "tensors.pt")
    with pytest.raises(FileError, match="no compiled program"):
        load(tmp_path / "tensors.pt")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "absent.pt")


def _saved():
    file = io.BytesIO()
    save(script(make()), file)
    return file.getvalue()


def test_damage_is_noticed():
    data = _saved()
    for cut in (5, 20, len(data) // 2, len(data) - 1):
        with pytest.raises(FileError):
            load(io.BytesIO(data[:cut]))
    for at in range(9, len(data), len(data) // 60):
        changed = bytearray(data)
        changed[at] ^= 0x15
        with pytest.raises(FileError):
            load(io.BytesIO(bytes(changed)))


def _rewritten(change):
    """The file with another description or program, and checksums that fit."""
    from wisp.jit import _files
    from wisp.serialization import _safetensors as layout
    from wisp.serialization._files import Source

    reader = layout.Reader(Source(io.BytesIO(_saved())))
    document = json.loads(reader.metadata["wisp.jit"])
    blobs = {name: reader.tensor(name) for name in reader.entries}
    program = bytes(blobs["__program__"].tolist()).decode()
    program = change(document, program, blobs) or program
    blobs["__program__"] = program.encode()
    return io.BytesIO(b"".join(bytes(chunk) for chunk in _files._file(blobs, json.dumps(document))))


def _set(*path):
    *front, last = path

    def change(document, program, blobs):
        at = document
        for step in front[:-1]:
            at = at[step]
        at[front[-1]] = last

    return change


HOSTILE = {
    "newer version": _set("version", 99),
    "no version": _set("version", None),
    "no objects": _set("objects", []),
    "no such object": _set("module", 1000),
    "negative object": _set("module", -1),
    "an attribute less": lambda d, p, b: d["objects"][0]["attributes"].pop("tied") and None,
    "an attribute of another type": _set("objects", 0, "attributes", "tied", "text"),
    "an unknown value": _set("objects", 0, "attributes", "tied", {"what": 1}),
    "no such tensor": _set("objects", 0, "attributes", "tied", {"tensor": "absent"}),
    "no such class": _set("objects", 0, "class", "__wisp__.Absent"),
    "a class that is no text": _set("objects", 0, "class", 3),
    "deep lists": _set("objects", 0, "attributes", "names", json.loads('{"list": [' * 400 + "]}" * 400)),
    "an integer of 65 bits": _set("objects", 0, "attributes", "table", {"dict": [["a", 1 << 64]]}),
    "no program": lambda d, p, b: "program 1\n",
    "text": lambda d, p, b: "hello",
    "an unknown operator": lambda d, p, b: p.replace("aten::mul", "aten::mulch"),
    "a wrong type": lambda d, p, b: p.replace("float = ", "int = "),
    "a value before its definition": lambda d, p, b: p.replace("aten::mul(%", "aten::mul(%nowhere_"),
    "a function that calls what is not there": lambda d, p, b: p.replace('name="forward"', 'name="backward"'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_give_an_error(name):
    with pytest.raises((RuntimeError, ValueError)):
        load(_rewritten(HOSTILE[name]))(X)


def test_values_that_are_not_set_give_an_error():
    program = wisp._C._jit.Program()
    program.parse(
        """program 1
function f {
  graph(%x : Tensor):
    %l : int[] = prim::Uninitialized()
    %n : int = aten::len.t(%l)
    return (%n)
}
function g {
  graph(%x : Tensor):
    %y : Tensor = prim::Uninitialized()
    %z : Tensor = aten::neg(%y)
    return (%z)
}
function h {
  graph(%x : Tensor?):
    %y : Tensor = prim::UncheckedCast(%x)
    return (%y)
}
"""
    )
    for name in "fg":
        with pytest.raises((RuntimeError, TypeError)):
            program.function(name)(wisp.ones(1))
    with pytest.raises(RuntimeError):
        program.function("h")(None)
