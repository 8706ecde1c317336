"""Programs that have wisp in place of torch, for tests."""

import os
import pathlib
import subprocess
import sys
import textwrap

from tests import fresh


def run(*args, cwd, check=True, **env):
    """What a program under `python -m wisp.torch` prints, and what it says on stderr."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **env}
    command = [sys.executable, "-m", "wisp.torch", *map(str, args)]
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0 or not check, done.stderr
    return done


def write(folder, name, text):
    path = pathlib.Path(folder) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text))
    return path


def as_torch(code):
    return fresh.python("import wisp.as_torch\n" + textwrap.dedent(code))
