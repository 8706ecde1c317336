"""The program ``wisp``, and the guide to models without Python."""

import importlib.util
import io
import re

import numpy
import pytest

import wisp
from tests.cpp_build import ROOT, attempt, config, run, write_all
from tests.test_jit_files import FOLDER as JIT_FILES
from tests.test_jit_inputs import HOSTILE, rewritten
from wisp import nn


@pytest.fixture(scope="module")
def tool():
    return config("--tool")[0]


# --- arrays


class Same(nn.Module):
    def forward(self, x):
        return x.clone()


def arrays():
    x = numpy.arange(24).reshape(2, 3, 4)
    for dtype in ("bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex64",
                  "complex128"):  # fmt: skip
        yield x.astype(dtype)
    yield from (numpy.asfortranarray(x), x[:, :, 1].T.copy("F"), numpy.float32(3), numpy.zeros((0, 3)), x[0, 0])


def test_arrays_of_numpy(tool, tmp_path):
    wisp.jit.save(wisp.jit.script(Same()), tmp_path / "same.pt")
    for array in arrays():
        numpy.save(tmp_path / "x.npy", array)
        run(tool, "run", tmp_path / "same.pt", "--input", tmp_path / "x.npy", "--output", tmp_path / "y.npy")
        found = numpy.load(tmp_path / "y.npy")
        assert found.dtype == array.dtype and found.shape == array.shape and (found == array).all()


class Named(nn.Module):
    def forward(self, x):
        return {"all": {"double": 2 * x}, "one": {"sum": x.sum()}}


def test_results_that_are_dicts_have_their_keys(tool, tmp_path):
    x = numpy.arange(3, dtype="float32")
    wisp.jit.save(wisp.jit.trace(Named(), (wisp.from_numpy(x),), strict=False), tmp_path / "named.pt")
    numpy.save(tmp_path / "x.npy", x)
    command = (tool, "run", tmp_path / "named.pt", "--input", tmp_path / "x.npy")
    shown = run(*command)
    assert (
        re.search(r"^all.double: tensor\(\[0\., 2\., 4\.\]\)$", shown, re.MULTILINE) and "one.sum: tensor(3.)" in shown
    )
    run(*command, "--output", f"one.sum={tmp_path}/sum.npy", "--output", f"all.double={tmp_path}/double.npy")
    assert numpy.load(tmp_path / "sum.npy") == 3 and (numpy.load(tmp_path / "double.npy") == 2 * x).all()
    run(*command, "--output", tmp_path / "first.npy", "--output", tmp_path / "second.npy")
    assert (numpy.load(tmp_path / "first.npy") == 2 * x).all() and numpy.load(tmp_path / "second.npy") == 3
    failed = attempt(*command, "--output", tmp_path / "only.npy")
    assert failed.returncode and "2 tensor(s) (all.double, one.sum), and there are 1 --output" in failed.stderr


def npy(array):
    file = io.BytesIO()
    numpy.save(file, array)
    return file.getvalue()


def test_damaged_arrays(tool, tmp_path):
    wisp.jit.save(wisp.jit.script(Same()), tmp_path / "same.pt")
    good = npy(numpy.arange(6.0).reshape(2, 3))
    header = good[10:128]
    wrong = [
        b"", good[:9], good[:60], good[:-1], good + b"x", b"x" + good, good[:6] + b"\x09" + good[7:], npy(numpy.array(["a"])),
        npy(numpy.zeros(2, dtype=">f4")), npy(numpy.zeros(2, dtype=[("a", "f4")])), good.replace(b"(2, 3)", b"(2, -3)"),
        good.replace(b"(2, 3), }", b"(9999999999999999999,), }"), good.replace(b"(2, 3), }    ", b"(4294967296, 4294967296), }"),
        good.replace(b"'shape'", b"'shale'"), good.replace(b"False", b"Maybe"), good.replace(b"}", b" "),
        good.replace(header, header.replace(b"'fortran_order': False", b"'descr': '<f8'        ")),
        good.replace(b"(2, 3), }", b"(" + b"1," * 65 + b"6), }"),
    ]  # fmt: skip
    for path in write_all(tmp_path, wrong):
        done = attempt(tool, "run", tmp_path / "same.pt", "--input", path)
        assert done.returncode == 1 and done.stderr.startswith("wisp: '"), path


# --- commands


