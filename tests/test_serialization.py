"""save and load: what comes back of what was saved. Files as such are in test_saved_files.py."""

import datetime
import decimal
import enum
import io
import math
import os
import pathlib
import pickle
import uuid
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from typing import ClassVar

import numpy as np
import pytest

import wisp
from tests import fresh
from wisp import nn
from wisp.serialization import FileError

Point = namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Settings:
    """A class of a user's."""

    def __init__(self, **values):
        self.__dict__.update(values)


class Slotted:
    __slots__ = ("a", "b")


class Talkative:
    """A class whose code would be run if it were let."""

    said: ClassVar[list] = []

    def __new__(cls, *args):
        cls.said.append("new")
        return super().__new__(cls)

    def __setstate__(self, state):
        self.said.append("setstate")


class Names(dict):
    pass


def again(obj, **options):
    """What loading gives of what saving wrote."""
    file = io.BytesIO()
    wisp.save(obj, file)
    file.seek(0)
    found = wisp.load(file, **options)
    assert file.tell() == len(file.getvalue())
    return found


def same(got, want):
    assert type(got) is type(want)
    assert got.dtype is want.dtype and got.shape == want.shape and got.requires_grad == want.requires_grad
    assert wisp.equal(got, want)


# --- plain data

VALUES = [
    None, True, False, 0, -3, 2**53 + 1, -(10**50), 1.5, -0.0, 1e308, 5e-324, math.inf, -math.inf, 1 + 2j, complex(math.inf, -0.0),
    "", "text", "Grüße\n\0\ud800", b"", b"\x00\xff", bytearray(b"ab"), ..., wisp.float32, wisp.bool, wisp.device("cpu"),
    wisp.Size([2, 3]), wisp.Size([]), [], (), {}, set(), frozenset(), [1, [2, (3, {4: 5})]], (1,), {"a": 1, 2: "b", None: 3, (1, "x"): 4},
    {True: 1, 2.5: 2, b"k": 3, frozenset({1}): 4}, {1, "a"}, frozenset({(1, 2)}), OrderedDict(b=1, a=2), Counter("hello"),
    defaultdict(list, {1: [2]}), defaultdict(None, a=1), deque([1, 2], 3), range(2, 9, 3), slice(1, None, 2), Point(1, [2]),
    datetime.date(2020, 2, 29), datetime.timedelta(days=1), decimal.Decimal("1.10"), pathlib.PurePosixPath("a/b"),
    pathlib.Path("c"), uuid.UUID(int=5), datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc), datetime.time(1, 2),
    np.float32(1.5), np.int64(-7), np.bool_(True), np.complex128(1j), np.str_("s"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:40])
def test_plain_data_comes_back_as_it_was(value):
    got = again(value)
    assert type(got) is type(value)
    assert got == value
    assert repr(got) == repr(value)


def test_nan_comes_back():
    assert math.isnan(again(math.nan))
    assert math.isnan(again({"a": complex(math.nan, 1)})["a"].real)


def test_a_default_factory_still_works():
    got = again(defaultdict(list, a=[1]))
    got["b"].append(2)
    assert got == {"a": [1], "b": [2]}


def test_one_object_stays_one_object():
    inner, weight = [1], wisp.ones(2)
    got = again({"a": inner, "b": inner, "t": weight, "u": (weight, inner)})
    assert got["a"] is got["b"] is got["u"][1]
    assert got["t"] is got["u"][0]


def test_structures_that_contain_themselves():
    around = [1]
    around.append(around)
    got = again(around)
    assert got[1] is got

    inside = {}
    inside["tuple"] = (inside,)
    got = again(inside)
    assert got["tuple"][0] is got


def test_deep_structures_load_as_deep_as_they_can_be_saved():
    deep = []
    for _ in range(150):
        deep = [deep]
    assert again(deep) == deep
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(RecursionError):
        again(deep)


def test_named_tuples_the_program_does_not_know_become_tuples():
    local = namedtuple("local", "a b")
    got = again(local(1, 2))
    assert type(got) is tuple
    assert got == (1, 2)


@pytest.mark.parametrize(
    "dtype", ["float32", "int16", "bool", "complex128", "float16", ">f8", "U3", "S2", "datetime64[s]"]
)
def test_numpy_arrays(dtype):
    array = np.arange(6).reshape(2, 3).astype(dtype)
    for made in (array, array.T, array[:, :0], array[0, 0:1]):
        got = again({"x": made})["x"]
        assert got.dtype == made.dtype and got.shape == made.shape
        assert (got == made).all()


def test_numpy_arrays_can_be_written_to():
    got = again(np.arange(3))
    got[0] = 9
    assert got.tolist() == [9, 1, 2]


def test_numpy_objects_are_refused():
    with pytest.raises(TypeError, match=r"dtype object at \['x'\]"):
        again({"x": np.array([None])})


# --- tensors

