"""Builds the core without Python and runs its own tests."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
BUILD = ROOT / "build" / "core-tests"


def run(*command):
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def binary():
    if "WISP_SANITIZED" in os.environ or not (ROOT / "core").exists():
        pytest.skip("tools/sanitize.sh runs the C++ tests itself")
    bin_folder = pathlib.Path(sys.executable).parent
    tools = {
        name: shutil.which(name, path=f"{bin_folder}{os.pathsep}{os.environ['PATH']}") for name in ("cmake", "ninja")
    }
    options = [f"-DPython_EXECUTABLE={sys.executable}", "-DWISP_PYTHON=OFF", "-DWISP_TESTS=ON", "-DWISP_ALL_ISAS=OFF"]
    run(tools["cmake"], "-S", ROOT, "-B", BUILD, "-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={tools['ninja']}", *options)
    run(tools["ninja"], "-C", BUILD, "wisp_tests")
    return BUILD / "wisp_tests"


def test_core_without_python(binary):
    assert ", 0 failed" in run(binary).splitlines()[-1]
    linked = run("ldd", binary)
    assert "python" not in linked.lower()
