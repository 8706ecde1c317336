"""Where the C++ library is: ``python -m wisp.config --cflags --libs`` prints how to build a program with it.

>>> import os, wisp.config
>>> os.path.exists(os.path.join(wisp.config.include_dir(), "wisp", "wisp.h"))
True
"""

import os
import sys

from wisp import _C

__all__ = ["cflags", "cmake_dir", "include_dir", "lib_dir", "libs", "pkgconfig_dir", "tool"]


def _root():
    """The folder with include/ and lib/: of the package, or of the build that a working tree uses."""
    installed = os.path.dirname(os.path.abspath(__file__))
    built = os.path.dirname(os.path.realpath(_C.__file__))
    for folder in (installed, built):
        if os.path.exists(os.path.join(folder, "lib", "libwisp.so")):
            return folder
    raise RuntimeError("this build of wisp comes without its C++ library: build with the CMake option WISP_LIBRARY=ON")


def include_dir():
    """The folder for ``-I``, with wisp/wisp.h."""
    return os.path.join(_root(), "include")


def lib_dir():
    """The folder with libwisp.so."""
    return os.path.join(_root(), "lib")


def cmake_dir():
    """What CMake wants as ``wisp_DIR``."""
    return os.path.join(_root(), "share", "cmake", "wisp")


def pkgconfig_dir():
    """What pkg-config wants in ``PKG_CONFIG_PATH``."""
    return os.path.join(lib_dir(), "pkgconfig")


def tool():
    """The program ``wisp``, which runs compiled models."""
    return os.path.join(_root(), "bin", "wisp")


def cflags(torch=False):
    """Options for the compiler; with ``torch``, <torch/torch.h> is found too."""
    folders = [include_dir()] + [os.path.join(include_dir(), "wisp", "compat")] * torch
    return " ".join(["-std=c++17", *(f"-I{folder}" for folder in folders)])


def libs():
    """Options for the linker; programs find the library where it is now."""
    return f"-L{lib_dir()} -Wl,-rpath,{lib_dir()} -lwisp -pthread"


def _main(arguments):
    known = {
        "--cmake": cmake_dir, "--pkgconfig": pkgconfig_dir, "--libs": libs, "--tool": tool,
        "--include": lambda: f"-I{include_dir()}",
        "--cflags": lambda: cflags("--torch" in arguments), "--torch": lambda: None,
    }  # fmt: skip
    if not arguments or any(argument not in known for argument in arguments):
        print(f"usage: python -m wisp.config [{'] ['.join(known)}]", file=sys.stderr)
        return 2
    print(" ".join(text for text in (known[argument]() for argument in arguments) if text))
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
