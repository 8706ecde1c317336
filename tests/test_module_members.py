"""Members of modules as attributes, in all the ways that programs reach for them."""

import abc
import copy
import pickle
from collections import OrderedDict

import pytest

import wisp
from wisp import nn


class Wrapper(nn.Module):
    """Looks for what it does not have in the module it wraps, as many libraries do."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.scale = nn.Parameter(wisp.ones(1))
        self.register_buffer("offset", wisp.zeros(1))

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name == "inner":
                raise
            return getattr(self.inner, name)


def test_classes_may_look_for_attributes_themselves():
    wrapped = Wrapper(nn.Linear(3, 2))
    assert wrapped.in_features == 3
    assert wrapped.weight is wrapped.inner.weight
    assert wrapped.scale.shape == (1,) and wrapped.offset.shape == (1,)
    assert super(Wrapper, wrapped).__getattr__("scale") is wrapped.scale
    assert super(Wrapper, wrapped).__getattr__("inner") is wrapped.inner
    with pytest.raises(AttributeError, match="'Linear' object has no attribute 'nothing'"):
        wrapped.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="'Wrapper' object has no attribute 'nothing'"):
        super(Wrapper, wrapped).__getattr__("nothing")


def test_copies_of_modules_that_look_for_attributes_themselves():
    wrapped = Wrapper(nn.Linear(3, 2))
    for made in (copy.copy(wrapped), copy.deepcopy(wrapped), pickle.loads(pickle.dumps(wrapped))):
        assert made.in_features == 3
        assert wisp.equal(made.weight, wrapped.weight)


def test_mixins_and_subclasses_may_look_for_attributes_too():
    class Mixin:
        def __getattr__(self, name):
            return 7 if name == "seven" else super().__getattr__(name)

    class Mixed(Mixin, nn.Linear):
        pass

    class Deeper(Mixed, abc.ABC):
        def __getattr__(self, name):
            return 8 if name == "eight" else super().__getattr__(name)

    layer = Deeper(1, 1)
    assert (layer.seven, layer.eight) == (7, 8)
    with pytest.raises(AttributeError, match="'Deeper' object has no attribute 'nine'"):
        layer.nine  # noqa: B018
    assert issubclass(Deeper, nn.Linear) and Mixed.__mro__.count(nn.Module) == 1


class Asked(nn.Module):
    """Wants to see every parameter that is read."""

    def __init__(self):
        super().__init__()
        self.__dict__["seen"] = []
        self.weight = nn.Parameter(wisp.ones(1))
        self.register_buffer("mean", wisp.zeros(1))
        self.inner = nn.Linear(1, 1)

    def __getattr__(self, name):
        found = super().__getattr__(name)
        self.seen.append(name)
        return found


def test_classes_that_look_for_attributes_are_asked_for_members():
    module = Asked()
    module.seen.clear()
    assert module.weight is module._parameters["weight"] and module.mean is module._buffers["mean"]
    module.inner(wisp.ones(1))
    assert module.seen == ["weight", "mean", "inner"]
    module.weight = nn.Parameter(wisp.zeros(1))
    assert module.weight.item() == 0
    del module.mean
    assert not hasattr(module, "mean") and list(module.state_dict()) == ["weight", "inner.weight", "inner.bias"]
    made = pickle.loads(pickle.dumps(module))
    made.double()
    assert made.weight.dtype is wisp.float64 and made.seen[-1] == "weight"


def test_members_are_kept_as_the_new_class_of_a_module_wants_them():
    class Watched(nn.Linear):
        seen = 0

        def __getattr__(self, name):
            Watched.seen += 1
            return super().__getattr__(name)

    layer = nn.Linear(2, 1)
    weight = layer.weight
    layer.__class__ = Watched
    assert layer.weight is weight and Watched.seen == 1
    layer.__class__ = nn.Linear
    assert layer.weight is weight and Watched.seen == 1
    layer.bias = None
    assert layer._parameters["bias"] is None and layer(wisp.ones(2)).shape == (1,)


def test_modules_without_getattr_are_left_as_they_are():
    class Plain(nn.Linear):
        pass

    assert Plain.__bases__ == (nn.Linear,)
    assert not hasattr(Plain, "__getattr__")  # it would make every attribute slower


def test_all_members_of_a_kind_can_be_assigned():
    layer = nn.Linear(2, 2)
    weight = layer.weight
    layer._parameters = OrderedDict(weight=weight, extra=nn.Parameter(wisp.ones(1)))
    assert layer.extra.shape == (1,) and layer.weight is weight
    assert not hasattr(layer, "bias")
    layer.extra = nn.Parameter(wisp.ones(3))
    assert layer._parameters["extra"].shape == layer.extra.shape == (3,)


def test_a_replica_made_by_hand_does_not_change_the_original():
    layer = nn.Linear(2, 2)
    replica = layer.__new__(type(layer))
    replica.__dict__ = layer.__dict__.copy()
    replica._parameters = replica._parameters.copy()
    replica.weight = nn.Parameter(wisp.zeros(2, 2))
    assert replica.weight.sum() == 0
    assert layer.weight is layer._parameters["weight"] and layer.weight.sum() != 0


class Stateful(nn.BatchNorm1d):
    """Leaves something out of its pickles, in the usual way."""

    def __getstate__(self):
        state = self.__dict__.copy()
        state["cache"] = None
        return state

    def __setstate__(self, state):
        self.__dict__.update(state)


def test_modules_that_pickle_themselves_stay_whole():
    module = Stateful(2)
    for made in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        made.double()
        assert made.running_mean.dtype is wisp.float64 and made.weight.dtype is wisp.float64
        made.weight = nn.Parameter(wisp.ones(2))
        assert made.weight is made._parameters["weight"]
        assert made.cache is None
    assert module.running_mean.dtype is wisp.float32


def test_a_copy_has_members_of_its_own():
    module = nn.BatchNorm1d(2)
    made = copy.copy(module)
    made.weight = None
    made.register_buffer("more", wisp.ones(1), persistent=False)
    assert module.weight is not None and made.bias is module.bias
    assert not hasattr(module, "more") and not module._non_persistent_buffers_set


@pytest.mark.parametrize(
    ("make", "name", "value", "message"),
    [
        (lambda: nn.Linear(1, 1), "weight", nn.ReLU(), "cannot assign 'wisp.nn.modules.activation.ReLU' as parameter"),
        (
            lambda: nn.Linear(1, 1),
            "weight",
            wisp.ones(1),
            r"as parameter 'weight' \(wisp.nn.Parameter or None expected",
        ),
        (lambda: nn.Linear(1, 1), "bias", nn.Buffer(wisp.ones(1)), "as parameter 'bias'"),
        (lambda: nn.Sequential(nn.ReLU()), "0", nn.Buffer(wisp.ones(1)), "as child module '0'"),
        (lambda: nn.Sequential(nn.ReLU()), "0", 3, "cannot assign 'int' as child module '0'"),
        (
            lambda: nn.BatchNorm1d(1),
            "running_mean",
            3,
            r"as buffer 'running_mean' \(wisp.nn.Buffer, wisp.Tensor or None",
        ),
    ],
)
def test_a_member_is_replaced_by_its_like(make, name, value, message):
    module = make()
    before = getattr(module, name)
    with pytest.raises(TypeError, match=message):
        setattr(module, name, value)
    assert getattr(module, name) is before


def test_parameters_replace_anything_and_modules_replace_buffers():
    module = nn.BatchNorm1d(1)
    module.running_mean = nn.Parameter(wisp.ones(1))
    module.running_var = nn.ReLU()
    assert list(module._parameters) == ["weight", "bias", "running_mean"]
    assert list(module._modules) == ["running_var"] and list(module._buffers) == ["num_batches_tracked"]


def test_containers_keep_their_children_when_an_insertion_fails():
    for container in (nn.ModuleList([nn.ReLU()]), nn.Sequential(nn.ReLU())):
        with pytest.raises((TypeError, AssertionError)):
            container.insert(0, 3)
        assert len(container) == 1 and isinstance(container[0], nn.ReLU)
    named = nn.ParameterDict({"a": wisp.ones(1)})
    with pytest.raises(KeyError):
        named["x.y"] = wisp.ones(1)
    assert list(named) == ["a"] and len(named.state_dict()) == 1


# --- hooks, where other code looks for them


def test_hooks_are_kept_as_they_were_given():
    layer = nn.Linear(1, 1)

    def before(module, args):
        pass

    def after(module, args, kwargs, output):
        pass

    first = layer.register_forward_pre_hook(before)
    second = layer.register_forward_hook(after, with_kwargs=True, always_call=True)
    assert list(layer._forward_pre_hooks.values()) == [before]
    assert list(layer._forward_hooks.values()) == [after]
    assert second.id in layer._forward_hooks_with_kwargs and second.id in layer._forward_hooks_always_called
    first.remove()
    second.remove()
    assert not layer._forward_pre_hooks and not layer._forward_hooks_with_kwargs
    assert not layer._forward_hooks_always_called


def test_hooks_can_be_put_and_cleared_by_hand():
    layer, seen = nn.Linear(1, 1), []
    layer._forward_hooks[99] = lambda module, args, output: seen.append(1)
    layer(wisp.ones(1))
    layer._forward_hooks.clear()
    layer(wisp.ones(1))
    layer._forward_hooks = OrderedDict({5: lambda module, args, output: seen.append(2)})
    layer(wisp.ones(1))
    assert seen == [1, 2]


def test_one_kind_of_backward_hooks_at_a_time():
    layer = nn.Linear(1, 1)
    assert layer._is_full_backward_hook is None
    handle = layer.register_full_backward_hook(lambda *args: None)
    assert layer._is_full_backward_hook is True and len(layer._backward_hooks) == 1
    with pytest.raises(RuntimeError, match="Cannot use both"):
        layer.register_backward_hook(lambda *args: None)
    handle.remove()
    assert not layer._backward_hooks


def test_hooks_that_are_always_called_see_the_result_if_there_is_one():
    def fail(*args):
        raise KeyError("hook")

    layer, seen = nn.Linear(1, 1), []
    layer.register_forward_hook(fail)
    layer.register_forward_hook(lambda module, args, output: seen.append(output), always_call=True)
    with pytest.raises(KeyError):
        layer(wisp.ones(1))
    assert seen[0].shape == (1,)


def test_backward_hooks_without_gradients_of_inputs_get_none_for_each():
    class Sum(nn.Linear):
        def forward(self, x, y):
            return super().forward(x + y)

    module, seen = Sum(1, 1), []
    module.register_full_backward_hook(
        lambda module, grad_input, grad_output: seen.append((grad_input, len(grad_output)))
    )
    with pytest.warns(UserWarning, match="none of its inputs requires grad"):
        module(wisp.ones(1), wisp.ones(1)).sum().backward()
    assert seen == [((None, None), 1)]
    module.register_full_backward_hook(lambda module, grad_input, grad_output: (wisp.ones(1), None))
    with pytest.warns(UserWarning), pytest.raises(RuntimeError, match="no input requires gradient"):
        module(wisp.ones(1), wisp.ones(1)).sum().backward()


def test_backward_hooks_leave_tensors_without_gradient_alone():
    class Two(nn.Module):
        def forward(self, x, y):
            self.required = x.requires_grad, y.requires_grad
            return x * y, y

    module, seen = Two(), []
    module.register_full_backward_hook(lambda module, *grads: seen.append(grads))
    product, same = module(wisp.full((1,), 2.0, requires_grad=True), wisp.full((1,), 3.0))
    assert module.required == (True, False) and not same.requires_grad
    product.sum().backward()
    ((grad_input, grad_output),) = seen
    assert grad_input[0].tolist() == [3.0] and grad_output[0].tolist() == [1.0]
    assert grad_input[1] is None and grad_output[1] is None


def test_backward_hooks_of_outputs_that_are_not_used():
    class Two(nn.Module):
        def forward(self, x, y):
            return x * 2, y * 3

    module, seen = Two(), []
    module.register_full_backward_hook(lambda module, *grads: seen.append(grads))
    x, y = (wisp.ones(1, requires_grad=True) for _ in range(2))
    module(x, y)[0].sum().backward()
    ((grad_input, grad_output),) = seen
    assert [g.tolist() for g in grad_input] == [[2.0], [0.0]]
    assert grad_output[0].tolist() == [1.0] and grad_output[1] is None


def test_backward_hooks_of_other_results_warn_and_rest():
    class Named(nn.Module):
        def forward(self, x):
            return {"result": x * 2}

    module, seen = Named(), []
    module.register_full_backward_hook(lambda *args: seen.append(args))
    x = wisp.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="should be a Tensor or a tuple of Tensors"):
        module(x)["result"].sum().backward()
    assert not seen and x.grad.tolist() == [2.0]


# --- state


def test_hooks_on_state_return_nothing_unless_private():
    layer = nn.Linear(1, 1)
    handle = layer.register_state_dict_post_hook(lambda module, state, prefix, metadata: {})
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        layer.state_dict()
    handle.remove()
    layer._register_state_dict_hook(lambda module, state, prefix, metadata: {"other": 1})
    assert layer.state_dict() == {"other": 1}
    assert len(layer._state_dict_hooks) == 1 and not layer._load_state_dict_pre_hooks


def test_hooks_on_loading_belong_to_the_copy():
    layer, seen = nn.Linear(1, 1), []
    layer.register_load_state_dict_pre_hook(_Note(seen))
    made = copy.deepcopy(layer)
    made.load_state_dict(layer.state_dict())
    (hook,) = made._load_state_dict_pre_hooks.values()
    assert hook.hook.seen == [id(made)] and not seen


class _Note:
    def __init__(self, seen):
        self.seen = seen

    def __call__(self, module, *args):
        self.seen.append(id(module))


def test_assigned_parameters_are_trained_as_those_they_replace():
    layer = nn.Linear(1, 1)
    layer.bias.requires_grad_(False)
    given = nn.Parameter(wisp.ones(1))
    layer.load_state_dict({"weight": wisp.ones(1, 1), "bias": given}, assign=True)
    assert layer.bias is given and not given.requires_grad
    assert layer.weight.requires_grad


def test_missing_keys_come_before_unexpected_ones():
    with pytest.raises(RuntimeError, match=r'(?s)Missing key.*"bias".*Unexpected key.*"other"'):
        nn.Linear(1, 1).load_state_dict({"weight": wisp.ones(1, 1), "other": wisp.ones(1)})


class CallsItsOwn(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(wisp.ones(2))

    def fill(self, values):
        return [self.__getattr__(name).data.fill_(value) for name, value in values.items()]


def test_methods_may_call_getattr_by_its_name():
    class Derived(CallsItsOwn):
        pass

    module = Derived()
    module.fill({"weight": 3.0})
    assert module.weight.tolist() == [3, 3]
    with pytest.raises(AttributeError, match="'Derived' object has no attribute 'absent'"):
        module.fill({"absent": 1.0})
    assert not hasattr(nn.Linear, "__getattr__")


def test_second_derivatives_do_not_call_backward_hooks_again():
    seen = []
    loss = wisp.nn.MSELoss()
    loss.register_full_backward_hook(lambda *args: seen.append(args))
    x = wisp.rand(3, requires_grad=True)
    (grad,) = wisp.autograd.grad(loss(x, wisp.zeros(3)), x, create_graph=True)
    wisp.autograd.grad(grad.sum(), x)
    assert len(seen) == 1
