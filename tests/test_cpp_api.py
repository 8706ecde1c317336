"""The C++ library: programs are built from the package, with CMake and without, and compared with Python."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import zlib

import pytest

import wisp
import wisp.config
from tests.cpp_build import BIN, COMPILER, PROGRAMS, ROOT, attempt, compiled, run
from wisp import nn
from wisp.serialization import _format


@pytest.fixture(scope="module")
def checks(tmp_path_factory):
    return compiled(PROGRAMS / "checks.cpp", tmp_path_factory.mktemp("checks") / "checks")


def write_idx(path, data, shape):
    path.write_bytes(struct.pack(f">I{len(shape)}I", 0x0800 | len(shape), *shape) + bytes(data))


def write_mnist(folder, part, count):
    folder.mkdir(exist_ok=True, parents=True)
    write_idx(folder / f"{part}-images-idx3-ubyte", [i % 256 for i in range(count * 784)], (count, 28, 28))
    write_idx(folder / f"{part}-labels-idx1-ubyte", [i % 10 for i in range(count)], (count,))


# --- programs that check themselves


def test_tensors_autograd_and_modules(checks):
    run(checks, "tensors")


def test_training(checks):
    expected = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 1))
    assert run(checks, "training") == f"{expected}\n"


def test_threads(checks):
    run(checks, "threads")


def test_data_loader(checks, tmp_path):
    write_mnist(tmp_path, "t10k", 20)
    write_mnist(tmp_path / "short", "train", 20)
    images = tmp_path / "short" / "train-images-idx3-ubyte"
    images.write_bytes(images.read_bytes()[:-1])
    messages = run(checks, "data", tmp_path).splitlines()
    assert messages == [
        f"Error opening images file at {tmp_path}/nowhere/train-images-idx3-ubyte",
        f"the file {images} is damaged: it should have 15696 bytes, it has 15695",
    ]


# --- the same as Python


def test_printing(checks):
    x = wisp.arange(6.0).view(2, 3)
    shown = [x, x / 7, x * 1e6, x.long(), x > 2, wisp.zeros(0, 3), wisp.ones(2, requires_grad=True), x.double(),
             wisp.ones(2, 3, requires_grad=True).relu(), wisp.arange(2000), wisp.tensor([1.5, float("nan"), -float("inf")]),
             wisp.complex(x, -x), wisp.tensor(3), wisp.arange(60.0).view(3, 20), x.view(1, 2, 3)]  # fmt: skip
    assert run(checks, "printing") == "".join(f"{t!r}\n" for t in shown)


@pytest.mark.usefixtures("notes_apart")
def test_errors_say_the_same(checks):
    a = wisp.ones(2, 3)
    wrong = [
        lambda: a.mm(a),
        lambda: a + wisp.ones(4),
        lambda: a.view(4),
        lambda: a[2],
        lambda: a.item(),
        lambda: wisp.ones(2, requires_grad=True).add_(1),
        lambda: (wisp.ones(2, requires_grad=True) * 2).backward(),
        lambda: nn.Linear(3, 2)(wisp.ones(2, 4)),
        lambda: wisp.optim.SGD(a.unbind(), -1),
        lambda: nn.BatchNorm2d(3)(a),
        lambda: wisp.cat([]),
        lambda: wisp.nn.functional.cross_entropy(a, wisp.tensor([0, 5])),
    ]
    messages = run(checks, "errors").splitlines()
    for f, said in zip(wrong, messages):
        with pytest.raises(Exception) as caught:
            f()
        assert said == str(caught.value)
    assert messages[len(wrong) :] == [
        "sum(): argument 'self' must be Tensor, not None",
        "an undefined Tensor has no properties",
        "expected scalar type Double but found Float",
        "Accessing empty ModuleHolder",
    ]


def layer_inputs():
    wisp.manual_seed(3)
    return {"rows": wisp.randn(5, 6), "image": wisp.randn(2, 4, 9, 8), "line": wisp.randn(2, 4, 10),
            "volume": wisp.randn(1, 2, 4, 5, 6), "words": wisp.randint(0, 10, (2, 3)), "sequence": wisp.randn(3, 7, 6)}  # fmt: skip


def test_layers(checks, tmp_path):
    x = layer_inputs()
    wisp.save(x, tmp_path / "inputs.pt")
    layers = {
        "Linear": (lambda: nn.Linear(6, 3), "rows"),
        "Linear, no bias": (lambda: nn.Linear(6, 3, bias=False), "rows"),
        "Conv1d": (lambda: nn.Conv1d(4, 6, 3), "line"),
        "Conv2d": (lambda: nn.Conv2d(4, 6, (3, 2), stride=2, padding=(1, 0), groups=2), "image"),
        "Conv2d, same": (lambda: nn.Conv2d(4, 6, 3, padding="same"), "image"),
        "Conv3d": (lambda: nn.Conv3d(2, 3, 2, bias=False), "volume"),
        "ConvTranspose2d": (lambda: nn.ConvTranspose2d(4, 2, 3, stride=2, output_padding=1), "image"),
        "BatchNorm1d": (lambda: nn.BatchNorm1d(6), "rows"),
        "BatchNorm2d": (lambda: nn.BatchNorm2d(4, eps=1e-3), "image"),
        "LayerNorm": (lambda: nn.LayerNorm(6), "rows"),
        "Dropout": (lambda: nn.Dropout(0.4), "rows"),
        "Dropout2d": (lambda: nn.Dropout2d(0.4), "image"),
        "Embedding": (lambda: nn.Embedding(10, 3, padding_idx=2), "words"),
        "MaxPool2d": (lambda: nn.MaxPool2d(3, 2, 1), "image"),
        "AvgPool2d": (lambda: nn.AvgPool2d(2), "image"),
        "AdaptiveAvgPool2d": (lambda: nn.AdaptiveAvgPool2d(3), "image"),
        "GELU": (lambda: nn.GELU("tanh"), "rows"),
        "Sequential": (
            lambda: nn.Sequential(nn.Flatten(), nn.ReLU(), nn.LeakyReLU(0.2), nn.ELU(), nn.Tanh(), nn.Sigmoid(), nn.SiLU(),
                                  nn.Softplus(), nn.Softmax(1)), "image"),
    }  # fmt: skip
    run(checks, "layers", tmp_path)
    found = wisp.load(tmp_path / "layers.pt")
    for name, (make, key) in layers.items():
        wisp.manual_seed(0)
        layer = make()
        wisp.manual_seed(1)
        expected = [*layer.parameters(), layer(x[key])]
        assert len(found[name]) == len(expected), name
        for a, b in zip(found[name], expected):
            assert a.shape == b.shape and wisp.equal(a, b), name
    check_recurrent(found["recurrent"], x["sequence"])


def check_recurrent(found, sequence):
    options = {"num_layers": 2, "bidirectional": True, "batch_first": True}
    wisp.manual_seed(0)
    out, (h, c) = nn.LSTM(6, 5, **options)(sequence)
    wisp.manual_seed(0)
    out2, h2 = nn.GRU(6, 5, **options)(sequence)
    wisp.manual_seed(0)
    out3, h3 = nn.RNN(6, 5, nonlinearity="relu")(sequence[0])
    expected = [out, h, c, out2, h2, out3, h3]
    assert all(a.shape == b.shape and wisp.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_optimizers(checks, tmp_path):
    optim = wisp.optim
    kinds = {
        "SGD": lambda p: optim.SGD(p, 0.1),
        "SGD, nesterov": lambda p: optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True),
        "Adam": lambda p: optim.Adam(p, 0.05, betas=(0.8, 0.99), amsgrad=True),
        "AdamW": lambda p: optim.AdamW(p, 0.05),
        "RMSprop": lambda p: optim.RMSprop(p, 0.05, momentum=0.5, centered=True),
        "Adagrad": lambda p: optim.Adagrad(p, 0.05, lr_decay=0.1, initial_accumulator_value=0.2),
        "LBFGS": lambda p: optim.LBFGS(p, 0.5, max_iter=4),
        "LBFGS, strong_wolfe": lambda p: optim.LBFGS(p, max_iter=5, line_search_fn="strong_wolfe"),
    }
    run(checks, "optimizers", tmp_path)
    found = wisp.load(tmp_path / "optimizers.pt")
    assert list(found) == list(kinds)
    for name, make in kinds.items():
        wisp.manual_seed(0)
        model = nn.Linear(4, 2)
        x, y = wisp.randn(8, 4), wisp.randn(8, 2)
        optimizer = make(model.parameters())

        def closure(model=model, optimizer=optimizer, x=x, y=y):
            optimizer.zero_grad()
            loss = nn.functional.mse_loss(model(x), y)
            loss.backward()
            return loss

        for _ in range(6):
            optimizer.step(closure)
        # L-BFGS multiplies by numbers where Python multiplies by tensors of float32.
        near = {"rtol": 1e-4, "atol": 1e-5} if "LBFGS" in name else {"rtol": 0, "atol": 0}
        for a, b in zip(found[name], (model.weight, model.bias)):
            wisp.testing.assert_close(a, b.detach(), **near)


# --- files


def trained(model, optimizer, x, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        model(x).square().sum().backward()
        optimizer.step()


def write_checkpoint(folder):
    """What the program's part about files begins with."""
    wisp.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), wisp.randn(6, 4)
    optimizer = wisp.optim.Adam(model.parameters(), lr=0.125)
    trained(model, optimizer, x, 2)
    wisp.save(model.state_dict(), folder / "python_model.pt")
    wisp.save(optimizer.state_dict(), folder / "python_optimizer.pt")
    wisp.save(x, folder / "x.pt")
    return model, optimizer, x


