"""wisp.library and wisp.ops: operators that programs define. Where PyTorch is installed, the same is asked of it."""

import sys

import pytest

import wisp
from tests import oracle

LIBRARIES = [wisp]
if oracle.HAS_TORCH:
    import torch

    LIBRARIES.append(torch)
each_library = pytest.mark.parametrize("lib", LIBRARIES, ids=lambda lib: lib.__name__)


def scaled_operator(lib, name):
    """x * factor as an operator whose kernel autograd does not see, and what its parts were called with."""
    calls = []

    def kernel(x: lib.Tensor, factor: float = 2.0) -> lib.Tensor:
        calls.append(("kernel", x.requires_grad and lib.is_grad_enabled()))
        return lib.from_numpy(x.detach().numpy() * factor)

    def setup_context(ctx, inputs, output):
        calls.append(("setup", len(inputs), tuple(ctx.needs_input_grad[:2])))
        ctx.factor = inputs[1]

    op = lib.library.custom_op(f"wisp_tests::{name}", kernel, mutates_args=())
    op.register_autograd(lambda ctx, grad: (grad * ctx.factor, None), setup_context=setup_context)
    return op, calls


@each_library
def test_an_operator_with_a_derivative(lib):
    op, calls = scaled_operator(lib, "scaled")
    x = lib.ones(2, requires_grad=True)
    named = lib.ops.wisp_tests.scaled
    assert named(lib.ones(2)).tolist() == [2, 2] and calls == [("kernel", False)]
    for call in (op, named, named.default):
        calls.clear()
        x.grad = None
        call(x, factor=3.0).sum().backward()
        assert x.grad.tolist() == [3, 3]
        assert calls == [("kernel", False), ("setup", 2, (True, False))]
    with pytest.raises((TypeError, RuntimeError)):
        op(x, 3.0, 4.0)
    with pytest.raises(AttributeError):
        lib.ops.wisp_tests.absent  # noqa: B018


