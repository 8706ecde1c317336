"""Runs the core's own tests, which need no Python, with the library that was built for the package."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).parents[1]


def run(*command):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def binary(tmp_path_factory):
    if "WISP_SANITIZED" in os.environ:
        pytest.skip("tools/sanitize.sh runs the C++ tests itself")
    archives = [path for path in ROOT.glob("build/*/lib/libwisp.a") if path.parts[-3] != "sanitize"]
    compiler = shutil.which(os.environ.get("CXX", "g++"))
    if not archives or compiler is None:
        pytest.skip("needs a compiler, and the folder that the package was built in")
    archive = max(archives, key=lambda path: path.stat().st_mtime)
    folder = tmp_path_factory.mktemp("core")
    sources = [path for path in sorted((ROOT / "core" / "tests").glob("*.cpp")) if path.stem != "vmath_test"]
    flags = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-fwrapv", "-I", ROOT / "core"]

    def compiled(source):
        run(compiler, *flags, "-c", source, "-o", folder / f"{source.stem}.o")
        return folder / f"{source.stem}.o"

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(compiled, sources))
    run(compiler, *objects, archive, "-lgomp", "-ldl", "-lpthread", "-o", folder / "tests")
    return folder / "tests"


def test_core_without_python(binary):
    assert ", 0 failed" in run(binary).splitlines()[-1]
    assert "libpython" not in run("ldd", binary)
