"""Files of PyTorch's, read and written without it. Two recorded ones stand in tests/golden."""

import io
import pathlib
import pickle
import sys
import zipfile
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

import wisp
from tests import fresh, oracle
from wisp import nn
from wisp._storage import TypedStorage
from wisp.serialization import FileError
from wisp.serialization._torch_names import rebuild_tensor

GOLDEN = pathlib.Path(__file__).parent / "golden"
needs_torch = pytest.mark.skipif(not oracle.HAS_TORCH, reason="needs PyTorch")

# --- recorded files


@pytest.mark.parametrize("mmap", [True, False])
@pytest.mark.parametrize("name", ["torch_zip.pt", "torch_legacy.pt"])
def test_recorded_files(name, mmap):
    got = wisp.load(GOLDEN / name, mmap=mmap)
    assert type(got) is OrderedDict and got._metadata == {"": {"version": 1}}
    assert type(got["weight"]) is nn.Parameter and got["weight"].requires_grad
    assert type(got["frozen"]) is nn.Parameter and not got["frozen"].requires_grad
    assert got["weight"].tolist() == [[1, -2], [3, 0.5]]
    assert got["base"].tolist() == np.arange(12.0).reshape(3, 4).tolist()
    assert got["turned"].stride() == (1, 4)
    for key, dtype, values in [
        ("brain", wisp.bfloat16, [1.5, -3]), ("half", wisp.float16, [0.25]), ("double", wisp.float64, [1e-300]),
        ("c64", wisp.complex64, [1 + 2j]), ("c128", wisp.complex128, [3 - 4j]), ("flag", wisp.bool, [True, False]),
        ("empty", wisp.float32, []), ("scalar", wisp.int64, 7),
    ]:  # fmt: skip
        assert got[key].dtype is dtype and got[key].tolist() == values
    assert [t.dtype for t in got["ints"]] == [wisp.uint8, wisp.int8, wisp.int16, wisp.int32, wisp.int64]
    assert [t.item() for t in got["ints"]] == [0, 1, 2, 3, 4]
    assert got["empty"].shape == (0, 3)
    assert got["data"] == {
        "step": 3, (1, "x"): [None, True, 2**70, 1.5, 1 + 2j, b"\x00\xff", {1, 2}], "size": wisp.Size([2, 3]),
        "dtype": wisp.float16, "device": wisp.device("cpu"),
    }  # fmt: skip
    got["row"].fill_(-1)
    assert got["base"][1].tolist() == [-1] * 4


def test_tensors_lie_on_the_mapped_file():
    mapped, copied = (wisp.load(GOLDEN / "torch_zip.pt", mmap=mmap)["base"] for mmap in (True, False))
    assert not mapped.untyped_storage().resizable() and copied.untyped_storage().resizable()


def rezipped(change=lambda name, data: (name, data), **options):
    """The recorded zip file with members changed; None leaves one out."""
    file = io.BytesIO()
    with zipfile.ZipFile(GOLDEN / "torch_zip.pt") as old, zipfile.ZipFile(file, "w", **options) as new:
        for name in old.namelist():
            changed = change(name, old.read(name))
            if changed is not None:
                new.writestr(*changed)
    file.seek(0)
    return file


def test_compressed_archives():
    got = wisp.load(rezipped(compression=zipfile.ZIP_DEFLATED))
    assert got["weight"].tolist() == [[1, -2], [3, 0.5]]


def test_the_other_byte_order():
    widths = {"0": 4, "2": 4, "3": 2, "4": 2, "5": 8, "6": 4, "7": 8}

    def swapped(name, data):
        key = name.rpartition("/")[2]
        if name.endswith("byteorder"):
            return name, b"big" if sys.byteorder == "little" else b"little"
        if "/data/" in name and key in widths:
            return name, np.frombuffer(data, f"V{widths[key]}").view("u1").reshape(-1, widths[key])[:, ::-1].tobytes()
        return name, data

    got = wisp.load(rezipped(swapped))
    for key, values in {
        "weight": [[1, -2], [3, 0.5]],
        "brain": [1.5, -3],
        "double": [1e-300],
        "c64": [1 + 2j],
        "c128": [3 - 4j],
    }.items():
        assert got[key].tolist() == values


