"""wisp in place of torch: the modules, what is missing, and versions."""

import pytest

from tests import fresh
from tests.drop_in_runs import as_torch, run, write
from wisp.torch_version import TorchVersion
from wisp.version import __version__

# --- the modules


def test_torch_and_its_submodules_are_those_of_wisp():
    printed = as_torch("""
        import torch, torch.nn as nn, torch.nn.functional as F, torch.optim.lr_scheduler
        from torch import Tensor
        from torch.nn.modules.linear import Linear
        from torch.nn.utils.rnn import pad_sequence
        import wisp, sys
        print(torch is wisp, nn is wisp.nn, F is wisp.nn.functional, sys.modules["torch.nn"] is sys.modules["wisp.nn"])
        print(Tensor is wisp.Tensor, Linear is wisp.nn.Linear, torch.optim.lr_scheduler is wisp.optim.lr_scheduler)
        print(nn.__name__, nn.__spec__.name, nn.__spec__.loader is wisp.__spec__.loader or type(nn.__spec__.loader).__name__)
    """)
    assert printed.split("\n")[0] == "True True True True"
    assert printed.split("\n")[1] == "True True True"
    assert printed.split("\n")[2] == "wisp.nn wisp.nn SourceFileLoader"


def test_a_submodule_is_loaded_once_whatever_it_is_called():
    assert as_torch("""
        import wisp.nn.init, torch.nn.init, sys
        print(torch.nn.init is wisp.nn.init, "torch.nn.init" in sys.modules)
    """).split() == ["True", "True"]


def test_modules_do_not_take_the_place_of_functions_of_their_name():
    assert (
        as_torch("""
        import torch, wisp
        from torch.autograd.gradcheck import GradcheckError
        from torch.nn.utils.weight_norm import WeightNorm
        import torch.nn.utils.spectral_norm, torch.nn.parallel.data_parallel
        named = [torch.autograd.gradcheck, torch.nn.utils.weight_norm, torch.nn.utils.spectral_norm, torch.nn.parallel.data_parallel]
        print(*(type(f).__name__ for f in named))
    """).split()
        == ["function"] * 4
    )


def test_modules_of_single_optimizers():
    names = ("adam", "adamw", "sgd", "rmsprop", "adagrad", "adadelta", "adamax", "asgd", "nadam", "radam", "rprop")
    as_torch("import torch\n" + "\n".join(f"import torch.optim.{name}" for name in names))
    assert "True" in as_torch("from torch.optim.adam import Adam; import wisp; print(Adam is wisp.optim.Adam)")


def test_pickles_made_by_name_of_torch_load():
    assert as_torch("""
        import pickle, torch
        linear = pickle.loads(pickle.dumps(torch.nn.Linear(2, 1)))
        print(type(linear) is torch.nn.Linear)
        print(pickle.loads(b"ctorch.nn.modules.linear\\nLinear\\n.") is torch.nn.Linear)
    """).split() == ["True", "True"]


def test_installing_twice_changes_nothing():
    assert as_torch("""
        import sys
        from wisp._drop_in import Finder, install
        install()
        print(sum(isinstance(f, Finder) for f in sys.meta_path))
    """).split() == ["1"]


# --- what is missing


def test_a_missing_module_says_that_wisp_stands_in():
    printed = as_torch("""
        try:
            import torch.not_there
        except ModuleNotFoundError as error:
            print(error.name, "|", error)
        try:
            from torch.nn.not_there import x
        except ImportError as error:
            print(error.name)
    """)
    assert "torch.not_there | No module named 'torch.not_there': wisp stands in for torch" in printed
    assert "docs/status.md" in printed
    assert printed.split()[-1] == "torch.nn.not_there"


def test_a_missing_name_says_that_wisp_stands_in():
    printed = as_torch("""
        import torch
        try:
            torch.not_there
        except AttributeError as error:
            print(error)
        print(hasattr(torch, "not_there"), getattr(torch, "not_there", 7))
    """)
    assert "module 'torch' has no attribute 'not_there' (wisp stands in for torch here" in printed
    assert "docs/status.md" in printed
    assert printed.split()[-2:] == ["False", "7"]


def test_modules_that_scripts_import_but_rarely_use_are_empty():
    printed = as_torch("""
        import torch
        try:
            torch.onnx.not_there
        except AttributeError as error:
            print(error)
        try:
            from torch.onnx import not_there
        except ImportError as error:
            print("cannot import")
    """)
    assert "has no attribute 'not_there' (wisp stands in for torch here" in printed
    assert printed.splitlines()[-1] == "cannot import"


def test_scripts_are_compiled(tmp_path):
    write(tmp_path, "script.py", """
        import io
        import torch
        from typing import Dict, List, Optional, Tuple

        @torch.jit.script
        def double(x: torch.Tensor) -> torch.Tensor:
            return x * 2

        class Part(torch.jit.ScriptModule):
            @torch.jit.script_method
            def forward(self, x):
                return self.hidden(double(x))

            @torch.jit.ignore
            def hidden(self, x: torch.Tensor) -> torch.Tensor:
                return x + 1

        net = torch.nn.Sequential(Part())
        print(net(torch.ones(1)).item(), isinstance(net[0], torch.jit.ScriptModule), type(double).__name__)
        file = io.BytesIO()
        torch.jit.save(torch.jit.trace(double, torch.ones(1)), file)
        print(torch.jit.load(io.BytesIO(file.getvalue()))(torch.ones(2)).tolist())
        print(torch.jit.is_scripting(), torch.jit.is_tracing(), torch.jit.annotate(int, 3), torch.jit.Attribute(4, int).value)
        of = torch.jit.isinstance
        print(of([1], List[int]), of(["a"], List[int]), of({"a": 1}, Dict[str, int]), of((1, "a"), Tuple[int, str]),
              of((1, 2), Tuple[int, str]), of(None, Optional[int]), of("a", Optional[int]), of(1, (int, str)), of((1, 2), Tuple[int, ...]))
        print(of(1, int | str), of(1.5, int | str))
    """)  # fmt: skip
    assert run("script.py", cwd=tmp_path).stdout.splitlines() == [
        "3.0 True ScriptFunction", "[2.0, 2.0]", "False False 3 4", "True False True True False True False True True", "True False",
    ]  # fmt: skip


