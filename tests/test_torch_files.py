"""Files of PyTorch's, read and written without it. Two recorded ones stand in tests/golden."""

import io
import pathlib
import pickle
import sys
import time
import zipfile
from collections import OrderedDict, defaultdict, deque

import numpy as np
import pytest

import wisp
from tests import fresh, oracle
from wisp import nn
from wisp._storage import TypedStorage
from wisp.serialization import FileError
from wisp.serialization._pickle import Machine
from wisp.serialization._torch_names import rebuild_tensor
from wisp.serialization._torch_read import Owner
from wisp.serialization._trust import Trust

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


# --- pickles made by hand


class Plain:
    """A class of a user's."""


class Reduced:
    def __init__(self, function, *args):
        self.parts = function, args

    def __reduce__(self):
        return self.parts


def run(data, weights_only=True):
    return Machine(memoryview(data), 0, Owner(Trust(weights_only))).run()


@pytest.mark.parametrize("protocol", range(6))
def test_plain_pickles_of_every_protocol(protocol):
    value = {
        "a": [1, -1, 255, 65536, 2**31, 10**30, -(10**30), 1.5, True, False, None], "b": (), "c": (1,), "d": (1, 2), "e": (1, 2, 3),
        "f": (1, 2, 3, 4), "g": {1, 2}, "h": frozenset({3}), "i": b"\x00\xff" * 200, "j": "ü" * 300, "k": {}, "l": [],
        "m": OrderedDict(a=1), "n": bytearray(b"xy"), "o": 1j, "p": ["x" * 70000], "q": list(range(3000)),
    }  # fmt: skip
    value["r"] = value["a"]
    got = run(pickle.dumps(value, protocol))
    assert got == value
    assert got["r"] is got["a"]


@pytest.mark.parametrize("protocol", range(6))
def test_numpy_in_pickles(protocol):
    value = {
        "array": np.arange(6.0).reshape(2, 3),
        "turned": np.asfortranarray(np.arange(6).reshape(2, 3)),
        "number": np.float64(2.5),
        "text": np.array(["a", "bc"]),
    }
    if protocol == 5:  # arrays are then made by a function of their own
        value = {"number": np.float64(2.5)}
    got = run(pickle.dumps(value, protocol))
    for key, want in value.items():
        assert type(got[key]) is type(want)
        assert np.array_equal(got[key], want)


def test_python_2_texts():
    assert run(b"U\x02\xc3\xbc.") == "ü"
    assert Machine(memoryview(b"U\x02\xc3\xbc."), 0, Owner(Trust()), "latin1").run() == "Ã¼"
    assert Machine(memoryview(b"S'a\\n'\n."), 0, Owner(Trust()), "bytes").run() == b"a\n"


@pytest.mark.parametrize("encoding", ["utf-8", "latin1", "bytes"])
def test_files_that_python_2_wrote(encoding):
    """Its texts are short strings of bytes."""

    def short(text):
        return b"U" + bytes([len(text)]) + text

    storage = b"(" + short(b"storage") + b"ctorch\nFloatStorage\n" + short(b"123") + short(b"cpu") + b"K\x02NtQ"
    tensor = b"ctorch._utils\n_rebuild_tensor\n(" + storage + b"K\x00K\x02\x85K\x01\x85tR"
    parts = [
        b"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", b"\x80\x02M\xe9\x03.", b"\x80\x02}" + short(b"little_endian") + b"\x88s.",
        b"\x80\x02}" + short(b"w\xc3\xbc") + tensor + b"s.", b"\x80\x02]" + short(b"123") + b"a.",
        (2).to_bytes(8, "little") + np.array([1.5, -2], "<f4").tobytes(),
    ]  # fmt: skip
    got = wisp.load(io.BytesIO(b"".join(parts)), encoding=encoding)
    key = {"utf-8": "wü", "latin1": "wÃ¼", "bytes": b"w\xc3\xbc"}[encoding]
    assert {name: t.tolist() for name, t in got.items()} == {key: [1.5, -2]}


def test_objects_in_pickles():
    made = Plain()
    made.x = [1]
    for protocol in range(6):
        data = pickle.dumps(made, protocol)
        with pytest.raises(FileError, match="Plain"):
            run(data)
        assert run(data, weights_only=False).x == [1]


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize(
    "hostile",
    [
        Reduced(exec, "raise SystemExit"),
        Reduced(eval, "1"),
        Reduced(__import__, "this"),
        Reduced(getattr, 1, "real"),
        Reduced(open, "/tmp/never", "w"),
        Reduced(print, "called"),
        Reduced(bytearray, 1 << 40),
        Reduced(defaultdict, print),
        [__import__("os").system],
    ],
    ids=str,
)
def test_pickles_that_call(hostile, weights_only, capsys):
    for protocol in range(2, 5):
        with pytest.raises(FileError):
            run(pickle.dumps(hostile, protocol), weights_only)
    assert capsys.readouterr().out == ""
    assert not pathlib.Path("/tmp/never").exists()