@each_library
def test_without_a_formula_backward_says_so(lib):
    op = lib.library.custom_op("wisp_tests::plain", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor")
    out = op(lib.ones(2, requires_grad=True))
    assert out.requires_grad
    with pytest.raises(RuntimeError, match="no autograd formula"):
        out.sum().backward()


@each_library
def test_shapes_without_values(lib):
    op = lib.library.custom_op(
        "wisp_tests::joined", lambda xs: lib.cat(list(xs)), mutates_args=(), schema="(Tensor[] xs) -> Tensor"
    )
    op.register_fake(lambda xs: xs[0].new_empty(sum(len(x) for x in xs)))
    out = op([lib.empty(2, device="meta"), lib.empty(3, device="meta")])
    assert out.shape == (5,) and out.device.type == "meta"


@each_library
def test_lists_of_tensors(lib):
    seen = []

    def setup_context(ctx, inputs, output):
        seen.append(type(output).__name__)

    def backward(ctx, grads):
        seen.append([list(n) if isinstance(n, (list, tuple)) else n for n in ctx.needs_input_grad])
        return [g * 10 for g in grads], None

    lib.library.define("wisp_tests::tenfold", "(Tensor[] xs, int times) -> Tensor[]")
    lib.library.impl("wisp_tests::tenfold", "cpu", lambda xs, times: [x * 10 for x in xs])
    lib.library.register_autograd("wisp_tests::tenfold", backward, setup_context=setup_context)
    x, y = lib.ones(1, requires_grad=True), lib.ones(1)
    first, second = lib.ops.wisp_tests.tenfold([x, y], 1)
    (first + second).sum().backward()
    assert x.grad.tolist() == [10] and y.grad is None
    assert seen == ["list", [[True, False], False]]


@each_library
def test_written_arguments_and_keywords(lib):
    def fill(x: lib.Tensor, *, value: float) -> None:
        x.fill_(value)

    op = lib.library.custom_op("wisp_tests::fill", fill, mutates_args=("x",))
    x = lib.zeros(2)
    version = x._version
    assert op(x, value=3.0) is None and x.tolist() == [3, 3] and x._version > version
    with pytest.raises(RuntimeError):
        op.register_autograd(lambda ctx, grad: None)


@each_library
def test_a_library_of_several_kernels(lib):
    defining = lib.library.Library("wisp_tests_lib", "DEF")
    defining.define("twice(Tensor x) -> Tensor")
    defining.define("thrice(Tensor x) -> Tensor")
    defining.impl("twice", lambda x: x * 2, "CompositeImplicitAutograd")
    implementing = lib.library.Library("wisp_tests_lib", "IMPL")
    implementing.impl("thrice", lambda x: x.clone().mul_(3), "CPU")
    implementing.impl("thrice", lambda x: lib.empty_like(x), "Meta")
    x = lib.ones(1, requires_grad=True)
    lib.ops.wisp_tests_lib.twice(x).backward()
    assert x.grad.tolist() == [2]  # by its parts
    assert lib.ops.wisp_tests_lib.thrice(lib.ones(1)).tolist() == [3]
    assert lib.ops.wisp_tests_lib.thrice(lib.ones(4, device="meta")).shape == (4,)
    with pytest.raises(RuntimeError):
        defining.define("twice(Tensor x) -> Tensor")


@each_library
def test_a_batch_at_once(lib):
    op, calls = scaled_operator(lib, "batched")
    op.register_vmap(lambda info, in_dims, x, factor: (op(x, factor), in_dims[0]))
    out = lib.func.vmap(lambda x: op(x, 5.0))(lib.ones(3, 2))
    assert out.tolist() == [[5, 5]] * 3 and calls.count(("kernel", False)) == 1


@each_library
def test_schemas_follow_from_annotations(lib):
    def f(
        x: lib.Tensor, ys: list[lib.Tensor], n: int, p: float | None = None, *, name: str = "a"
    ) -> tuple[lib.Tensor, lib.Tensor]:
        raise NotImplementedError

    text = lib.library.infer_schema(f, mutates_args=("x",))
    expected = '(Tensor(a0!) x, Tensor[] ys, SymInt n, float? p=None, *, str name="a") -> (Tensor, Tensor)'
    assert text.replace("'", '"') == expected
    with pytest.raises(ValueError):
        lib.library.infer_schema(lambda x: x, mutates_args=())


@each_library
def test_operators_of_the_table_by_name(lib):
    x = lib.tensor([-1.0, 2.0])
    assert lib.ops.aten.relu(x).tolist() == [0, 2] and lib.ops.aten.add.Tensor(x, x).tolist() == [-2, 4]
    assert lib.ops.aten.add_.Tensor(x, x) is x
    with pytest.raises(AttributeError):
        lib.ops.aten.no_such_operator  # noqa: B018


def test_what_is_said_before_an_operator_is_defined_holds():
    library = wisp.library
    library.register_fake("wisp_tests::later", lambda x, by, how: x)
    with pytest.raises(AttributeError):
        wisp.ops.wisp_tests.later  # noqa: B018
    library.define("wisp_tests::later", "(Tensor x, float by=0.5, str how='a, b') -> Tensor")
    assert wisp.ops.wisp_tests.later(wisp.empty(3, device="meta")).shape == (3,)
    with pytest.raises(NotImplementedError, match="no implementation for CPUs"):
        wisp.ops.wisp_tests.later(wisp.ones(1))


def test_errors():
    for text in ("(Tensor) -> Tensor", "(Tensor x", "(Tensor x)"):
        with pytest.raises(ValueError, match="expected"):
            wisp.library.define("wisp_tests::bad", text)
    with pytest.raises(ValueError, match="namespace::name"):
        wisp.library.register_fake("bad", print)
    with pytest.raises(ValueError, match="kind"):
        wisp.library.Library("wisp_tests", "OTHER")
    with pytest.raises(NotImplementedError, match="AutocastCPU"):
        wisp.library.Library("wisp_tests", "IMPL").impl("scaled", print, "AutocastCPU")
    with pytest.raises(OSError, match="compiled for PyTorch"):
        wisp.ops.load_library(sys.executable)