def test_files_without_a_byte_order_take_the_default():
    def without(name, data):
        return None if name.endswith("byteorder") else (name, data)

    assert wisp.load(rezipped(without))["scalar"].item() == 7
    wisp.serialization.set_default_load_endianness(wisp.serialization.LoadEndianness.BIG)
    try:
        assert wisp.load(rezipped(without))["scalar"].item() == 7 << 56
    finally:
        wisp.serialization.set_default_load_endianness(None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda n, d: None if n.endswith("data.pkl") else (n, d), "no data.pkl"),
        (lambda n, d: None if n.endswith("data/3") else (n, d), "no data 'torch_zip/data/3'"),
        (lambda n, d: (n, d[:-1]) if n.endswith("data/3") else (n, d), "should have"),
        (lambda n, d: (n.replace("data/9", "constants.pkl"), d), "TorchScript"),
        (lambda n, d: (n, b"middle") if n.endswith("byteorder") else (n, d), "byte order is 'middle'"),
    ],
)
def test_archives_with_something_wrong(change, message):
    with pytest.raises(FileError, match=message):
        wisp.load(rezipped(change))


# --- with PyTorch beside


def torch_file(obj, **options):
    import torch

    file = io.BytesIO()
    torch.save(obj, file, **options)
    file.seek(0)
    return file


@needs_torch
@pytest.mark.parametrize("zipped", [True, False])
def test_whole_modules_of_pytorch(zipped):
    import torch

    model = torch.nn.Sequential(
        torch.nn.Conv2d(1, 2, 3), torch.nn.BatchNorm2d(2), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(8, 3)
    ).eval()
    file = torch_file(model, _use_new_zipfile_serialization=zipped)
    with pytest.raises(FileError, match=r"torch.nn.modules"):
        wisp.load(file)
    file.seek(0)
    assert set(wisp.serialization.get_unsafe_globals_in_checkpoint(file)) >= {"torch.nn.modules.conv.Conv2d"}
    file.seek(0)
    got = wisp.load(file, weights_only=False)
    x = np.random.default_rng(0).normal(size=(2, 1, 4, 4)).astype("float32")
    want = model(torch.from_numpy(x)).detach().numpy()
    assert np.allclose(got(wisp.from_numpy(x)).detach().numpy(), want, atol=1e-5)


@needs_torch
@pytest.mark.parametrize("zipped", [True, False])
def test_tensors_that_pytorch_has_only_marked(zipped):
    """It stores a conjugated or negated view as it lies in memory, and says so."""
    import torch

    x = torch.tensor([1 + 2j, 3 - 4j])
    marked = {
        "x": x,
        "conj": x.conj(),
        "neg": torch._neg_view(x),
        "imag": x.clone().conj().imag,
        "p": torch.nn.Parameter(x.conj()),
    }
    marked["leaf"] = x.detach().conj().requires_grad_()
    marked["wide"] = x.conj()[:, None].expand(2, 1000)
    got = wisp.load(torch_file(marked, _use_new_zipfile_serialization=zipped))
    assert {name: t.tolist() for name, t in got.items()} == {name: t.tolist() for name, t in marked.items()}
    assert got["leaf"].requires_grad and got["leaf"].is_leaf and isinstance(got["p"], nn.Parameter)
    assert got["wide"].stride() == (1, 0)


@pytest.mark.parametrize("mark", ["conj", "odd"])
def test_marks_that_make_no_sense(mark):
    storage = TypedStorage(wisp.ones(2).untyped_storage(), wisp.float32)
    with pytest.raises(FileError, match=f"marks that wisp does not know.*{mark}"):
        rebuild_tensor([], storage, 0, (2,), (1,), False, None, {mark: True})


@needs_torch
@pytest.mark.parametrize("zipped", [True, False])
def test_other_things_in_files_of_pytorch(zipped):
    import torch

    value = {
        "layout": torch.strided,
        "deque": deque([1, 2], 3),
        "range": range(2, 9, 3),
        "dots": ...,
        "dtype": torch.int8,
    }
    got = wisp.load(torch_file(value, _use_new_zipfile_serialization=zipped))
    assert got == {**value, "layout": wisp.strided, "dtype": wisp.int8} and got["deque"].maxlen == 3
    with pytest.raises(FileError, match="a layout that wisp does not have: 'torch.sparse_coo'"):
        wisp.load(torch_file(torch.sparse_coo, _use_new_zipfile_serialization=zipped))


@needs_torch
def test_plain_pickles_of_tensors_load_in_place_of_pytorch(tmp_path):
    import torch

    base = torch.arange(6.0).reshape(2, 3)
    value = [base, base.t(), torch.nn.Parameter(torch.ones(2)), torch.ones(2, dtype=torch.bfloat16)]
    (tmp_path / "tensors.pkl").write_bytes(pickle.dumps(value))
    code = f"""
import importlib, pickle, sys
for name in ("", ".storage", "._utils", ".nn", ".nn.parameter"):
    sys.modules["torch" + name] = importlib.import_module("wisp" + name)
got = pickle.load(open({str(tmp_path / "tensors.pkl")!r}, "rb"))
print([x.tolist() for x in got], type(got[2]).__name__, got[3].dtype)
"""
    want = f"{[x.tolist() for x in value]} Parameter wisp.bfloat16"
    assert fresh.python(code).strip() == want


