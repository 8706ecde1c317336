"""Runs programs written for torch on wisp, unchanged.

    python -m wisp.torch script.py arguments...
    python -m wisp.torch -m module arguments...
    python -m wisp.torch -c code arguments...

`torch` and its submodules mean wisp in the program and in the processes it starts. All else, from sys.argv to
tracebacks, is as if the program ran by itself.
"""

import os
import sys
from importlib.machinery import PathFinder, SourceFileLoader
from importlib.util import find_spec
from types import ModuleType


def _execute(compiled, about):
    """Runs code as the module __main__; ``compiled`` makes the code, so that its errors are the program's too."""
    program = ModuleType("__main__")
    program.__dict__.update(about)
    launcher = sys.modules["__main__"]  # kept alive: its code is running
    sys.modules["__main__"] = program
    exec(compiled(), program.__dict__)  # noqa: S102
    return launcher


def _without_launcher(traceback):
    """The part of a traceback that belongs to the program: what follows the frames of this file."""
    seen = False
    while traceback is not None:
        ours = traceback.tb_frame.f_globals is globals()
        if seen and not ours:
            break
        seen = seen or ours
        traceback = traceback.tb_next
    return traceback


def _is_about_torch(error):
    """Whether an import failed because wisp lacks a name (missing modules say so themselves)."""
    return type(error) is ImportError and (error.name or "").partition(".")[0] in ("torch", "wisp")


def _show_uncaught(kind, error, traceback):
    from wisp.version import STANDS_IN

    error.__traceback__ = _without_launcher(traceback)
    sys.__excepthook__(kind, error, error.__traceback__)
    if _is_about_torch(error):
        print(f"({STANDS_IN})", file=sys.stderr)


def _fail(message, code=1):
    """Ends as Python itself does when it cannot start a program."""
    print(f"{sys.executable}: {message}", file=sys.stderr)
    raise SystemExit(code)


def _source(path):
    from io import open_code

    with open_code(path) as file:
        return file.read()


def _run_file(path):
    sys.path[0] = os.path.dirname(os.path.realpath(path))
    try:
        source = _source(path)
    except OSError as error:
        _fail(f"can't open file {os.path.abspath(path)!r}: [Errno {error.errno}] {error.strerror}", code=2)
    path = os.path.abspath(path)
    about = {"__file__": path, "__cached__": None, "__loader__": SourceFileLoader("__main__", path)}
    _execute(lambda: compile(source, path, "exec", dont_inherit=True), about)


def _run_folder(path):
    """Runs __main__.py in a folder or an archive."""
    sys.path[0] = path
    spec = PathFinder.find_spec("__main__", [path])
    if spec is None:
        _fail(f"can't find '__main__' module in {path!r}")
    _run_spec(spec)


def _run_module(name):
    sys.path[0] = os.getcwd()
    try:
        spec = find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            package, spec = name, find_spec(f"{name}.__main__")
            if spec is None:
                _fail(f"No module named {package}.__main__; '{package}' is a package and cannot be directly executed")
    except (ImportError, ValueError) as error:
        _fail(f"Error while finding module specification for {name!r} ({type(error).__name__}: {error})")
    if spec is None:
        _fail(f"No module named {name}")
    _run_spec(spec)


def _run_spec(spec):
    sys.argv[0] = spec.origin
    about = {"__file__": spec.origin, "__cached__": spec.cached, "__spec__": spec, "__loader__": spec.loader,
             "__package__": spec.parent}  # fmt: skip
    _execute(lambda: spec.loader.get_code(spec.name), about)


def _run_code(code):
    sys.path[0] = ""
    _execute(lambda: compile(code, "<string>", "exec", dont_inherit=True), {})


def _children_too():
    """Python processes that the program starts by a command find the stand-in through the environment."""
    from wisp._drop_in import STAND_IN

    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if STAND_IN not in paths:
        os.environ["PYTHONPATH"] = os.pathsep.join([STAND_IN, *filter(None, paths)])


def main(args):
    """Runs a program given as on the command line."""
    options = {"-m": _run_module, "-c": _run_code}
    run = options.get(args[0]) if args else None
    if not args or (run and len(args) < 2):
        print(__doc__.partition("\n\n")[2], file=sys.stderr)
        raise SystemExit(2)
    if args[0] in ("-h", "--help"):
        print(__doc__)
        return
    import wisp.as_torch  # noqa: F401

    _children_too()
    sys.excepthook = _show_uncaught
    sys.argv = [args[0], *args[2:]] if run else args
    if run is None:
        run = _run_folder if os.path.isdir(args[0]) or _is_archive(args[0]) else _run_file
    run(args[1] if args[0] in options else args[0])


def _is_archive(path):
    if path.endswith((".py", ".pyw")):
        return False
    from zipfile import is_zipfile

    return is_zipfile(path)


if __name__ == "__main__":
    main(sys.argv[1:])
