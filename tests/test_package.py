"""The package: what importing it does and does not do, and what its names are."""

import builtins
import pathlib

import pytest

import wisp
from tests import fresh


def loaded_by(code):
    """The modules in memory after some code has run in a fresh interpreter."""
    return set(fresh.python(f"{code}\nimport sys; print(*sorted(sys.modules))", "-S").split())


def test_importing_wisp_imports_little():
    loaded = loaded_by("import wisp; x = wisp.ones(2) + 1; x.sum().item()")
    heavy = {"numpy", "typing", "inspect", "dataclasses", "collections", "functools", "re", "ctypes", "importlib.metadata",
             "pickle", "copy", "random", "wisp.nn", "wisp.optim", "wisp.autograd", "wisp.linalg", "wisp.utils"}  # fmt: skip
    assert not heavy & loaded


def test_importing_nn_and_optim_imports_no_more_than_needed():
    loaded = loaded_by("import wisp.nn, wisp.optim; wisp.nn.Module()(1) if 0 else None")
    assert not {"numpy", "typing", "inspect", "dataclasses", "wisp.nn.utils", "wisp.autograd"} & loaded
    assert {"wisp.nn.functional", "wisp.optim.lr_scheduler"} <= loaded


def test_submodules_come_by_name():
    for name in wisp._SUBMODULES:
        assert getattr(wisp, name).__name__ == f"wisp.{name}"


def test_star_import_leaves_pythons_types_alone():
    space = {}
    exec("from wisp import *", space)  # noqa: S102
    for name in ("bool", "int", "float"):
        assert space.get(name, getattr(builtins, name)) is getattr(builtins, name)
    assert space["tensor"] is wisp.tensor
    assert space["float32"] is wisp.float32
    assert not [name for name in space if name.startswith("_") and name != "__builtins__"]


def test_all_and_dir_tell_the_truth():
    assert all(hasattr(wisp, name) for name in wisp.__all__)
    assert {"nn", "optim", "add", "Tensor", "manual_seed"} <= set(dir(wisp))


def test_missing_names():
    with pytest.raises(AttributeError, match="module 'wisp' has no attribute 'unsqueze'. Did you mean: 'unsqueeze'?"):
        wisp.unsqueze  # noqa: B018
    with pytest.raises(AttributeError, match="module 'wisp' has no attribute 'zzzzzz'$"):
        wisp.zzzzzz  # noqa: B018
    with pytest.raises(AttributeError, match="module 'wisp.nn' has no attribute 'Liner'. Did you mean: 'Linear'?"):
        wisp.nn.Liner  # noqa: B018
    with pytest.raises(ImportError):
        exec("from wisp import nothing_like_it")  # noqa: S102


def test_types_ship():
    folder = pathlib.Path(wisp.__file__).parent
    for name in ("py.typed", "__init__.pyi", "_C.pyi", "linalg.pyi", "return_types.pyi", "nn/functional.pyi"):
        assert (folder / name).exists(), name


def test_version():
    assert wisp.__version__ == wisp.version.__version__
    assert wisp.__version__[0].isdigit()


def test_how_wisp_runs_as_text():
    assert (
        wisp.__version__ in wisp.__config__.show() and wisp.backends.cpu.get_cpu_capability() in wisp.__config__.show()
    )
    assert str(wisp.get_num_threads()) in wisp.__config__.parallel_info()
