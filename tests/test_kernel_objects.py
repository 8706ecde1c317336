"""What the objects of core/cpu/kernels refer to: they are compiled without exceptions, and have no tables to unwind by."""

import pathlib
import re
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[1]


def symbols(objects):
    nm = shutil.which("nm")
    if nm is None or not objects:
        pytest.skip("needs nm, and the folder that the package was built in")
    lines = subprocess.run([nm, *objects], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split()[-2:] for line in lines if len(line.split()) > 1]


def kernel_objects():
    folders = [path for path in ROOT.glob("build/*/CMakeFiles/kernels_*") if "sanitize" not in str(path)]
    return [path for folder in folders for path in folder.rglob("kernels/*.o")]


def test_they_call_nothing_that_throws():
    called = {name for kind, name in symbols(kernel_objects()) if kind == "U"}
    ours = {name for name in called if re.match(r"_Z|__cxa|__gxx|_Unwind", name)}  # the rest is C
    assert ours <= {"_ZN4wisp3cpu5ndtriEd"}  # plain arithmetic


def test_they_share_no_function_that_could_throw():
    """The linker keeps one of several copies: that of a kernel would end a program where another object's would throw."""
    shared = {name for kind, name in symbols(kernel_objects()) if kind in "Ww"}
    assert shared <= {"_ZN4wisp3cpu6ParamsC1Ev", "_ZN4wisp3cpu6ParamsC2Ev"}
