"""wisp in place of torch: python -m wisp.torch, and import wisp.as_torch."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import textwrap
import time
import zipfile

import pytest

from tests import fresh
from wisp.torch_version import TorchVersion
from wisp.version import __version__


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
    assert "module 'wisp' has no attribute 'not_there' (wisp stands in for torch here" in printed
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


def test_what_cannot_be_compiled_stays_python():
    printed = as_torch("""
        import warnings
        import torch

        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")

            @torch.jit.script
            def f(x):
                yield x

        print([*f(3)], len(told), "f stays Python" in str(told[0].message))
    """)
    assert printed.split() == ["[3]", "1", "True"]


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


# --- programs


def test_a_script_runs_as_if_by_itself(tmp_path):
    write(tmp_path, "beside.py", "value = 5")
    script = write(tmp_path, "sub/../script.py", """
        import sys, os
        import beside
        import torch
        print(torch.__name__, beside.value, __name__, __file__, sys.argv[1:])
        print(sys.argv[0], os.path.samefile(sys.path[0], os.path.dirname(__file__)), __spec__, __package__)
        import __main__
        print(__main__.torch is torch, __builtins__ is not None, __doc__)
    """)  # fmt: skip
    done = run("script.py", "a", "--b=1", cwd=tmp_path)
    assert done.stdout.splitlines() == [
        f"wisp 5 __main__ {script.resolve()} ['a', '--b=1']",
        "script.py True None None",
        "True True None",
    ]


def test_what_libraries_do_when_they_are_imported():
    printed = as_torch("""
        import torch
        from torch.hub import HASH_REGEX, download_url_to_file, urlparse
        from torch.jit.annotations import Dict, List, Optional, Tuple
        from torch.nn.common_types import _size_2_t

        @torch.fx.wrap
        def half(x):
            return x / 2

        torch.fx.wrap("len")
        with torch.backends.cuda.sdp_kernel(enable_flash=False):
            print(torch.backends.cuda.flash_sdp_enabled(), end=" ")
        torch.backends.cuda.enable_math_sdp(False)
        print(torch.backends.cuda.flash_sdp_enabled(), torch.backends.cuda.math_sdp_enabled(), half(4))
        print(HASH_REGEX.search("net-5c106cde.pth")[1], List[int], hasattr(torch.fx, "Graph"))
        x = torch.ones(1)
        print(torch._C._get_tracing_state(), x._cdata == x._cdata != torch.ones(1)._cdata)
    """)
    words = ["False", "True", "False", "2.0", "5c106cde", "typing.List[int]", "False", "None", "True"]
    assert printed.split() == words


def test_exit_codes(tmp_path):
    write(tmp_path, "leave.py", "import sys, torch; sys.exit(int(sys.argv[1]))")
    assert run("leave.py", 0, cwd=tmp_path).returncode == 0
    assert run("leave.py", 3, cwd=tmp_path, check=False).returncode == 3
    assert run("nowhere.py", cwd=tmp_path, check=False).returncode == 2
    assert run("-m", "nowhere", cwd=tmp_path, check=False).returncode == 1  # as Python itself
    assert run(cwd=tmp_path, check=False).returncode == 2
    assert run("-m", cwd=tmp_path, check=False).returncode == 2
    assert "script.py" in run("--help", cwd=tmp_path).stdout


def test_a_script_that_is_not_there(tmp_path):
    done = run("nowhere.py", cwd=tmp_path, check=False)
    assert f"can't open file '{tmp_path.resolve() / 'nowhere.py'}': [Errno 2] No such file or directory" in done.stderr
    assert "Traceback" not in done.stderr


def python(*args, cwd):
    return subprocess.run([sys.executable, *map(str, args)], cwd=cwd, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("body", ["def f():\n    raise ValueError('oh')\nf()", "x = (1,\n", "1 / 0", "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise KeyError(1) from e"])  # fmt: skip
def test_tracebacks_are_those_of_the_program_alone(tmp_path, body):
    write(tmp_path, "fails.py", body)
    ours, plain = run("fails.py", cwd=tmp_path, check=False), python("fails.py", cwd=tmp_path)
    assert ours.stderr == plain.stderr
    assert ours.returncode == plain.returncode == 1


def test_an_interrupted_program_ends_as_python_does(tmp_path):
    write(tmp_path, "waits.py", "import time, torch\nprint('ready', flush=True)\ntime.sleep(60)")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "wisp.torch", "waits.py"]
    with subprocess.Popen(command, cwd=tmp_path, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.readline()
        time.sleep(0.2)
        running.send_signal(signal.SIGINT)
        _, error = running.communicate(timeout=30)
    assert running.returncode == -signal.SIGINT
    assert error.decode().splitlines()[-1] == "KeyboardInterrupt"
    assert b"wisp/torch.py" not in error


def test_a_name_that_cannot_be_imported_is_explained(tmp_path):
    write(tmp_path, "lacks.py", "from torch import not_there")
    error = run("lacks.py", cwd=tmp_path, check=False).stderr
    assert "ImportError: cannot import name 'not_there' from 'wisp'" in error
    assert "docs/status.md" in error


def test_code_on_the_command_line(tmp_path):
    done = run("-c", "import sys, torch; print(sys.argv, torch.ones(2).tolist(), repr(sys.path[0]))", "x", cwd=tmp_path)
    assert done.stdout.strip() == "['-c', 'x'] [1.0, 1.0] ''"
    assert 'File "<string>", line 1, in <module>' in run("-c", "1/0", cwd=tmp_path, check=False).stderr


def test_modules_and_packages_run(tmp_path):
    write(tmp_path, "single.py", "import sys, torch; print(__name__, __spec__.name, sys.argv[1:], torch.__name__)")
    write(tmp_path, "package/__init__.py", "")
    write(tmp_path, "package/__main__.py", "from . import part; import sys; print(__package__, part.ok, sys.argv)")
    write(tmp_path, "package/part.py", "import torch.nn; ok = torch.nn.Linear(1, 1).bias.numel()")
    write(tmp_path, "bare/__init__.py", "")
    assert run("-m", "single", "a", cwd=tmp_path).stdout.strip() == "__main__ single ['a'] wisp"
    main = tmp_path.resolve() / "package" / "__main__.py"
    assert run("-m", "package", cwd=tmp_path).stdout.strip() == f"package 1 ['{main}']"
    assert "cannot be directly executed" in run("-m", "bare", cwd=tmp_path, check=False).stderr
    assert "No module named nowhere" in run("-m", "nowhere", cwd=tmp_path, check=False).stderr


def test_folders_and_archives_run(tmp_path):
    write(tmp_path, "app/__main__.py", "import torch, part; print(part.name, torch.__name__)")
    write(tmp_path, "app/part.py", "name = 'part'")
    write(tmp_path, "empty/part.py", "")
    with zipfile.ZipFile(tmp_path / "app.pyz", "w") as archive:
        for name in ("__main__.py", "part.py"):
            archive.write(tmp_path / "app" / name, name)
    for name in ("app", "app.pyz"):
        assert run(name, cwd=tmp_path).stdout.split() == ["part", "wisp"]
    assert "can't find '__main__' module" in run("empty", cwd=tmp_path, check=False).stderr


def test_atexit_and_threads_see_the_program(tmp_path):
    write(tmp_path, "late.py", """
        import atexit, threading, time, torch
        value = 3
        atexit.register(lambda: print("at exit", value, torch.ones(1).item(), __import__("__main__").value))
        threading.Thread(target=lambda: (time.sleep(0.1), print("thread", value))).start()
    """)  # fmt: skip
    assert run("late.py", cwd=tmp_path).stdout.split() == ["thread", "3", "at", "exit", "3", "1.0", "3"]


# --- processes that a program starts


CHILD = """
    import multiprocessing, subprocess, sys
    import torch

    def work(queue, x):
        queue.put((torch.__name__, (x * 2).sum().item(), __name__))

    if __name__ == "__main__":
        for method in ("spawn", "forkserver", "fork"):
            context = multiprocessing.get_context(method)
            queue = context.Queue()
            child = context.Process(target=work, args=(queue, torch.ones(3)))
            child.start()
            print(method, *queue.get(timeout=60))
            child.join()