DTYPES = [wisp.bool, wisp.uint8, wisp.int8, wisp.int16, wisp.int32, wisp.int64, wisp.float16, wisp.bfloat16, wisp.float32,
          wisp.float64, wisp.complex64, wisp.complex128]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_of_every_dtype(dtype):
    x = wisp.arange(24).to(dtype).reshape(2, 3, 4)
    for t in (x, x[0, 0, 0], x[:0], x.permute(2, 0, 1), x[:, 1:, ::2], x[:1].expand(5, 3, 4)):
        got = again({"t": t})["t"]
        same(got, t)


def test_bits_come_back_as_they_were():
    odd = wisp.tensor([0x7FC00001, -0x80000000, 1, 0x7F800000], dtype=wisp.int32).view(wisp.float32)
    assert again(odd).view(wisp.int32).tolist() == odd.view(wisp.int32).tolist()


def test_dense_strides_are_kept_and_gaps_are_not():
    image = wisp.randn(2, 3, 4, 5).to(memory_format=wisp.channels_last)
    assert again(image).stride() == image.stride()
    assert again(wisp.randn(4, 6)[:, ::2]).is_contiguous()
    assert again(wisp.ones(1).expand(1000)).untyped_storage().nbytes() == 4


def test_only_what_is_seen_of_a_tensor_is_written():
    file = io.BytesIO()
    wisp.save(wisp.zeros(100_000)[:3], file)
    assert len(file.getvalue()) < 2000


def test_shared_memory_stays_shared():
    base = wisp.arange(12.0).reshape(3, 4)
    whole = {
        "base": base,
        "row": base[1],
        "turned": base.t(),
        "again": base.detach(),
        "bytes": base.view(wisp.uint8)[2],
    }
    got = again(whole)
    for name, tensor in whole.items():
        same(got[name], tensor)
        assert got[name].stride() == tensor.stride()
    got["row"].fill_(-1)
    assert got["base"][1].tolist() == got["turned"][:, 1].tolist() == got["again"][1].tolist() == [-1] * 4


def test_parts_that_overlap_without_an_owner_share_too():
    memory = wisp.arange(100)
    got = again([memory[10:20], memory[15:30:5]])
    assert got[0].tolist() == list(range(10, 20))
    assert got[1].tolist() == [15, 20, 25]
    got[0].zero_()
    assert got[1].tolist() == [0, 20, 25]
    assert got[0].untyped_storage().nbytes() < 200


def test_complex_and_real_views_share():
    z = wisp.randn(3, dtype=wisp.complex128)
    got = again([z, wisp.view_as_real(z)])
    same(got[0], z)
    got[1].zero_()
    assert got[0].abs().sum() == 0


def test_parameters_and_gradients_wanted():
    weight, frozen, plain = (
        nn.Parameter(wisp.ones(2)),
        nn.Parameter(wisp.ones(1), requires_grad=False),
        wisp.ones(1, requires_grad=True),
    )
    got = again([weight, frozen, plain, (plain * 2)])
    same(got[0], weight)
    same(got[1], frozen)
    same(got[2], plain)
    assert got[3].is_leaf and got[3].requires_grad


def test_attributes_of_tensors():
    x = wisp.ones(2)
    x.note = {"made": "here"}
    assert again(x).note == {"made": "here"}
    assert isinstance(again(nn.Buffer(wisp.ones(1), persistent=False)), nn.Buffer)


def test_lazy_parameters():
    got = again(nn.LazyLinear(3).state_dict())
    assert nn.parameter.is_lazy(got["weight"])


def test_storages():
    assert again(wisp.tensor([1, 2], dtype=wisp.int16).untyped_storage()).tolist() == [1, 0, 2, 0]
    assert again(wisp.tensor([1, 2]).storage()).tolist() == [1, 2]


def test_state_dicts_keep_their_metadata():
    state = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).state_dict()
    got = again(state)
    assert type(got) is OrderedDict
    assert list(got) == list(state)
    assert got._metadata == state._metadata


def test_optimizers_and_schedulers_resume():
    def made():
        model = nn.Linear(3, 2)
        optimizer = wisp.optim.Adam(model.parameters(), lr=0.1)
        return model, optimizer, wisp.optim.lr_scheduler.StepLR(optimizer, 1, 0.5)

    def step(model, optimizer, scheduler):
        optimizer.zero_grad()
        model(wisp.ones(1, 3)).square().sum().backward()
        optimizer.step()
        scheduler.step()

    one, other = made(), made()
    step(*one)
    saved = again([part.state_dict() for part in one])
    for part, state in zip(other, saved):
        part.load_state_dict(state)
    step(*one)
    step(*other)
    assert wisp.equal(one[0].weight, other[0].weight)


# --- other objects: only with trust


def test_objects_need_trust():
    with pytest.raises(pickle.UnpicklingError, match=r"Weights only load failed.*Settings.*add_safe_globals"):
        again({"s": Settings(a=1)})
    assert again({"s": Settings(a=1)}, weights_only=False)["s"].a == 1
    with wisp.serialization.safe_globals([Settings]):
        assert again(Settings(a=wisp.ones(1)), weights_only=True).a == 1
    with pytest.raises(FileError):
        again(Settings())


