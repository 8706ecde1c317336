"""__torch_function__: subclasses of Tensor, classes that only look like tensors, and modes."""

import copy
import threading

import pytest

import wisp
from tests import fresh
from wisp import Tensor
from wisp.overrides import (
    BaseTorchFunctionMode,
    TorchFunctionMode,
    get_ignored_functions,
    get_overridable_functions,
    handle_torch_function,
    has_torch_function,
    is_tensor_like,
    is_tensor_method_or_property,
    resolve_name,
    wrap_torch_function,
)


class Plain(Tensor):
    pass


class Deeper(Plain):
    pass


class Other(Tensor):
    pass


class Logged(Tensor):
    calls = []  # noqa: RUF012

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append((func, types))
        return super().__torch_function__(func, types, args, kwargs)


class Meters:
    """No tensor, but it takes part in some functions."""

    handled = {}  # noqa: RUF012

    def __init__(self, value):
        self.value = value

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func not in cls.handled or not all(issubclass(t, (Tensor, Meters)) for t in types):
            return NotImplemented
        return cls.handled[func](*args, **(kwargs or {}))


Meters.handled = {
    wisp.add: lambda a, b: ("add", getattr(a, "value", a), getattr(b, "value", b)),
    wisp.cat: lambda parts, dim=0: ("cat", len(parts), dim),
    Tensor.add: lambda a, b: ("method", b.value),
    Tensor.__pow__: lambda a, b: ("power", b.value),
}


@pytest.fixture
def plain():
    return wisp.arange(6.0).reshape(2, 3).as_subclass(Plain)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t + 1,
        lambda t: 1 - t,
        lambda t: t @ t.t(),
        lambda t: -t,
        lambda t: abs(t),
        lambda t: t > 1,
        lambda t: t == 1,
        lambda t: t**2,
        lambda t: t[0],
        lambda t: t[:, 1:],
        lambda t: t[t > 1],
        lambda t: t.sum(),
        lambda t: t.double(),
        lambda t: t.to(wisp.int64),
        lambda t: t.detach(),
        lambda t: t.clone(),
        lambda t: t.T,
        lambda t: t.data,
        lambda t: t.add_(1),
        lambda t: wisp.sin(t),
        lambda t: wisp.cat([wisp.ones(1, 3), t]),
        lambda t: wisp.add(wisp.ones(2, 3), other=t),
        lambda t: wisp.ones(2, 3) + t,
        lambda t: wisp.nn.functional.softmax(t, 0),
        lambda t: wisp.einsum("ij->i", t),
        lambda t: next(iter(t)),
        lambda t: t.max(0).values,
        lambda t: t.split(1)[1],
        lambda t: copy.deepcopy(t),
        lambda t: t.new_zeros(2),
    ],
)
def test_results_have_the_class(plain, call):
    expected = call(plain.as_subclass(Tensor).clone())
    result = call(plain)
    assert type(result) is Plain and type(expected) is Tensor
    assert result.dtype == expected.dtype and result.tolist() == expected.tolist()


def test_classes_with_attributes_of_their_own():
    """The first of its kind in a process: nothing else has told the core that there are such classes."""
    program = """
import wisp
class Named(wisp.Tensor):
    def __getattr__(self, name):
        return f"no {name}"
t = wisp.ones(2).as_subclass(Named)
print(type(t + 1).__name__, type(wisp.sin(t)).__name__, t.colour, tuple(t.shape))
"""
    assert fresh.python(program).split() == ["Named", "Named", "no", "colour", "(2,)"]


def test_what_is_no_tensor_stays(plain):
    assert type(plain.shape) is wisp.Size and plain.dtype is wisp.float32
    assert plain.numel() == 6 and plain.tolist() == [[0, 1, 2], [3, 4, 5]] and float(plain.sum()) == 15
    assert type(plain.max(0)) is type(wisp.ones(2, 2).max(0))
    Logged.calls.clear()
    assert repr(wisp.ones(1).as_subclass(Logged)) == "Logged([1.])" and not Logged.calls


def test_gradients_reach_objects_of_a_subclass():
    x = wisp.ones(3).as_subclass(Plain).requires_grad_()
    y = (x * 3).sum()
    assert type(y) is Plain and y.requires_grad
    y.backward()
    assert x.grad.tolist() == [3, 3, 3] and type(x.grad) is Tensor


def test_parameters_give_plain_tensors():
    class Weight(wisp.nn.Parameter):
        pass

    weight = Weight(wisp.ones(2))
    assert type(weight) is Weight and type(weight * 2) is Tensor
    assert not has_torch_function([weight]) and type(wisp.nn.Linear(2, 2)(wisp.ones(1, 2))) is Tensor


def test_derived_classes_win_and_strangers_fail(plain):
    assert type(plain + plain.as_subclass(Deeper)) is Deeper
    assert type(plain.as_subclass(Deeper) + plain) is Deeper
    with pytest.raises(TypeError, match="no implementation found for 'wisp.Tensor.add'"):
        plain + plain.as_subclass(Other)