def test_what_a_library_cannot_compile_when_it_is_imported_stays_python(tmp_path):
    write(tmp_path, "library.py", "import torch\n\n@torch.jit.script\ndef f(x):\n    yield x\n")
    printed = as_torch(f"""
        import sys, warnings
        import torch

        sys.path.insert(0, {str(tmp_path)!r})
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            from library import f
        print([*f(3)], len(told), "f stays Python" in str(told[0].message))
        try:
            torch.jit.script(f)
        except torch.jit.CompileError as error:
            print(type(error).__name__)
    """)
    assert printed.split() == ["[3]", "1", "True", "FrontendError"]


def test_compile_leaves_programs_as_they_are():
    printed = as_torch("""
        import torch

        @torch.compile
        def double(x):
            return x * 2

        @torch.compile(fullgraph=True, mode="max-autotune")
        def triple(x):
            return x * 3

        @torch.compiler.disable()
        def same(x):
            return x

        net = torch.nn.Linear(1, 1)
        print(double(2), triple(2), same(2), torch.compile(net, dynamic=True)._orig_mod is net, net.compile(), torch.compiler.is_compiling())
    """)
    assert printed.split() == ["4", "6", "2", "True", "None", "False"]


def test_distributed_training_is_said_not_to_be_there():
    assert (
        as_torch("import torch.distributed as dist; print(dist.is_available(), hasattr(dist, 'init_process_group'))")
        == "False False\n"
    )


def test_asking_whether_a_module_exists():
    assert as_torch("""
        from importlib.util import find_spec
        print(find_spec("torch.not_there"), find_spec("torch.nn.init").name, find_spec("torch").name)
    """).split() == ["None", "torch.nn.init", "wisp"]


def test_errors_of_missing_modules_can_be_pickled():
    printed = as_torch("""
        import pickle
        try:
            import torch.not_there
        except ImportError as error:
            print(pickle.loads(pickle.dumps(error)).name)
    """)
    assert printed.strip() == "torch.not_there"


def test_a_torch_that_is_imported_already_is_an_error(tmp_path):
    write(tmp_path, "torch/__init__.py", "real = True")
    printed = fresh.python(f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import torch
try:
    import wisp.as_torch
except ImportError as error:
    print(error)
print(torch.real, sys.modules["torch"] is torch)
""")
    assert "wisp cannot stand in for torch, which is imported already" in printed
    assert str(tmp_path) in printed
    assert printed.split()[-2:] == ["True", "True"]


# --- versions


def test_version_is_that_of_the_interface():
    printed = as_torch("""
        import torch, importlib.metadata
        print(torch.__version__, torch.version.__version__, importlib.metadata.version("torch"))
        print(torch.__version__ >= (2, 0), torch.__version__ > "1.13.1", torch.__version__ < "2.100")
        print(tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 0))
        print(importlib.metadata.metadata("torch")["Name"])
    """)
    first, *rest = printed.splitlines()
    assert len(set(first.split())) == 1
    assert first.startswith("2.")
    assert f"+wisp.{__version__}" in first
    assert rest == ["True True True", "True", "torch"]


@pytest.mark.parametrize("older, newer", [
    ("1.9.0", "1.10.0"), ("2.0.0a0", "2.0.0"), ("2.0.0rc1", "2.0.0"), ("2.0.0a1", "2.0.0a2"), ("2.0.0", "2.0.0.post1"),
    ("2.0.0", "2.0.0+cpu"), ("2.0.0+cpu", "2.0.1"), ("2.0.0.dev2024", "2.0"), ((1, 13), "2.0"), ("1.13", (2,)),
])  # fmt: skip
def test_versions_are_ordered(older, newer):
    for a, b in ((older, newer), (newer, older)):
        if isinstance(a, str):
            first = a is older
            a = TorchVersion(a)
            assert (a < b, a <= b, a > b, a >= b, a == b, a != b) == (first, first, not first, not first, False, True)


def test_equal_versions():
    version = TorchVersion("2.1.0")
    assert version == "2.1"
    assert version == (2, 1, 0)
    assert version >= "2.1.0"
    assert version <= (2, 1)
    assert str(version) == "2.1.0"
    assert version != "nonsense"
    assert {version: 1}["2.1.0"] == 1


def test_versions_compare_as_in_pytorch():
    theirs = pytest.importorskip("torch.torch_version").TorchVersion
    versions = ["1.9", "1.10.0", "2.0.0a0", "2.0.0rc1", "2.0.0", "2.0.0.post1", "2.0.0+cpu", "2.0.0+wisp.0.1", "2.13.0"]
    for a in versions:
        for b in [*versions, (2,), (2, 0, 0), (1, 10), (2, 13)]:
            ours = TorchVersion(a)
            want = theirs(a)
            got = (ours < b, ours <= b, ours > b, ours >= b, ours == b)
            assert got == (want < b, want <= b, want > b, want >= b, want == b), (a, b)