"""


def test_processes_of_every_kind_have_the_stand_in(tmp_path):
    write(tmp_path, "parent.py", CHILD)
    expected = ["spawn wisp 6.0 __mp_main__", "forkserver wisp 6.0 __mp_main__", "fork wisp 6.0 __main__"]
    assert run("parent.py", cwd=tmp_path).stdout.splitlines() == expected
    write(tmp_path, "inside.py", "import wisp.as_torch\n" + textwrap.dedent(CHILD))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "inside.py"], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120
    )
    assert done.stdout.splitlines() == expected, done.stderr


def test_commands_run_by_a_program_have_the_stand_in(tmp_path):
    write(tmp_path, "parent.py", """
        import subprocess, sys
        code = "import torch.nn.functional as F; import torch; print(torch.__name__, F.__name__)"
        print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    """)  # fmt: skip
    assert run("parent.py", cwd=tmp_path).stdout.split() == ["wisp", "wisp.nn.functional"]


def test_a_small_training_script_gives_what_wisp_gives(tmp_path):
    body = """
        import {0} as torch
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        adam = torch.optim.Adam(net.parameters(), lr=0.01)
        x = torch.randn(32, 3)
        for _ in range(5):
            adam.zero_grad()
            loss = torch.nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))
            loss.backward()
            adam.step()
        print(loss.item())
    """
    write(tmp_path, "train.py", body.format("torch"))
    assert run("train.py", cwd=tmp_path).stdout == fresh.python(textwrap.dedent(body.format("wisp")))


def test_as_torch_is_not_imported_by_looking_around():
    assert fresh.python("import wisp, sys; [getattr(wisp, name) for name in dir(wisp)]; print('torch' in sys.modules)").split() == ["False"]  # fmt: skip


def test_the_guide_tells_the_truth():
    page = pathlib.Path(__file__).parent.parent / "docs" / "drop_in.md"
    if not page.exists():
        pytest.skip("the guide is not here")
    fresh.python("\n".join(re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)))
