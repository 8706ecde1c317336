"""Builds programs in C++ and C from the package, for tests; skips those where that cannot be done."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import pytest

import wisp.config

ROOT = pathlib.Path(__file__).parents[1]
PROGRAMS = pathlib.Path(__file__).parent / "cpp"
BIN = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"

COMPILER = shutil.which(os.environ.get("CXX", "g++"))
C_COMPILER = shutil.which(os.environ.get("CC", "gcc"))
STRICT = ["-Wall", "-Wextra", "-Werror"]
# Of these checks some would double the time of building, and find little that the first does not.
SANITIZED = [
    "-fsanitize=address,undefined",
    "-fno-sanitize=vptr,null,alignment,object-size",
    "-fno-sanitize-recover=all",
    "-g1",
]
try:
    wisp.config.lib_dir()
except RuntimeError as error:
    pytest.skip(str(error), allow_module_level=True)
if COMPILER is None:
    pytest.skip("needs a C++ compiler", allow_module_level=True)
if "WISP_SANITIZED" in os.environ:
    pytest.skip("programs would have to be built with sanitizers too", allow_module_level=True)


def attempt(*command, cwd=None, timeout=120):
    """Runs a command, whatever comes of it; not in the source tree, whose folder wisp/ may lack the built core."""
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=timeout,
        cwd=cwd or tempfile.gettempdir(), env={**os.environ, "PATH": BIN, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip


def run(*command, cwd=None, timeout=120):
    done = attempt(*command, cwd=cwd, timeout=timeout)
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def config(*options):
    return run(sys.executable, "-m", "wisp.config", *options).split()


def compiled(source, program, torch=False, options=()):
    """Builds with nothing but what wisp.config prints."""
    run(
        COMPILER, *STRICT, *options, *config("--cflags", *["--torch"] * torch), source, "-o", program, *config("--libs")
    )
    return program


def compiled_c(source, program, options=()):
    """The same for C."""
    if C_COMPILER is None:
        pytest.skip("needs a C compiler")
    run(
        C_COMPILER,
        "-std=c99",
        "-pedantic",
        *STRICT,
        *options,
        *config("--include"),
        source,
        "-o",
        program,
        *config("--libs"),
    )
    return program


def write_all(folder, contents):
    """Writes files, and returns their paths."""
    paths = [folder / f"{number}.bad" for number in range(len(contents))]
    for path, data in zip(paths, contents, strict=True):
        path.write_bytes(data)
    return paths
