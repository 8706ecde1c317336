"""Pickles as PyTorch's files contain them, whole and hostile, made by hand."""

import io
import pathlib
import pickle
import time
from collections import OrderedDict, defaultdict

import numpy as np
import pytest

import wisp
from wisp.serialization import FileError
from wisp.serialization._pickle import Machine
from wisp.serialization._torch_read import Owner
from wisp.serialization._trust import Trust


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
        "\nuint4",
        "_utils\n_rebuild_nested_tensor",
        "\nfloat4_e2m1fn_x2",
    ],
)
def test_kinds_of_tensors_that_do_not_exist_here(name):
    module, _, item = name.partition("\n")
    data = f"ctorch{'.' + module if module else ''}\n{item}\n.".encode()
    with pytest.raises(FileError, match=f"a kind of tensor that wisp does not have: torch.*{item}"):
        run(data)


@pytest.mark.parametrize("name", ["uint16", "uint64", "float8_e4m3fn", "float8_e8m0fnu"])
def test_dtypes_that_are_stored(name):
    assert run(f"ctorch\n{name}\n.".encode()) is getattr(wisp, name)


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
