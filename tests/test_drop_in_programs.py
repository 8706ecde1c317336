"""Programs under python -m wisp.torch, and the processes they start."""

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
from tests.drop_in_runs import as_torch, run, write


def test_a_script_runs_as_if_by_itself(tmp_path):
    write(tmp_path, "beside.py", "value = 5")
    script = write(tmp_path, "sub/../script.py", """
        import sys, os
        import beside
        import torch
        print(torch.__spec__.name, beside.value, __name__, __file__, sys.argv[1:])
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
        print(HASH_REGEX.search("net-5c106cde.pth")[1], List[int], hasattr(torch.fx, "symbolic_trace"))
        x = torch.ones(1)
        print(torch._C._get_tracing_state(), x._cdata == x._cdata != torch.ones(1)._cdata)
    """)
    words = ["False", "True", "False", "2.0", "5c106cde", "typing.List[int]", "False", "None", "True"]
    assert printed.split() == words


def test_what_torchvision_does_when_it_is_imported():
    printed = as_torch("""
        import torch
        import torch._custom_ops
        import torch.library
        from torch._dynamo.utils import is_compile_supported
        from torch.ao.quantization import DeQuantStub, QuantStub
        from torch.jit.annotations import BroadcastingList2
        from torch.onnx import symbolic_opset11 as opset11
        from torch.onnx.symbolic_helper import parse_args
        from torch.utils.model_zoo import tqdm

        try:
            torch.ops.load_library("no_such_library.so")
        except OSError:
            print("no library", end=" ")

        @torch.library.register_fake("absent::operator")
        def fake(x):
            return x

        @parse_args("v", "v")
        def symbolic(g, x):
            return opset11.squeeze(g, x, 1)

        torch.onnx.register_custom_op_symbolic("absent::operator", symbolic, 11)
        keys = torch._C.DispatchKey
        both = torch._C.DispatchKeySet(keys.AutocastCPU) | torch._C.DispatchKeySet(keys.AutocastCUDA)
        x = torch.ones(1)
        print(len(both), both.has(keys.AutocastCPU), is_compile_supported("cpu"), BroadcastingList2[int])
        print(torch.ao.quantization.DeQuantStub()(QuantStub()(x)) is x, isinstance(DeQuantStub(), torch.nn.Module))
        print(torch.jit._script_if_tracing(lambda x: x + 1)(x).item())
        with tqdm(total=2, disable=True) as shown:
            shown.update(2)
    """)
    words = ["no", "library", "2", "True", "False", "BroadcastingList2[int]", "True", "True", "2.0"]
    assert printed.split() == words


def test_names_of_what_is_not_there():
    """Libraries mention them at import, and ask whether things are such."""
    printed = as_torch("""
        import pickle
        import torch
        import torch.distributed.fsdp
        import torch.distributed.optim

        assert "qint8" not in dir(torch)  # who goes through what there is would take it for a dtype
        print(torch.__name__, torch.qint8, torch.float32 in (torch.qint8, torch.chalf), torch.complex32.itemsize)
        print(pickle.loads(pickle.dumps(torch.qint8)) is torch.qint8)
        x = torch.ones(2)
        print(isinstance(x, torch.fx.Proxy), isinstance(x, torch.distributed.fsdp.FullyShardedDataParallel))
        print(isinstance(x, torch.distributed.optim.ZeroRedundancyOptimizer), torch.torch.Tensor is torch.Tensor)
        print(isinstance(x, torch.nn.parallel.DistributedDataParallel), isinstance(x, torch.Future))
        torch._dynamo.mark_static_address(x)
        torch._dynamo.mark_dynamic(x, 0)
        print(torch._C.Graph.__name__, torch._dynamo.is_compiling(), hasattr(torch._dynamo, "export"))
        x.requires_grad_()
        y = x.softmax(0)
        y.backward(torch.tensor([1.0, 3.0]))
        given = torch._softmax_backward_data(torch.tensor([1.0, 3.0]), y.detach(), 0, y.dtype)
        print(given.tolist() == x.grad.tolist())
        for wrong in (lambda: x.to(torch.qint8), lambda: torch.zeros(2, dtype=torch.chalf), torch.fx.Proxy):
            try:
                wrong()
            except TypeError as error:
                print("TypeError", end=" ")
    """)
    words = [
        "torch",
        "torch.qint8",
        "False",
        "4",
        "True",
        "False",
        "False",
        "False",
        "True",
        "False",
        "False",
        "Graph",
        "False",
        "False",
    ]
    assert printed.split() == [*words, "True", *["TypeError"] * 3]


