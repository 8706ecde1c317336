"""The examples and the demonstration run, with tiny settings, and learn what they are to learn."""

import importlib.util
import math
import os
import pathlib
import pty
import struct
import subprocess
import sys
import types
import zlib

import pytest

import wisp

FOLDER = pathlib.Path(__file__).parent.parent / "examples"
pytestmark = pytest.mark.skipif(not FOLDER.exists(), reason="the examples are not here")


def run(name, *args):
    """What main() of an example returns."""
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    return example.main([str(arg) for arg in args])


def test_every_example_is_tested():
    tested = pathlib.Path(__file__).read_text()
    for path in FOLDER.glob("*.py"):
        assert f'"{path.stem}"' in tested, path.name


def test_two_layer_net(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["two_layer_net.py", "--steps", "5"])
    spec = importlib.util.spec_from_file_location("two_layer_net", FOLDER / ("two_layer_net" + ".py"))
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main()
    assert "5 steps" in capsys.readouterr().out


def test_linear_regression_finds_the_weights(capsys):
    assert run("linear_regression", "--steps", 100) < 0.02
    assert "bias 4.0" in capsys.readouterr().out


def test_char_gpt_gets_better_and_writes(capsys):
    tiny = ("--width", 16, "--heads", 2, "--layers", 1, "--context", 16, "--text", 20_000, "--write", 20)
    assert run("char_gpt", "--steps", 100, *tiny) < 3.7
    printed = capsys.readouterr().out
    assert printed.startswith("20,000 characters")
    assert len(printed.rpartition("loss")[2]) > 20


def test_lstm_language_model_gets_better():
    tiny = ("--words", 3000, "--width", 32, "--layers", 1)
    assert run("lstm_language_model", "--epochs", 3, *tiny) < run("lstm_language_model", "--epochs", 1, *tiny) - 0.05


def test_tree_network_learns_logic():
    assert run("tree_network", "--steps", 120) > 0.9


# --- those on scikit-learn's digits


def test_digits_cnn(tmp_path):
    pytest.importorskip("sklearn")
    assert run("digits_cnn", "--epochs", 2, "--save", tmp_path / "net") > 0.8
    assert wisp.load(tmp_path / "net")["conv1.weight"].shape == (16, 1, 3, 3)


def test_vae():
    pytest.importorskip("sklearn")
    assert run("vae", "--epochs", 3) < 30


def test_dcgan():
    pytest.importorskip("sklearn")
    assert all(math.isfinite(loss) for loss in run("dcgan", "--epochs", 1, "--width", 8))


def test_fine_tuning():
    pytest.importorskip("sklearn")
    assert run("fine_tuning", "--steps", 60) > 0.5


# --- those on gymnasium's CartPole


class CartPole:
    """A pole that is moved by hand: enough of the real one to learn from if that is not installed."""

    def reset(self, seed=None):
        self.state, self.steps = [0.0, 0.0, 0.02, 0.0], 0
        return list(self.state), {}

    def step(self, action):
        position, speed, angle, turn = self.state
        force = 10.0 if action else -10.0
        push = (force + 0.05 * turn**2 * math.sin(angle)) / 1.1
        turning = (9.8 * math.sin(angle) - math.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1))
        moving = push - 0.05 * turning * math.cos(angle) / 1.1
        self.state = [position + 0.02 * speed, speed + 0.02 * moving, angle + 0.02 * turn, turn + 0.02 * turning]
        self.steps += 1
        fell = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21
        return list(self.state), 1.0, fell, self.steps >= 200, {}

    def close(self):
        pass


@pytest.mark.parametrize("name", ["reinforce", "actor_critic"])
def test_learning_to_balance(name, monkeypatch):
    stand_in = types.ModuleType("gymnasium")
    stand_in.make = lambda name: CartPole()
    monkeypatch.setitem(sys.modules, "gymnasium", stand_in)
    assert run(name, "--episodes", 80) > 15


# --- the demonstration


def test_the_demonstration_reads_digits(tmp_path, capsys):
    pytest.importorskip("sklearn")
    from wisp.demo.__main__ import main

    assert main(["--epochs", "3", "--out", str(tmp_path / "new" / "folder")]) > 0.9
    printed = capsys.readouterr()
    assert "1,437 handwritten digits" in printed.out
    assert printed.out.count("read ") >= 4
    assert "% of the test digits read right" in printed.out
    assert printed.err == ""  # no progress bar: this is no terminal
    assert wisp.load(tmp_path / "new" / "folder" / "digits.safetensors")["0.weight"].shape == (32, 1, 3, 3)
    assert read_png(tmp_path / "new" / "folder" / "curves.png") == (886, 300)


