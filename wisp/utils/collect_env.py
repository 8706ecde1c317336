"""What to put into a report of a problem: ``python -m wisp.utils.collect_env``."""

import os
import platform
import sys
from collections import namedtuple

import wisp

__all__ = ["SystemEnv", "get_env_info", "get_pretty_env_info", "main"]

SystemEnv = namedtuple(
    "SystemEnv",
    "wisp_version wisp_location os libc_version python_version python_platform cpu cpu_capability cpu_count num_threads "
    "memory pip_packages environment",
)
_PACKAGES = ("numpy", "scipy-openblas32", "onednn-cpu-gomp", "torch", "onnx", "tensorboard", "pillow", "matplotlib")
_VARIABLES = ("OMP_", "OPENBLAS_", "ONEDNN_", "DNNL_", "WISP_", "LD_PRELOAD")


def get_env_info():
    """Versions, the processor and settings, as a named tuple of text."""
    return SystemEnv(
        wisp_version=wisp.__version__,
        wisp_location=os.path.dirname(wisp.__file__),
        os=_os(),
        libc_version="-".join(platform.libc_ver()),
        python_version=sys.version.replace("\n", " "),
        python_platform=platform.platform(),
        cpu=_from_proc("/proc/cpuinfo", "model name") or platform.processor(),
        cpu_capability=wisp._C._cpu_capability(),
        cpu_count=str(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()),
        num_threads=str(wisp.get_num_threads()),
        memory=_from_proc("/proc/meminfo", "MemTotal"),
        pip_packages=_packages(),
        environment="\n".join(f"{k}={v}" for k, v in sorted(os.environ.items()) if k.startswith(_VARIABLES)),
    )


def _os():
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


def _from_proc(path, key):
    """The first value of a key in one of Linux' tables; empty where there is none."""
    try:
        with open(path, encoding="utf8") as table:
            return next((line.split(":", 1)[1].strip() for line in table if line.startswith(key)), "")
    except OSError:
        return ""


def _packages():
    from importlib.metadata import PackageNotFoundError, version

    found = []
    for name in _PACKAGES:
        try:
            found.append(f"{name}=={version(name)}")
        except PackageNotFoundError:
            continue
    return "\n".join(found)


def get_pretty_env_info():
    """`get_env_info` as lines of text."""
    info = get_env_info()._asdict()
    packages, environment = info.pop("pip_packages"), info.pop("environment")
    lines = [f"{name.replace('_', ' ')}: {value or 'unknown'}" for name, value in info.items()]
    for title, block in (("packages", packages), ("environment", environment)):
        lines += [f"{title}:", *(f"  {line}" for line in (block or "none").splitlines())]
    return "\n".join(lines)


def main():
    """Prints what to put into a report."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