def test_tool(tool, tmp_path):
    rows = wisp.linspace(-1, 1, 20).view(5, 4)
    traced = wisp.jit.trace(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Softmax(1)), rows)
    wisp.jit.save(traced, tmp_path / "mlp.pt")
    numpy.save(tmp_path / "x.npy", rows.numpy())
    given = ["--input", tmp_path / "x.npy"]
    expected = traced(rows).detach()
    assert run(tool, "run", tmp_path / "mlp.pt", *given) == f"{expected}\n"
    shown = run(tool, "show", tmp_path / "mlp.pt")
    says = "input  input: float32[5, 4], as the file says\n"
    assert shown == f"Sequential\n{says}{wisp.jit.load(tmp_path / 'mlp.pt').inlined_graph}"
    measured = run(tool, "bench", tmp_path / "mlp.pt", *given, "--repeat", 7, "--threads", 1).splitlines()
    assert [line.split()[0] for line in measured] == ["first", "min", "median", "runs"]
    assert 0 < float(measured[1].split()[1]) <= float(measured[2].split()[1]) and measured[3].split()[1] == "7"
    drawn = run(tool, "bench", tmp_path / "mlp.pt", "--shape", "5,4", "--repeat", 2).splitlines()
    assert [line.split()[0] for line in drawn] == ["first", "min", "median", "runs"]
    done = attempt(tool, "bench", tmp_path / "mlp.pt", "--shape", "5,7")
    assert done.returncode == 1 and "5x7" in done.stderr.replace(", ", "x"), done.stderr
    done = attempt(tool, "run", tmp_path / "mlp.pt", *given, "--output", tmp_path / "a", "--output", tmp_path / "b")
    assert done.returncode == 1 and done.stderr == "wisp: the result has 1 tensor(s), and there are 2 --output\n"


# --- inputs that nobody gives


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.places, self.out = nn.Embedding(50, 16), nn.Embedding(64, 16), nn.Linear(16, 50)

    def forward(self, ids):
        return self.out(self.words(ids) + self.places(wisp.arange(ids.size(1))))


class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(5, 4), nn.Conv1d(3, 4, 3)

    def forward(self, x, y):
        return self.a(x).sum() + self.b(y).sum()


class States(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 7, 2, bidirectional=True)

    def forward(self, x, state: tuple[wisp.Tensor, wisp.Tensor]):
        y, (h, c) = self.lstm(x, state)
        return y, h, c


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.out = nn.Conv2d(1, 8, 3), nn.Linear(8 * 13 * 13, 10)

    def forward(self, x):
        return self.out(nn.functional.max_pool2d(self.conv(x).relu(), 2).flatten(1))


def state(*sizes):
    return wisp.rand(*sizes), wisp.rand(*sizes)


# The module, what it is traced with, and what is found for it where the file does not say.
MODELS = {
    "linear": (nn.Linear(4, 3), (wisp.rand(2, 4),), ["float32[1, 4]"]),
    "digits": (Digits(), (wisp.rand(3, 1, 28, 28),), ["float32[1, 1, 28, 28]"]),
    "words": (Words(), (wisp.randint(50, (2, 40)),), ["int64[1, 16]"]),
    "two": (Two(), (wisp.rand(2, 5), wisp.rand(1, 3, 9)), ["float32[1, 5]", "float32[1, 3, 224]"]),
    "states": (
        States(),
        (wisp.rand(3, 2, 6), state(4, 2, 7)),
        ["float32[16, 1, 6]", "(float32[4, 1, 7], float32[4, 1, 7])"],
    ),
    "lstm": (nn.LSTM(4, 5, batch_first=True), (wisp.rand(1, 3, 4),), ["float32[1, 16, 4]"]),
    "gru cell": (nn.GRUCell(4, 5), (wisp.rand(1, 4),), ["float32[1, 4]"]),
    "norm": (nn.BatchNorm2d(6), (wisp.rand(1, 6, 4, 4),), ["float32[1, 6, 32, 32]"]),
    "groups": (nn.Conv2d(8, 8, 3, groups=8), (wisp.rand(1, 8, 9, 9),), ["float32[1, 8, 224, 224]"]),
    "double": (nn.Linear(4, 3).double(), (wisp.rand(2, 4).double(),), ["float64[1, 4]"]),
}


def bench(tool, path):
    shown = run(tool, "bench", path, "--repeat", 2).splitlines()
    measured = [line for line in shown if not line.startswith("input ")]
    assert [line.split()[0] for line in measured] == ["first", "min", "median", "runs"]
    return [line.split(": ", 1)[1] for line in shown if line.startswith("input ")]


def described(value):
    if isinstance(value, tuple):
        return f"({', '.join(map(described, value))})"
    return f"{str(value.dtype).removeprefix('wisp.')}{list(value.shape)}"


@pytest.mark.parametrize("name", MODELS)
def test_bench_needs_no_inputs(tool, tmp_path, name):
    module, args, found = MODELS[name]
    module.eval()
    path = tmp_path / "model.pt"
    for traced in (wisp.jit.trace(module, args), wisp.jit.freeze(wisp.jit.trace(module, args))):
        traced.save(path)
        if len(args) == len(traced._c.method("forward").params):
            assert bench(tool, path) == [f"{described(each)}, as the file says" for each in args]
    silent = wisp.jit.trace(module, args, _store_inputs=False)
    for compiled in (wisp.jit.script(module), wisp.jit.freeze(silent)):
        compiled.save(path)
        assert [line.startswith(each) for line, each in zip(bench(tool, path), found, strict=True)] == [True] * len(
            found
        )


def test_bench_of_models(tool, tmp_path):
    for make in (wisp.models.resnet18, wisp.models.mobilenet_v3_small, wisp.models.squeezenet1_1):
        wisp.jit.script(make().eval()).save(tmp_path / "model.pt")
        (shown,) = bench(tool, tmp_path / "model.pt")
        assert shown.startswith("float32[1, 3, 224, 224], conv2d meets it with a weight of [")