def test_the_demonstration_exports_what_it_learnt(tmp_path):
    pytest.importorskip("onnx")
    from wisp.demo import _digits
    from wisp.demo.__main__ import export

    net, images = _digits.network().eval(), wisp.rand(3, 1, 8, 8)
    exported = export(net, images, tmp_path)
    assert [path.name for path in exported] == ["digits.pt", "digits.onnx"]
    for path, model in exported.items():
        assert path.stat().st_size > 200_000
        wisp.testing.assert_close(model(images), net(images))


def test_the_demonstration_does_without_onnx(tmp_path, capsys, monkeypatch):
    from wisp.demo import _digits
    from wisp.demo.__main__ import export

    def missing(*args):
        raise ImportError("onnx")

    monkeypatch.setattr(wisp.onnx, "export", missing)
    net, images = _digits.network().eval(), wisp.rand(3, 1, 8, 8)
    assert [path.name for path in export(net, images, tmp_path)] == ["digits.pt"]
    assert "pip install onnx" in capsys.readouterr().out


def test_the_demonstration_shows_a_bar_in_a_terminal(tmp_path):
    pytest.importorskip("sklearn")
    ours, theirs = pty.openpty()
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "COLUMNS": "100"}
    command = [sys.executable, "-m", "wisp.demo", "--epochs", "1", "--out", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=theirs, timeout=120)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 0
    last = shown.strip().rpartition("\r")[2]
    assert last.startswith("[#")
    for part in ("epoch 1/1", "loss ", "accuracy ", "samples/s", "0 s left"):
        assert part in last


def test_the_demonstration_says_what_to_install(monkeypatch):
    from wisp.demo import _digits

    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    with pytest.raises(SystemExit, match="pip install scikit-learn"):
        _digits.load(0)


@pytest.mark.parametrize("option", ["--epochs", "--batch"])
def test_the_demonstration_refuses_to_do_nothing(option, capsys):
    from wisp.demo.__main__ import main

    with pytest.raises(SystemExit):
        main([option, "0"])
    assert f"argument {option}: expected at least 1, got 0" in capsys.readouterr().err


class Terminal:
    encoding = "utf-8"

    def __init__(self):
        self.text = ""

    def isatty(self):
        return True

    def write(self, text):
        self.text += text

    def flush(self):
        pass


def test_progress_fits_into_the_terminal(monkeypatch):
    from wisp.demo._progress import Progress

    for columns in (20, 60, 200):
        monkeypatch.setenv("COLUMNS", str(columns))
        stream = Terminal()
        with Progress(100, stream, often=0) as progress:
            for _ in range(4):
                progress.advance(25, "epoch 1", loss="0.50", accuracy="9%")
        lines = [line.replace("\x1b[K", "") for line in stream.text.strip().split("\r") if line]
        assert len(lines) == 4
        assert all(len(line) < columns for line in lines)
        assert progress.done == 100
    assert "[" + "#" * 30 + "]" in lines[-1]
    assert "samples/s" in lines[0]


def test_pictures_in_the_terminal():
    from wisp.demo._pictures import side_by_side

    picture = wisp.tensor([[0.0, 1.0], [0.5, 0.2]])
    assert side_by_side([picture, picture], ["a", "b"], Terminal()).split("\n") == [
        "  ██    ██",
        "▒▒░░  ▒▒░░",
        "a     b",
    ]
    plain = Terminal()
    plain.encoding = "ascii"
    assert side_by_side([picture], ["c"], plain).isascii()


def read_png(path):
    """(width, height) of a PNG file, whose checksums and sizes are right."""
    data = path.read_bytes()
    assert data.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, at = {}, 8
    while at < len(data):
        (size,) = struct.unpack_from(">I", data, at)
        kind, body = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack_from(">I", data, at + 8 + size)[0]
        chunks[kind] = body
        at += 12 + size
    width, height = struct.unpack_from(">II", chunks[b"IHDR"])
    assert len(zlib.decompress(chunks[b"IDAT"])) == height * (1 + 3 * width)
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    return width, height


def test_curves_of_any_length(tmp_path):
    from wisp.demo._chart import draw_curves

    for values in ([1.0], [0.0, 0.0], [3.0, 1.0, 2.0]):
        draw_curves(tmp_path / "curves.png", {"loss": values})
        assert read_png(tmp_path / "curves.png") == (466, 300)