def test_safe_globals_are_remembered_until_cleared():
    assert wisp.serialization.get_safe_globals() == []
    wisp.serialization.add_safe_globals([Settings, (Colour, "somewhere.Else")])
    assert wisp.serialization.get_safe_globals() == [Settings, (Colour, "somewhere.Else")]
    assert again(Settings(b=2)).b == 2
    wisp.serialization.clear_safe_globals()
    assert wisp.serialization.get_safe_globals() == []


def test_modules_and_optimizers_as_objects():
    model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.BatchNorm1d(3))
    model[0].tied = model[1]
    optimizer = wisp.optim.Adam(model.parameters())
    model(wisp.randn(4, 2)).square().sum().backward()
    optimizer.step()
    with pytest.raises(FileError, match="wisp.nn.modules"):
        again(model)
    got = again({"model": model, "optimizer": optimizer}, weights_only=False)
    assert repr(got["model"]) == repr(model)
    assert got["model"][0].tied is got["model"][1]
    assert got["optimizer"].param_groups[0]["params"][0] is got["model"][0].weight
    assert wisp.equal(
        got["optimizer"].state_dict()["state"][0]["exp_avg"], optimizer.state_dict()["state"][0]["exp_avg"]
    )


def test_functions_of_ours_are_saved_by_name():
    layer = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0)
    got = again(layer, weights_only=False)
    x = wisp.randn(1, 3, 4)
    assert wisp.equal(got(x), layer(x))


def test_the_code_of_classes_is_not_called_without_trust():
    made = Talkative()
    made.x = 1
    Talkative.said.clear()
    with pytest.raises(FileError, match="__setstate__"):
        again(made, weights_only=False)
    assert Talkative.said == []
    with wisp.serialization.safe_globals([Talkative]):
        again(made)
    assert Talkative.said == ["setstate"]


def test_enumerations_slots_and_subclasses_of_dict():
    slotted = Slotted()
    slotted.a, slotted.b = 1, wisp.ones(1)
    got = again([Colour.BLUE, slotted, Names(x=1)], weights_only=False)
    assert got[0] is Colour.BLUE
    assert (got[1].a, got[1].b.item()) == (1, 1)
    assert type(got[2]) is Names and got[2] == {"x": 1}
    with pytest.raises(FileError, match="Colour"):
        again(Colour.BLUE)


def test_what_has_no_name_cannot_be_saved():
    with pytest.raises(TypeError, match=r"<lambda>.* at \['act'\]\[0\] cannot be saved"):
        again({"act": [lambda x: x]})
    with pytest.raises(TypeError, match="cannot be saved"):
        again(i for i in [1])


def test_names_of_the_standard_library_stay_refused():
    with pytest.raises(FileError, match=r"posix.system|os.system|nt.system"):
        again({"run": os.system}, weights_only=False)


def test_what_a_module_has_imported_is_not_its_own():
    trust = wisp.serialization._trust.Trust(weights_only=False)
    for name in ("os.system", "os", "pathlib.Path", "wisp.save", "pytest.main"):
        with pytest.raises(FileError):
            trust.find(__name__, name)
    assert trust.find(__name__, "Settings") is Settings


def test_naming_something_does_not_import_it():
    code = """
import io, sys, wisp
file = io.BytesIO()
wisp.save(0, file)
trust = wisp.serialization._trust
assert trust.imported("wisp", "fft") is None and "wisp.fft" not in sys.modules
for weights_only in (True, False):
    for name in (("this", "s"), ("wisp", "fft"), ("wisp.hub", "load"), ("antigravity", "webbrowser")):
        try:
            trust.Trust(weights_only).find(*name)
        except wisp.serialization.FileError:
            assert not {"this", "wisp.fft", "wisp.hub", "antigravity"} & set(sys.modules)
        else:
            raise AssertionError(name)
"""
    fresh.python(code)


def test_what_would_be_refused_can_be_listed():
    file = io.BytesIO()
    wisp.save([Settings(), nn.ReLU(), Point(1, 2), wisp.ones(1), datetime.date(2020, 1, 1)], file)
    file.seek(0)
    assert wisp.serialization.get_unsafe_globals_in_checkpoint(file) == [
        "tests.test_serialization.Settings"
        if Settings.__module__.startswith("tests.")
        else f"{Settings.__module__}.Settings",
        "wisp.nn.modules.activation.ReLU",
    ]


def test_loading_to_where_nothing_is(tmp_path):
    """On "meta" tensors have shapes and share storages as in the file, without contents."""
    x = wisp.arange(6.0).reshape(2, 3)
    wisp.save({"x": x, "t": x.t()[1:]}, tmp_path / "x.pt")
    for where in ("meta", wisp.device("meta"), {"cpu": "meta"}):
        found = wisp.load(tmp_path / "x.pt", map_location=where)
        assert found["x"].device.type == "meta" and found["x"].shape == (2, 3) and found["t"].stride() == (1, 3)
        assert found["x"].untyped_storage() is found["t"].untyped_storage()
        assert "of size 24" in repr(found["x"].untyped_storage())