def test_what_libraries_of_training_loops_ask_for():
    printed = as_torch("""
        import torch
        from torch._higher_order_ops.associative_scan import associative_scan
        from torch._subclasses.fake_tensor import FakeTensor, is_fake
        from torch.autograd.profiler import record_function
        from torch.distributed.tensor import DTensor
        from torch.fx.experimental.proxy_tensor import get_proxy_mode
        from torch.profiler import ProfilerAction, ProfilerActivity, profile, schedule
        from torch.utils.data.dataloader import _MultiProcessingDataLoaderIter

        x = torch.ones(2)
        with record_function("a part"):
            absent = (DTensor, FakeTensor, torch.distributed.device_mesh.DeviceMesh, torch.Stream, torch.Event)
            absent += (torch.distributed.ProcessGroup,)
            print(isinstance(x, absent), is_fake(x), get_proxy_mode())
        print([schedule(wait=1, warmup=1, active=2, repeat=1)(step).name for step in range(5)])
        try:
            profile(activities=[ProfilerActivity.CPU])
        except RuntimeError as error:
            print(error)
        print(torch._C._nn._parse_to("cpu", torch.float64, non_blocking=True), torch._C._nn.gelu is torch.nn.functional.gelu)
        print(torch._C._nn._parse_to(torch.ones(1, dtype=torch.int64), memory_format=torch.channels_last))
        print(torch.Size([1]), torch.float32, x.type(), torch.channels_last, repr(x.sort()).split("(")[0])
        compiled = torch.compile(torch.nn.Linear(1, 1))
        print(*(isinstance(m, torch._dynamo.eval_frame.OptimizedModule) for m in (compiled, torch.nn.Linear(1, 1))))
        print(torch.jit.ScriptModule is torch.ScriptModule, associative_scan(torch.add, torch.arange(3), 0).tolist())
    """)
    assert printed.splitlines() == [
        "False False None",
        "['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']",
        "there is no profiler while wisp stands in for torch",
        "(device(type='cpu'), torch.float64, True, None) True",
        "(device(type='cpu'), torch.int64, False, torch.channels_last)",
        "torch.Size([1]) torch.float32 torch.FloatTensor torch.channels_last torch.return_types.sort",
        "True False",
        "True [0, 1, 3]",
    ]


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
    assert "ImportError: cannot import name 'not_there' from 'torch'" in error
    assert "docs/status.md" in error


def test_code_on_the_command_line(tmp_path):
    done = run("-c", "import sys, torch; print(sys.argv, torch.ones(2).tolist(), repr(sys.path[0]))", "x", cwd=tmp_path)
    assert done.stdout.strip() == "['-c', 'x'] [1.0, 1.0] ''"
    assert 'File "<string>", line 1, in <module>' in run("-c", "1/0", cwd=tmp_path, check=False).stderr


def test_modules_and_packages_run(tmp_path):
    write(tmp_path, "single.py", "import sys, torch; print(__name__, __spec__.name, sys.argv[1:], torch.__spec__.name)")
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
    write(tmp_path, "app/__main__.py", "import torch, part; print(part.name, torch.__spec__.name)")
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
        queue.put((torch.__spec__.name, (x * 2).sum().item(), __name__))

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
        code = "import torch.nn.functional as F; import torch; print(torch.__spec__.name, F.__name__)"
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


def test_settings_of_the_compiler_that_programs_make():
    printed = as_torch("""
        import torch
        import torch._dynamo.config
        import torch._functorch.config
        import torch._inductor.config as inductor
        from torch._dynamo.backends.registry import register_backend
        from torch._dynamo.utils import counters

        inductor.coordinate_descent_tuning = inductor.triton.cudagraphs = True
        torch._functorch.config.activation_memory_budget = 0.5
        torch._logging.set_logs(recompiles=True)
        with torch._dynamo.config.patch("cache_size_limit", 64), inductor.patch({"triton.cudagraphs": False}):
            print(torch._dynamo.config.cache_size_limit, inductor.triton.cudagraphs)
        print(torch._dynamo.config.cache_size_limit, inductor.triton.cudagraphs, counters["stats"]["unique_graphs"])
        for settings in (torch._dynamo.config, inductor, inductor.triton):
            try:
                settings.cach_size = 1
            except AttributeError as error:
                print(str(error).split()[0])
        register_backend(lambda graph, inputs: graph.forward, name="mine")
        print(torch.compile(lambda x: x + 1, backend="mine")(1), "triton.cudagraphs" in torch._inductor.list_options())
        print(torch.compile(lambda x: x + 1, backend=lambda graph, inputs: graph.forward)(1), torch.compiler.config.job_id)
    """)
    names = [
        f"torch.{name}.config{part}.cach_size"
        for name, part in (("_dynamo", ""), ("_inductor", ""), ("_inductor", ".triton"))
    ]
    assert printed.split() == ["64", "False", "8", "True", "0", *names, "2", "True", "2", "None"]