@pytest.mark.parametrize(
    "data",
    [
        b"", b".", b"\x80", b"\x80\x09N.", b"}", b"(", b"K", b"K\x01", b"(t", b"a.", b"]]a", b"N]e.", b"](NNu.", b"}(Nu.", b"h\x00.",
        b"j\xff\xff\xff\xff.", b"X\xff\xff\xff\xffabc.", b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7fabc.", b"\x8b\xff\xff\xff\xff.",
        b"cos\nsystem\n.", b"cposix\nsystem\n(X\x04\x00\x00\x00trueR.", b"NNR.", b"N)\x81.", b"NQ.", b"Pkey\n.", b"\x82\x01.", b"\x97.",
        b"I" + b"9" * 10000 + b"\n.", b"}](N\x86Ns.", b"c" + b"a" * 100_000, b"Fnot\n.", b"S'open\n.", b"Xaaaa", b"}K\x01b.", b"\xff.",
        b"ctorch._utils\n_rebuild_tensor_v2\n(NK\x00))tR.", b"ctorch\nSize\n(K\x01tR.", b"ctorch\ndevice\n(X\x04\x00\x00\x00cubatR.",
        b"ctorch.nn.parameter\nUninitializedParameter\n(NtR.", b"S'open'\\'\n.", b"S\n.", b"ctorch\nSize\nK\x01\x81.",
    ],
)  # fmt: skip
def test_broken_pickles(data):
    with pytest.raises(FileError):
        run(data)


@pytest.mark.parametrize(
    "name",
    [
        "_utils\n_rebuild_sparse_tensor",
        "\nQInt8Storage",
        "\nuint16",
        "_utils\n_rebuild_nested_tensor",
        "\nfloat8_e8m0fnu",
    ],
)
def test_kinds_of_tensors_that_do_not_exist_here(name):
    module, _, item = name.partition("\n")
    data = f"ctorch{'.' + module if module else ''}\n{item}\n.".encode()
    with pytest.raises(FileError, match=f"a kind of tensor that wisp does not have: torch.*{item}"):
        run(data)


NESTED = b")" + b"2\x86" * 100  # a tuple of twice the one before, again and again


@pytest.mark.parametrize(
    "data",
    [
        b"}" + NESTED + b"Ns.",
        b"(" + NESTED + b"\x91.",
        b"ccollections\nOrderedDict\n(]" + NESTED + b"N\x86atR.",
        b"ccollections\nCounter\n(]" + NESTED + b"N\x86atR.",
        b"ccollections\ndefaultdict\n(N]" + NESTED + b"N\x86atR.",
        b"}c__builtin__\nslice\n(" + NESTED + b"tRNs.",
    ],
)
def test_keys_that_take_for_ever(data):
    with pytest.raises(FileError, match="too large"):
        run(data)


@pytest.mark.parametrize(
    "data",
    [
        NESTED + b")R.",
        b"c_codecs\nencode\n(X\x01\x00\x00\x00a" + NESTED + b"tR.",
        b"ccollections\ndefaultdict\n(" + NESTED + b"tR.",
        b"ctorch\ndevice\n(X\x03\x00\x00\x00cpu" + NESTED + b"tR.",
        b"ctorch._tensor\n_rebuild_from_type_v2\n(" + NESTED * 4 + b"tR.",
        b"cnumpy\ndtype\n(" + NESTED + b"tR.",
        b"cwisp\nTypedStorage\n(" + NESTED * 2 + b"tR.",
    ],
)
def test_errors_about_contents_that_take_for_ever_to_print(data):
    with pytest.raises(FileError) as caught:
        run(data)
    assert len(str(caught.value)) < 1000


def test_arrays_whose_shape_is_no_shape():
    made = b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(K\x00tC\x01btR"
    for shape in (b"(NN\x86J\xff\xff\xff\x7ft", b"(I-1\nI-4\nt", b"X\x01\x00\x00\x00a"):
        with pytest.raises(FileError):
            run(made + b"(K\x01" + shape + b"cnumpy\ndtype\n(X\x02\x00\x00\x00u1tR\x89C\x04abcdtb.")


def test_many_long_lines_take_little_time():
    start = time.perf_counter()
    assert run((b"I" + b"1" * 300 + b"\n0") * 10_000 + b"N.") is None
    assert time.perf_counter() - start < 2


def test_memo_numbers_need_no_memory():
    assert run(b"Nr\xff\xff\xff\x7f.") is None


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