def test_files_are_shared(checks, tmp_path):
    model, optimizer, x = write_checkpoint(tmp_path)
    messages = run(checks, "files", tmp_path).splitlines()
    trained(model, optimizer, x, 2)
    state = wisp.load(tmp_path / "cpp_model.pt")
    assert state.keys() == model.state_dict().keys()
    assert all(wisp.equal(state[name], value) for name, value in model.state_dict().items())
    again = wisp.optim.Adam(model.parameters(), lr=1.0)
    again.load_state_dict(wisp.load(tmp_path / "cpp_optimizer.pt"))
    assert again.param_groups[0]["lr"] == 0.125 and again.param_groups[0]["betas"] == (0.9, 0.999)
    for param in model.parameters():
        assert all(wisp.equal(again.state[param][name], value) for name, value in optimizer.state[param].items())
    assert messages[0] == f"No such file, or not to be read: '{tmp_path}/nowhere.pt'"
    assert messages[1] == "Error(s) in loading state_dict for Linear:"
    assert messages[-1].startswith(f"save(): cannot write to '{tmp_path}/nowhere/x.pt'")


def test_structures_reach_python(checks, tmp_path):
    test_files_are_shared(checks, tmp_path)
    tree = wisp.load(tmp_path / "tree.pt")
    base = wisp.arange(12.0).view(3, 4)
    assert tree["none"] is None and tree["flag"] is True and tree["count"] == 1 << 60 and tree["rate"] == 0.1
    assert tree["nan"] != tree["nan"] and tree["text"] == 'a"\né😀' and tree["list"] == [1, (2, "three")]
    assert wisp.equal(tree["base"], base) and tree[3] == "a number as key" and tree["empty"].shape == (0, 3)
    tree["base"][1, 0] = 100
    assert tree["row"][0] == 100
    assert tree["turned"].stride() == (1, 2) and tree["half"].dtype is wisp.bfloat16
    assert wisp.equal(tree["complex"], wisp.complex(base, base).to(wisp.complex128)) and wisp.equal(
        tree["flags"], base > 3
    )


