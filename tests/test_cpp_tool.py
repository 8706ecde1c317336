"""The program ``wisp``, and the guide to models without Python."""

import io
import re

import numpy
import pytest

import wisp
from tests.cpp_build import ROOT, attempt, config, run, write_all
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
    assert shown == f"Sequential\n{wisp.jit.load(tmp_path / 'mlp.pt').inlined_graph}"
    measured = run(tool, "bench", tmp_path / "mlp.pt", *given, "--repeat", 7, "--threads", 1).splitlines()
    assert [line.split()[0] for line in measured] == ["first", "min", "median", "runs"]
    assert 0 < float(measured[1].split()[1]) <= float(measured[2].split()[1]) and measured[3].split()[1] == "7"
    drawn = run(tool, "bench", tmp_path / "mlp.pt", "--shape", "5,4", "--repeat", 2).splitlines()
    assert [line.split()[0] for line in drawn] == ["first", "min", "median", "runs"]
    done = attempt(tool, "bench", tmp_path / "mlp.pt", "--shape", "5,7")
    assert done.returncode == 1 and "5x7" in done.stderr.replace(", ", "x"), done.stderr
    done = attempt(tool, "run", tmp_path / "mlp.pt", *given, "--output", tmp_path / "a", "--output", tmp_path / "b")
    assert done.returncode == 1 and done.stderr == "wisp: the result has 1 tensor(s), and there are 2 --output\n"


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
        ["run", "x", "--shape", "3"],
        ["show", "x", "--input", "y"],
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
    for language, block in re.findall(r"```(\w+)\n(.*?)```", text, re.DOTALL):
        if language == "sh":
            output = run("bash", "-e", "-c", block, cwd=folder)
        elif language == "text":
            assert output == block
        else:
            name = re.search(r"\w+\.\w+", block).group()
            (folder / name).write_text(block)
    assert numpy.load(folder / "y.npy").shape == (2, 3)
