"""Operators that programs define (wisp.library), in scripts, traces and files."""

import io

import pytest

import wisp
from wisp import Tensor
from wisp.jit import script, trace


@wisp.library.custom_op("jit_tests::shifted", mutates_args=())
def shifted(x: Tensor, by: float = 1.0, axes: list[int] | None = None) -> Tensor:
    return wisp.from_numpy(x.detach().numpy() + by)


@wisp.library.custom_op("jit_tests::both", mutates_args=())
def both(x: Tensor, others: list[Tensor], *, k: int = 2) -> tuple[Tensor, Tensor]:
    return x * k, others[0] + others[1]


@wisp.library.custom_op("jit_tests::increase", mutates_args=("x",))
def increase(x: Tensor) -> None:
    x.add_(1)


shifted.register_autograd(lambda ctx, grad: (grad * 7, None, None))
both.register_autograd(lambda ctx, grad, other: (grad * 2, None))


def program(x: Tensor, by: float):
    y = wisp.ops.jit_tests.shifted(x, by) + shifted(x)
    first, second = wisp.ops.jit_tests.both.default(y, [x, x], k=3)
    increase(first)
    return first, second


@pytest.fixture(params=["script", "trace"])
def compiled(request):
    return script(program) if request.param == "script" else trace(program, (wisp.ones(2), 3.0))


def test_they_are_called_by_name(compiled):
    x = wisp.randn(4)
    wisp.testing.assert_close(compiled(x, 2.0), program(x, 2.0))
    assert "wisp.ops.jit_tests.shifted.default" in str(compiled.inlined_graph)


def test_their_derivatives_are_those_that_were_registered(compiled):
    x = wisp.ones(2, requires_grad=True)
    compiled(x, 2.0)[0].sum().backward()
    assert x.grad.tolist() == [28.0, 28.0]


def test_files_name_them(compiled):
    loaded, x = wisp.jit.load(io.BytesIO(compiled.save_to_buffer())), wisp.randn(4)
    wisp.testing.assert_close(loaded(x, 2.0), program(x, 2.0))


def test_one_that_is_not_defined_where_it_is_called(monkeypatch):
    library = wisp.library.Library("jit_tests_gone", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    saved = script(gone).save_to_buffer()
    monkeypatch.delitem(wisp._C._jit.host_functions, "wisp.ops.jit_tests_gone.twice.default")  # as in another process
    monkeypatch.delitem(wisp._ops.packets, "jit_tests_gone::twice")
    loaded = wisp.jit.load(io.BytesIO(saved))
    with pytest.raises(RuntimeError, match="'wisp.ops.jit_tests_gone.twice', which does not exist in this process"):
        loaded(wisp.ones(1))


def gone(x: Tensor):
    return wisp.ops.jit_tests_gone.twice(x)


def test_arguments_that_do_not_fit():
    def wrong(x: Tensor):
        return wisp.ops.jit_tests.shifted(x, "far")

    with pytest.raises(wisp.jit.CompileError, match=r"is given \(Tensor, str, None\)(.|\n)*<--- HERE"):
        script(wrong)


def test_exported_models_have_what_they_call():
    @wisp.library.custom_op("jit_tests::scaled", mutates_args=())
    def scaled(x: Tensor) -> Tensor:
        return x * 3

    wisp.onnx.export(lambda x: scaled(x) + 1, (wisp.ones(2),), io.BytesIO())
