"""Type stubs: up to date, complete, and with the right types."""

import ast
import importlib.util
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import wisp

ROOT = pathlib.Path(__file__).resolve().parent.parent


def defined(path, class_name=None):
    """The names a stub defines, at top level or in a class."""
    body = ast.parse((ROOT / path).read_text()).body
    if class_name:
        body = next(node for node in body if isinstance(node, ast.ClassDef) and node.name == class_name).body
    found = set()
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            found.add(node.target.id)
        elif isinstance(node, ast.ImportFrom):
            found.update(alias.asname for alias in node.names if alias.asname)
    return found


def test_stubs_are_up_to_date():
    done = subprocess.run(
        [sys.executable, "tools/gen_stubs.py", "--check"], cwd=ROOT, capture_output=True, check=False, text=True
    )
    assert done.returncode == 0, done.stderr


def test_stale_stubs_are_noticed(tmp_path, monkeypatch):
    spec = importlib.util.spec_from_file_location("gen_stubs", ROOT / "tools/gen_stubs.py")
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    (tmp_path / "wisp").mkdir()
    monkeypatch.setattr(tool, "ROOT", tmp_path)
    monkeypatch.setattr(tool, "FILES", {"wisp/special.pyi": tool.FILES["wisp/special.pyi"]})
    monkeypatch.setattr(sys, "argv", ["gen_stubs.py", "--check"])
    with pytest.raises(SystemExit, match="stale: wisp/special.pyi"):
        tool.main()
    monkeypatch.setattr(sys, "argv", ["gen_stubs.py"])
    tool.main()
    assert (tmp_path / "wisp/special.pyi").read_text() == (ROOT / "wisp/special.pyi").read_text()


def test_every_public_name_has_a_type():
    public = {name for name in dir(wisp.Tensor) if not name.startswith("_")}
    assert public <= defined("wisp/_C.pyi", "Tensor")
    assert set(wisp.__all__) <= defined("wisp/__init__.pyi")
    assert set(wisp.nn.functional.__all__) <= defined("wisp/nn/functional.pyi")
    assert set(wisp.linalg.__all__) <= defined("wisp/linalg.pyi")


def test_every_type_has_a_name():
    assert not [name for name in defined("wisp/_C.pyi", "Tensor") if not hasattr(wisp.Tensor, name)]
    assert not [name for name in defined("wisp/__init__.pyi") if not hasattr(wisp, name) and not name.startswith("_")]


RIGHT = """
    import wisp
    from wisp import Tensor

    x: Tensor = wisp.zeros(2, 3, dtype=wisp.float64, requires_grad=True)
    x = wisp.zeros((2, 3), out=x)
    y: Tensor = 1 + x - 2.0 * x / x ** 2 @ x
    y = wisp.add(x, 1, alpha=2, out=y)
    x.add_(y).mul_(2).zero_()
    values, indices = wisp.max(x, dim=0, keepdim=True)
    total: Tensor = x.max(0).values + wisp.max(x) + wisp.max(x, y)
    size: int = x.size(0)
    shape: wisp.Size = x.shape
    parts: tuple[Tensor, ...] = x.split(2) + wisp.split(x, [1, 2], dim=0) + wisp.nonzero(x, as_tuple=True)
    x.view(2, 3).view((3, 2)).view(wisp.int32).sum(dim=(0, 1)).sum(0, True)
    wisp.meshgrid(x, y, indexing="ij")
    close: bool = wisp.allclose(x, y)
    x[0, 1:, None] = x[...] == y
    x.uniform_(0, 1).to(wisp.float32).to("cpu").to(x)
    wisp.nn.functional.softmax(x, dim=0, dtype=wisp.float64)

    @wisp.no_grad()
    def scaled(t: Tensor) -> Tensor:
        return t * 2

    z: Tensor = scaled(x)
"""
WRONG = {
    'wisp.zeros("a")': "arg-type",
    "wisp.add(x)": "call-arg",
    'wisp.add(x, "b")': "arg-type",
    'x.sum(dim="a")': "arg-type",
    "wisp.addd(x, x)": "attr-defined",
    "x.max(0).maxima": "attr-defined",
    'wisp.zeros(2, dtype="float32")': "call-overload",
    "wisp.cat(x)": "arg-type",
    "x.exp(1)": "call-arg",
    "x.view(2.0)": "call-overload",
    "x.shape = x.shape": "misc",
}


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="needs mypy")
def test_types_are_right(tmp_path):
    """A type checker accepts right calls and refuses each of the wrong ones."""
    (tmp_path / "right.py").write_text(textwrap.dedent(RIGHT))
    (tmp_path / "wrong.py").write_text("import wisp\nx = wisp.ones(2)\n" + "\n".join(WRONG) + "\n")
    run = [sys.executable, "-m", "mypy", "--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"), "--strict"]
    files = [str(tmp_path / "right.py"), str(tmp_path / "wrong.py")]
    env = {**os.environ, "MYPYPATH": str(ROOT)}
    lines = subprocess.run([*run, *files], capture_output=True, check=False, text=True, env=env).stdout.splitlines()
    errors = [line for line in lines if ": error:" in line]
    assert not [line for line in errors if "right.py" in line]
    for number, (text, code) in enumerate(WRONG.items(), start=3):
        assert any(f"wrong.py:{number}:" in line and f"[{code}]" in line for line in errors), text