def test_bench_of_files_of_earlier_versions(tool):
    (x,) = bench(tool, JIT_FILES / "net_1.pt")
    assert x == "float32[1, 1, 224], conv1d meets it with a weight of [2, 1, 3]"
    x, n = bench(tool, JIT_FILES / "function_1.pt")
    assert x.startswith("float32[1], nothing") and n == "1, the simplest of its type"


def test_bench_says_what_to_type(tool, tmp_path):
    def odd(x):
        if x.size(0) != 17:
            raise RuntimeError("seventeen rows are needed")
        return x * 2

    path = tmp_path / "odd.pt"
    wisp.jit.script(odd).save(path)
    done = attempt(tool, "bench", path)
    assert done.returncode == 1
    assert "seventeen rows are needed" in done.stderr and f"  wisp bench {path} --shape 1,3,224,224 " in done.stderr
    run(tool, "bench", path, "--shape", "17", "--repeat", 1)
    run(tool, "bench", path, "--shape", "int64:17,2", "--repeat", 1)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_inputs_give_an_error(tool, tmp_path, name):
    (tmp_path / "model.pt").write_bytes(rewritten(HOSTILE[name]))
    done = attempt(tool, "bench", tmp_path / "model.pt", "--repeat", 1)
    assert done.returncode == 1 and done.stderr.startswith("wisp: "), done.stderr


def test_inputs_that_take_too_much_memory(tool, tmp_path):
    (tmp_path / "model.pt").write_bytes(rewritten({"forward": [{"like": "float32", "shape": [1 << 39]}, 1.0]}))
    done = attempt(tool, "bench", tmp_path / "model.pt")
    assert done.returncode == 1 and "more than 4 GB" in done.stderr


class Scaled(nn.Module):
    def forward(self, x: wisp.Tensor, times: int, by: float, negative: bool) -> wisp.Tensor:
        return -x * times * by if negative else x * times * by


def test_numbers_are_arguments(tool, tmp_path):
    wisp.jit.script(Scaled()).save(tmp_path / "model.pt")
    numpy.save(tmp_path / "x.npy", numpy.array([2.0, 3.0]))
    command = tool, "run", tmp_path / "model.pt", "--input", tmp_path / "x.npy"
    assert (
        run(*command, "--number", 3, "--number", 0.5, "--number", "true") == f"{wisp.tensor([-3.0, -4.5]).double()}\n"
    )
    done = attempt(*command, "--number", 0.5, "--number", 0.5, "--number", "true")
    assert done.returncode == 1 and "type 'int' for argument 'times'" in done.stderr


@pytest.mark.parametrize("name, said", [("/dev/zero", "is no .npy file"), ("/", "could not be read")])
def test_what_is_no_file_is_not_read(tool, tmp_path, name, said):
    wisp.jit.trace(lambda x: x, wisp.ones(2)).save(tmp_path / "model.pt")
    done = attempt(tool, "run", tmp_path / "model.pt", "--input", name)
    assert done.returncode == 1 and said in done.stderr


def test_tool_says_how_it_is_used(tool):
    assert run(tool, "--help").startswith("usage: wisp run ")
    wrong = [
        [],
        ["run"],
        ["walk", "x"],
        ["run", "x", "--input"],
        ["bench", "x", "--repeat", "0"],
        ["bench", "x", "--shape", "3,,4"],
        ["bench", "x", "--shape", ""],
        ["bench", "x", "--shape", "int65:3"],
        ["run", "x", "--shape", "3"],
        ["show", "x", "--input", "y"],
        ["run", "x", "--number", "3x"],
        ["run", "x", "--number", ""],
    ]
    for arguments in wrong:
        done = attempt(tool, *arguments)
        assert done.returncode == 2 and "usage: wisp run " in done.stderr


def test_other_files_are_refused(tool, tmp_path):
    wisp.save({"x": wisp.ones(2)}, tmp_path / "tensors.pt")
    done = attempt(tool, "show", tmp_path / "tensors.pt")
    assert done.returncode == 1
    assert done.stderr == "wisp: the file holds no compiled program: wisp::load() reads files of tensors\n"


# --- the guide


def test_guide(tmp_path):
    """docs/deployment.md from top to bottom: Python writes what C++, C and the shell read."""
    page = ROOT / "docs" / "deployment.md"
    if not page.exists():
        pytest.skip("needs the source tree")
    check_guide(page.read_text(), tmp_path)


def check_guide(text, folder):
    output = None
    if not importlib.util.find_spec("onnxruntime"):
        text = text[: text.index("## ONNX Runtime")]
    for language, block in re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL):
        if language == "sh":
            output = run("bash", "-e", "-c", block, cwd=folder)
        elif language == "text":
            assert output == block
        else:
            name = re.search(r"\w+\.\w+", block).group()
            (folder / name).write_text(block)
    assert numpy.load(folder / "y.npy").shape == (2, 3)