def test_the_function_that_was_called():
    t = wisp.ones(2, 2).as_subclass(Logged)
    expected = [
        (lambda: wisp.add(t, 1), wisp.add),
        (lambda: t.add(1), Tensor.add),
        (lambda: t + 1, Tensor.add),
        (lambda: 1 + t, Tensor.add),
        (lambda: 1 - t, Tensor.__rsub__),
        (lambda: t.__iadd__(1), Tensor.add_),
        (lambda: t[0], Tensor.__getitem__),
        (lambda: t.__setitem__(0, 5), Tensor.__setitem__),
        (lambda: t.float(), Tensor.float),
        (lambda: t.shape, Tensor.shape.__get__),
        (lambda: wisp.linalg.det(t), wisp.linalg.det),
        (lambda: t < 1, Tensor.lt),
        (lambda: -t, Tensor.neg),
    ]
    for call, function in expected:
        Logged.calls.clear()
        call()
        assert Logged.calls[0] == (function, (Logged,)), resolve_name(function)


def test_names_of_functions():
    names = {wisp.add: "wisp.add", Tensor.add: "wisp.Tensor.add", Tensor.shape.__get__: "wisp.Tensor.shape.__get__"}
    for function, name in names.items():
        assert resolve_name(function) == name
    assert resolve_name(print) is None and resolve_name([]) is None
    assert is_tensor_method_or_property(Tensor.add) and not is_tensor_method_or_property(wisp.add)
    functions = get_overridable_functions()
    assert wisp.add in functions[wisp] and Tensor.add in functions[Tensor]
    assert wisp.manual_seed in get_ignored_functions() and wisp.add not in get_ignored_functions()


def test_classes_that_are_no_tensors():
    metres = Meters(3)
    assert wisp.add(metres, 2) == ("add", 3, 2)
    assert wisp.add(wisp.ones(1), metres)[2] == 3
    assert wisp.cat([wisp.ones(1), metres], dim=0) == ("cat", 2, 0)
    assert wisp.ones(1).add(metres) == wisp.ones(1) + metres == ("method", 3)
    assert wisp.ones(1) ** metres == ("power", 3)
    assert is_tensor_like(metres) and is_tensor_like(wisp.ones(1)) and not is_tensor_like(3)
    with pytest.raises(TypeError, match="no implementation found for 'wisp.mul'"):
        wisp.mul(metres, 2)
    with pytest.raises(TypeError, match="unsupported operand"):
        wisp.ones(1) + object()


def test_errors_pass_on():
    class Failing(Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise KeyError("mine")

    t = wisp.ones(2).as_subclass(Failing)
    for call in (lambda: t + 1, lambda: 1 + t, lambda: wisp.sin(t), lambda: t[0], lambda: t.shape, lambda: t.float()):
        with pytest.raises(KeyError, match="mine"):
            call()
    with pytest.raises(KeyError, match="mine"):
        t[0] = 1


def test_calls_can_be_hidden(plain):
    with wisp._C.DisableTorchFunctionSubclass():
        assert type(plain + 1) is Tensor and not has_torch_function([plain])
        with wisp._C.DisableTorchFunction():
            assert type(plain + 1) is Tensor
    assert has_torch_function([plain]) and type(plain + 1) is Plain
    assert type(wisp._C._disabled_torch_function_impl(wisp.sin, (), (plain,))) is Tensor


class Counting(TorchFunctionMode):
    def __init__(self):
        self.functions = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.functions.append(func)
        return func(*args, **(kwargs or {}))


def test_modes_see_every_call():
    with Counting() as outer:
        x = wisp.ones(2)
        with Counting() as inner:
            y = x + 1
        wisp.sin(x)
    x * 2
    assert y.tolist() == [2, 2]
    assert outer.functions == [wisp.ones, Tensor.add, wisp.sin] and inner.functions == [Tensor.add]


def test_modes_come_before_classes(plain):
    class Counts(BaseTorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(types)
            return super().__torch_function__(func, types, args, kwargs)

    seen = []
    with Counts():
        assert type(plain + 1) is Plain
    assert seen[0] == (Plain,)


def test_modes_belong_to_their_thread_and_end_with_errors():
    with pytest.raises(ZeroDivisionError), Counting() as mode:
        thread = threading.Thread(target=lambda: wisp.ones(2) + 1)
        thread.start()
        thread.join()
        1 / 0  # noqa: B018
    wisp.ones(2)
    assert mode.functions == []


def test_modes_can_replace_results():
    class Zeros(TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return wisp.zeros(1) if func is wisp.sin else func(*args, **(kwargs or {}))

    with Zeros():
        assert wisp.sin(wisp.ones(3)).tolist() == [0]
        assert wisp.cos(wisp.zeros(1)).tolist() == [1]
    with pytest.raises(NotImplementedError, match="has to define"), TorchFunctionMode():
        wisp.ones(1)


def test_functions_of_users(plain):
    @wrap_torch_function(lambda x, scale=1: (x,))
    def scaled(x, scale=1):
        return x * scale

    assert type(scaled(plain, scale=2)) is Plain and type(scaled(wisp.ones(1))) is Tensor
    seen = handle_torch_function(wisp.sin, (plain,), plain)
    assert type(seen) is Plain


def test_modules_and_optimisers_take_subclasses(plain):
    layer = wisp.nn.Linear(3, 2)
    result = layer(plain)
    assert type(result) is Plain
    result.sum().backward()
    assert layer.weight.grad is not None
    layer.weight.grad = layer.weight.grad.as_subclass(Plain)
    wisp.optim.SGD(layer.parameters(), lr=0.1).step()
