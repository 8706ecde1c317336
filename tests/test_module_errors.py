"""Errors inside networks: they say which module, what it was given, and who called it. And state dicts that do not fit."""

import inspect
import pickle
import traceback

import pytest

import wisp
from wisp import nn
from wisp.nn.modules import _where


class Block(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc1 = nn.Linear(size, 4)

    def forward(self, x, scale=1):
        return self.fc1(x) * scale  # the line that is named


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Block(4), Block(4), Block(4), Block(5)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x):
        return self.encoder(x)


def note_of(call, kind=RuntimeError):
    with pytest.raises(kind) as caught:
        call()
    (note,) = notes(caught.value)
    assert note in "".join(traceback.format_exception(caught.type, caught.value, caught.tb))
    return note


HAS_NOTES = hasattr(Exception, "add_note")  # else, in Python 3.10, messages have the note at their end


def notes(error):
    if HAS_NOTES:
        return getattr(error, "__notes__", [])
    return ["in module " + part for part in str(error).split("\nin module ")[1:]]


def line_of(function, text):
    lines, start = inspect.getsourcelines(function)
    return start + next(i for i, line in enumerate(lines) if text in line)


def test_a_wrong_shape_names_the_module_the_shapes_and_the_line():
    first, second, third = note_of(lambda: Net()(wisp.ones(2, 4))).splitlines()
    assert first == "in module encoder.layers.3.fc1 of Net: Linear(in_features=5, out_features=4, bias=True)"
    assert second == "  given a tensor [2, 4] of float32"
    assert third == f"  called at {__file__}:{line_of(Block.forward, 'is named')} in forward"


def test_type_and_message_stay():
    with pytest.raises(RuntimeError) as direct:
        nn.functional.linear(wisp.ones(2, 4), wisp.ones(4, 5), wisp.ones(4))
    with pytest.raises(RuntimeError) as inside:
        Net()(wisp.ones(2, 4))
    assert type(inside.value) is type(direct.value)
    assert str(inside.value).partition("\nin module")[0] == str(direct.value)
    assert "(2x4 and 5x4)" in str(inside.value)


def test_the_outermost_module_itself():
    first, _, third = note_of(lambda: nn.Linear(3, 4)(wisp.ones(2, 5))).splitlines()
    assert first == "in module Linear(in_features=3, out_features=4, bias=True)"
    assert third.startswith(f"  called at {__file__}:")


def test_containers_are_part_of_the_path_but_not_of_the_users_lines():
    net = nn.Sequential(nn.Sequential(nn.ReLU(), nn.Linear(3, 4)), nn.Linear(5, 6))
    first, _, third = note_of(lambda: net(wisp.ones(2, 9))).splitlines()
    assert first.startswith("in module 0.1 of Sequential: Linear(")
    assert third.startswith(f"  called at {__file__}:")
    assert note_of(lambda: net(wisp.ones(2, 3))).startswith("in module 1 of Sequential: Linear(")


