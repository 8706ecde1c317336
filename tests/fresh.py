"""Code in an interpreter of its own, which finds the same packages as this one."""

import os
import subprocess
import sys
import tempfile


def python(code, *options, timeout=120):
    """What the code prints; a failure, or a crash (a negative return code), fails the test."""
    # Not in the source tree: its folder wisp/ may lack the built core.
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-X", "faulthandler", *options, "-c", code]
    done = subprocess.run(command, cwd=tempfile.gettempdir(), env=env, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"return code {done.returncode}\n{done.stderr[-3000:]}"
    return done.stdout


def start(path, code):
    """A program in a file, which is needed where it starts processes that import it; it is not waited for."""
    path.write_text(code)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, "-X", "faulthandler", str(path)], cwd=path.parent, env=env, **pipes)


def program(path, code, timeout=120):
    """What a program in a file prints; a failure fails the test."""
    with start(path, code) as running:
        try:
            out, err = running.communicate(timeout=timeout)
        finally:
            running.kill()
    assert running.returncode == 0, f"return code {running.returncode}\n{err[-3000:]}"
    return out


def alive(pid):
    """Whether a process runs (on Linux); one that has ended and waits to be noticed does not."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