def python_loads(path):
    try:
        wisp.load(path)
    except (wisp.serialization.FileError, EOFError):
        return False
    return True


def test_damaged_files_are_refused(checks, tmp_path):
    """Bytes changed, parts missing: C++ loads what Python loads, say a file without our metadata, and no more."""
    model = nn.Linear(3, 2)
    wisp.save({"model": model.state_dict(), "list": [1, 2.5, "x", (None, True)]}, tmp_path / "good.pt")
    good = (tmp_path / "good.pt").read_bytes()
    files = []
    for i in range(0, len(good), len(good) // 300):
        for damaged in (good[:i], good[:i] + bytes([good[i] ^ 0x15]) + good[i + 1 :]):
            files.append(tmp_path / f"{len(files)}.bad")
            files[-1].write_bytes(damaged)
    loaded = run(checks, "damaged", *files).split()
    assert loaded == [str(path) for path in files if python_loads(path)]
    assert len(loaded) < len(files) / 50


def write_file(path, structure):
    """A file of ours, its checksums right, with two numbers under the name "data" and any text as its structure."""
    entries = {"data": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}
    sums = {"header": _format._header_check(entries, structure), "data": zlib.crc32(bytes(8))}
    metadata = {"wisp": structure, "wisp.checksums": json.dumps(sums)}
    text = json.dumps({"__metadata__": metadata, **entries}).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    return path


def document(*nodes, version=1):
    """The structure that is the last of some nodes."""
    numbered = [{"id": i, **node} for i, node in enumerate(nodes)]
    return json.dumps({"version": version, "root": {"ref": len(nodes) - 1}, "nodes": numbered})


def on_data(**place):
    return document({"tensor": "data", **place})


HOSTILE = {
    "named again and again": document({"list": [1] * 8}, *({"list": [{"ref": i}] * 8} for i in range(30))),
    "inside itself": document({"list": [{"ref": 0}]}),
    "deep": "[" * 100_000,
    "outside": on_data(shape=[3], stride=[1]),
    "far outside": on_data(shape=[2], stride=[1], offset=1 << 62),
    "too large": on_data(shape=[1 << 32, 1 << 32], stride=[0, 0]),
    "too many dimensions": on_data(shape=[1] * 100),
    "order": on_data(order=[99_999_999]),
    "negative": on_data(shape=[2], stride=[-1], offset=1),
    "code": document({"call": ["os", "system"], "args": ["true"]}),
    "half a pair": document({"dict": [1]}),
    "no such data": document({"tensor": "nowhere"}),
    "version": document({"list": []}, version=2),
}


def test_hostile_files_are_refused(checks, tmp_path):
    fine = write_file(tmp_path / "fine", on_data())
    assert run(checks, "damaged", fine).split() == [str(fine)]
    bad = [write_file(tmp_path / name, structure) for name, structure in HOSTILE.items()]
    assert run(checks, "damaged", *bad, tmp_path) == ""  # a folder is no file either


# --- CMake, and PyTorch's names


TALK = """
cmake_minimum_required(VERSION 3.18)
project(talk LANGUAGES CXX)
find_package(wisp 0.1 REQUIRED)
add_executable(talk talk.cpp)
target_link_libraries(talk PRIVATE wisp::torch)
"""


def test_listings_of_the_talks(tmp_path):
    cmake = shutil.which("cmake", path=BIN)
    if cmake is None:
        pytest.skip("needs CMake")
    (tmp_path / "CMakeLists.txt").write_text(TALK)
    shutil.copy(PROGRAMS / "talk.cpp", tmp_path)
    folder = run(sys.executable, "-m", "wisp.config", "--cmake").strip()
    run(cmake, "-S", tmp_path, "-B", tmp_path / "build", f"-Dwisp_DIR={folder}")
    run(cmake, "--build", tmp_path / "build")
    write_mnist(tmp_path / "data", "train", 200)
    losses = [float(line.split()[-1]) for line in run(tmp_path / "build" / "talk", cwd=tmp_path).splitlines()]
    assert len(losses) == 10 and losses[-1] < losses[0]
    assert "libpython" not in run("ldd", tmp_path / "build" / "talk").lower()


def test_pkg_config(tmp_path):
    pkg_config = shutil.which("pkg-config")
    if pkg_config is None:
        pytest.skip("needs pkg-config")
    folder = wisp.config.pkgconfig_dir()
    flags = subprocess.run([pkg_config, "--cflags", "--libs", "wisp"], capture_output=True, text=True, check=True,
                           env={**os.environ, "PKG_CONFIG_PATH": folder}).stdout.split()  # fmt: skip
    (tmp_path / "a.cpp").write_text("#include <wisp/tensor.h>\nint main() { return wisp::api::Tensor().defined(); }\n")
    run(COMPILER, "-std=c++17", tmp_path / "a.cpp", "-o", tmp_path / "a", *flags)
    run(tmp_path / "a")


def test_config_says_what_it_knows():
    done = attempt(sys.executable, "-m", "wisp.config", "--unknown")
    assert done.returncode == 2 and done.stderr.startswith("usage: ")


def test_the_library_is_small(tmp_path):
    """Our own code; oneDNN and OpenBLAS are libraries of their own."""
    strip = shutil.which("strip")
    if strip is None:
        pytest.skip("needs strip")
    run(strip, "-o", tmp_path / "libwisp.so", pathlib.Path(wisp.config.lib_dir()) / "libwisp.so")
    assert (tmp_path / "libwisp.so").stat().st_size <= 10_000_000


def test_only_what_headers_declare_is_exported():
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("needs nm")
    names = run(nm, "-DC", "--defined-only", pathlib.Path(wisp.config.lib_dir()) / "libwisp.so").splitlines()
    ours = [line.split(" ", 2)[2] for line in names if " wisp::" in line or line.split(" ", 2)[2].startswith("wisp::")]
    # Of the inner names, headers call those that put messages together, and convert numbers.
    inner = re.compile(
        r"wisp::(ops|cpu|autograd|python|detail)::(?!(fail|join)\b.*detail::Part|float8_to_float|float_to_float8)"
        r"|wisp::(call|registry)\("
    )
    by_std = re.compile(r"wisp::[^(]* std::")  # made from its templates, which are visible
    assert len(ours) > 1000 and not [name for name in ours if inner.match(name) and not by_std.match(name)]


def test_guide(tmp_path):
    """The programs of docs/cpp.md."""
    page = ROOT / "docs" / "cpp.md"
    if not page.exists():
        pytest.skip("needs the source tree")
    programs = re.findall(r"```cpp\n(.*?)```\n(?:\n```text\n(.*?)```)?", page.read_text(), re.DOTALL)
    assert programs
    for number, (source, output) in enumerate(programs):
        (tmp_path / f"{number}.cpp").write_text(source)
        program = compiled(tmp_path / f"{number}.cpp", tmp_path / str(number))
        assert run(program, cwd=tmp_path) == output