def test_an_error_in_a_forward_of_ones_own():
    class Own(nn.Module):
        def forward(self, x, how=None):
            raise ValueError("mine")

    class Outer(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Own()

        def forward(self, *args, **kwargs):
            return self.part(*args, **kwargs)

    note = note_of(lambda: Outer()([wisp.ones(1), wisp.ones(2, dtype=wisp.int64)], how="x"), ValueError)
    assert "in module part of Outer: Own()" in note
    assert "given a list of (a tensor [1] of float32, a tensor [2] of int64), how=a str" in note
    assert "given nothing" in note_of(lambda: Outer()(), TypeError)
    assert "given 1, None, 2.0, True, a dict, a str, ..." in note_of(
        lambda: Outer()(1, None, 2.0, True, {}, "s", 7), TypeError
    )


def test_modules_that_are_nobodys_children_go_by_their_class():
    hidden = [nn.Linear(3, 4)]

    class Holder(nn.Module):
        def forward(self, x):
            return hidden[0](x)

    assert "in module (Linear) of Holder: Linear(" in note_of(lambda: Holder()(wisp.ones(1, 2)))


def test_a_shared_module_goes_by_the_way_it_was_called():
    shared = Block(5)
    net = nn.ModuleDict({"a": nn.Sequential(shared), "b": nn.Sequential(shared)})

    class Twice(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = net

        def forward(self, x):
            return self.parts["b"](x)

    assert "in module parts.b.0.fc1 of Twice" in note_of(lambda: Twice()(wisp.ones(1, 4)))


def test_hooks_do_not_hide_the_path():
    net = Net()
    net.encoder.register_forward_hook(lambda *args: None)
    net.encoder.layers[3].fc1.register_forward_pre_hook(lambda *args: None)
    assert "in module encoder.layers.3.fc1 of Net" in note_of(lambda: net(wisp.ones(2, 4)))


def test_a_failing_hook_is_placed_too():
    net = Net()
    net.encoder.layers[0].register_forward_hook(lambda *args: 1 / 0)
    assert "in module encoder.layers.0 of Net: Block(...)" in note_of(lambda: net(wisp.ones(2, 4)), ZeroDivisionError)


def test_lazy_modules_too():
    net = nn.Sequential(nn.LazyLinear(4), nn.LazyConv2d(1, 3))
    assert "in module 1 of Sequential: " in note_of(lambda: net(wisp.ones(2, 3)))


def test_there_is_one_note_however_often_an_error_passes():
    net = Net()

    class Retry(nn.Module):
        def forward(self, x):
            try:
                return net(x)
            except RuntimeError as error:
                raise error from None

    note_of(lambda: Retry()(wisp.ones(2, 4)))
    error = ValueError("again")

    class Raises(nn.Module):
        def forward(self):
            raise error

    for _ in range(3):
        with pytest.raises(ValueError, match="again"):
            Raises()()
    assert len(notes(error)) == 1


def test_an_error_that_a_module_handles_leaves_no_trace():
    class Careful(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc = nn.Linear(3, 4)

        def forward(self, x):
            try:
                return self.fc(x)
            except RuntimeError as error:
                return notes(error)

    assert Careful()(wisp.ones(2, 9)) == []


def test_a_repr_that_fails_does_not_hide_the_error():
    class Odd(nn.Module):
        def forward(self, x):
            raise ValueError("the real one")

        def __repr__(self):
            raise RuntimeError("no repr")

    with pytest.raises(ValueError, match="the real one") as caught:
        Odd()(1)
    assert notes(caught.value) == []


def test_exits_and_interrupts_are_left_alone():
    class Stops(nn.Module):
        def forward(self, error):
            raise error

    for error in (KeyboardInterrupt(), SystemExit(3)):
        with pytest.raises(type(error)) as caught:
            Stops()(error)
        assert notes(caught.value) == []


def test_endless_recursion_is_still_a_recursion_error():
    class Endless(nn.Module):
        def forward(self, x):
            return self(x)

    with pytest.raises(RecursionError):
        Endless()(1)


def test_errors_with_a_path_can_be_pickled():
    with pytest.raises(RuntimeError) as caught:
        Net()(wisp.ones(2, 4))
    again = pickle.loads(pickle.dumps(caught.value))
    assert str(again) == str(caught.value)
    assert notes(again) == notes(caught.value) != []


def test_without_notes_the_message_has_the_path():
    class Old(ValueError):  # as in Python 3.10, which has no notes
        add_note = property()

    class OldKey(KeyError):
        add_note = property()

    error = Old("short")
    _where._add_note(error, "in module x")
    assert error.args == ("short\nin module x",)
    for other in (Old(5), Old("text", 1), Old(), OldKey("key")):  # what is not a message stays as it is
        before = other.args
        _where._add_note(other, "in module x")
        assert other.args == before


# --- state dicts that do not fit


def test_names_that_are_missing_are_explained_by_names_like_them():
    net = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    state = {("module." + name): value for name, value in net.state_dict().items()}
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    text = str(caught.value)
    assert "Error(s) in loading state_dict for Sequential" in text
    assert '"0.weight"' in text
    assert '"module.0.weight"' in text


def test_all_that_is_wrong_is_said_at_once():
    net = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    state = net.state_dict()
    state["0.weigth"] = state.pop("0.weight")
    state["1.bias"] = wisp.ones(7)
    with pytest.raises(RuntimeError) as caught:
        net.load_state_dict(state)
    text = str(caught.value)
    assert "size mismatch for 1.bias" in text
    assert "0.weigth" in text
    assert '"0.weight"' in text


def test_without_strict_the_names_are_returned():
    net = nn.Linear(2, 3)
    result = net.load_state_dict({"weight": wisp.ones(3, 2), "other": wisp.ones(1)}, strict=False)
    assert (result.missing_keys, result.unexpected_keys) == (["bias"], ["other"])
    assert net.weight.sum().item() == 6
