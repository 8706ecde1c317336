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