@needs_torch
def test_pytorch_loads_what_we_write(tmp_path):
    import torch

    base = wisp.arange(12.0).reshape(3, 4)
    model = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
    value = OrderedDict(
        state=model.state_dict(), weight=nn.Parameter(wisp.ones(2)), frozen=nn.Parameter(wisp.ones(1), requires_grad=False),
        base=base, row=base[1], turned=base.t(), leaf=wisp.ones(1, requires_grad=True), empty=wisp.empty(0, 3), scalar=wisp.tensor(7),
        dtypes=[wisp.arange(3).to(d) for d in (wisp.bool, wisp.uint8, wisp.int8, wisp.int16, wisp.int32, wisp.int64, wisp.float16,
                                               wisp.bfloat16, wisp.float32, wisp.float64, wisp.complex64, wisp.complex128)],
        data=[None, True, 1, -5, 2**40, -(10**30), 1.5, float("inf"), 1j, "ü", b"\x00\xff", bytearray(b"x"), (), (1,), (1, (2, 3)), {1, 2},
              {"a": 1, 2: "b", (1, 2): 3}, wisp.float16, wisp.device("cpu"), wisp.Size([2])],
        many={i: str(i) for i in range(2500)}, list=list(range(2500)),
    )  # fmt: skip
    value["again"] = value["data"]
    path = tmp_path / "file.pt"
    wisp.save(value, path, format="torch")
    for mmap in (False, True):
        got = torch.load(path, weights_only=True, mmap=mmap)
        assert list(got) == list(value)
        assert got["again"] is got["data"]
        assert got["data"] == [
            torch.float16 if v is wisp.float16 else torch.device("cpu") if v == wisp.device("cpu") else v
            for v in value["data"]
        ]
        assert got["many"] == value["many"] and got["list"] == value["list"]
        assert (
            type(got["weight"]) is torch.nn.Parameter
            and got["weight"].requires_grad
            and not got["frozen"].requires_grad
        )
        for name in ("base", "row", "turned", "leaf", "empty", "scalar"):
            assert got[name].tolist() == value[name].tolist() and got[name].stride() == value[name].stride()
            assert got[name].requires_grad == value[name].requires_grad
        for a, b in zip(got["dtypes"], value["dtypes"]):
            assert str(a.dtype) == str(b.dtype).replace("wisp", "torch") and a.tolist() == b.tolist()
        assert got["state"]._metadata == value["state"]._metadata
        got["row"].fill_(-1)
        assert got["base"][1].tolist() == [-1] * 4
    assert zipfile.ZipFile(path).testzip() is None


def test_what_we_write_for_pytorch_loads_here(tmp_path):
    state = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3)).state_dict()
    wisp.save(state, tmp_path / "file.pt", format="torch")
    got = wisp.load(tmp_path / "file.pt", mmap=True)
    assert got._metadata == state._metadata
    assert all(wisp.equal(got[name], state[name]) for name in state)
    assert all(t.data_ptr() % 64 == 0 for t in got.values())


def test_what_pytorch_would_refuse_is_not_written():
    for value in (nn.Linear(1, 1), np.ones(2), object()):
        with pytest.raises(TypeError, match="PyTorch"):
            wisp.save(value, io.BytesIO(), format="torch")
    file = io.BytesIO()
    wisp.save([np.float32(1.5), defaultdict(list, a=[1])], file, format="torch")
    file.seek(0)
    assert wisp.load(file) == [1.5, {"a": [1]}]


def test_tuples_that_contain_themselves_are_written():
    inside = []
    inside.append((inside,))
    file = io.BytesIO()
    wisp.save(inside[0], file, format="torch")
    file.seek(0)
    got = wisp.load(file)
    assert got[0][0] is got


def test_long_forms_of_sizes_in_archives(monkeypatch, tmp_path):
    """What files of more than 4 GiB have, here in a small one."""
    from wisp.serialization import _torch_write

    monkeypatch.setattr(_torch_write, "_LARGEST", 3)
    state = {"a": wisp.arange(5), "b": wisp.ones(3)}
    wisp.save(state, tmp_path / "file", format="torch")
    assert zipfile.ZipFile(tmp_path / "file").testzip() is None
    assert {name: t.tolist() for name, t in wisp.load(tmp_path / "file").items()} == {
        name: t.tolist() for name, t in state.items()
    }
    if oracle.HAS_TORCH:
        import torch

        assert torch.load(tmp_path / "file")["a"].tolist() == [0, 1, 2, 3, 4]
