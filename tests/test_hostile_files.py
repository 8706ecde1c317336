"""Damaged and hostile files: always an error that says so, never a crash, a hang, or memory out of proportion."""

import io
import json
import os
import pathlib
import random
import struct
import zipfile
import zlib

import pytest

import wisp
from tests import fresh
from wisp.serialization import FileError
from wisp.utils import safetensors

GOLDEN = pathlib.Path(__file__).parent / "golden"


def ours():
    base = wisp.arange(6.0).reshape(2, 3)
    file = io.BytesIO()
    wisp.save({"w": base, "row": base[1], "n": [1, (2.5, "x"), {3}], "b": wisp.ones(3, dtype=wisp.bfloat16)}, file)
    return file.getvalue()


def plain():
    return safetensors.save({"a": wisp.arange(3), "b": wisp.ones(2)})


def zipped():
    file = io.BytesIO()
    wisp.save({"w": wisp.arange(6.0), "n": [1, "x"]}, file, format="torch")
    return file.getvalue()


FILES = {
    "ours": ours(),
    "plain": plain(),
    "written for PyTorch": zipped(),
    "zip": (GOLDEN / "torch_zip.pt").read_bytes(),
    "legacy": (GOLDEN / "torch_legacy.pt").read_bytes(),
}


def attempt(data):
    """Loads, or fails as loading may fail."""
    try:
        return wisp.load(io.BytesIO(data))
    except (FileError, EOFError, RuntimeError):
        return None


@pytest.mark.parametrize("name", FILES)
def test_a_file_cut_off_anywhere_is_refused(name):
    data = FILES[name]
    for size in range(len(data)):
        assert attempt(data[:size]) is None, size


@pytest.mark.parametrize("name", FILES)
def test_flipped_bits(name):
    data, rng = FILES[name], random.Random(1)
    for _ in range(800):
        changed = bytearray(data)
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        attempt(changed)


def test_flipped_bits_in_files_of_ours_are_noticed():
    data = FILES["ours"]
    want = repr(wisp.load(io.BytesIO(data)))
    rng = random.Random(2)
    for _ in range(800):
        changed = bytearray(data)
        place = rng.randrange(len(data))
        changed[place] ^= 1 << rng.randrange(8)
        got = attempt(changed)
        # Without the key of its structure a file of ours is a plain safetensors file; the rest has checksums.
        assert got is None or repr(got) == want or b'"wisp"' not in changed, place


@pytest.mark.parametrize("name", FILES)
def test_pieces_moved_around(name):
    data, rng = FILES[name], random.Random(3)
    for _ in range(500):
        changed = bytearray(data)
        size = rng.randrange(1, 16)
        source, target = rng.randrange(len(data)), rng.randrange(len(data))
        changed[target : target + size] = data[source : source + size] if rng.random() < 0.7 else rng.randbytes(size)
        attempt(changed)


def test_the_older_format_says_which_data_follows():
    data = FILES["legacy"]
    end = data.rindex(b"]q\x00(")
    for keys in (b"K\x01.", b"].", b"]K\x01a.", b"]X\x01\x00\x00\x00aa."):
        with pytest.raises(FileError, match="damaged"):
            wisp.load(io.BytesIO(data[:end] + keys + data[end:]))


def test_random_bytes_are_no_file():
    rng = random.Random(4)
    for size in range(200):
        for start in (b"", b"PK\x03\x04", b"\x80\x02", b"\x80\x04"):
            assert attempt(start + rng.randbytes(size)) is None


def test_other_kinds_of_files_are_named_as_such():
    for data in (b"hello world, this is text", b"\x1f\x8b compressed", b"{json: 1}"):
        with pytest.raises(FileError, match="neither one of wisp's or PyTorch's nor a safetensors file"):
            wisp.load(io.BytesIO(data))


# --- headers that lie


def headed(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def entry(dtype="F32", shape=(1,), begin=0, end=4):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


LYING = {
    "longer than the file": headed({"a": entry(shape=[10**9], end=4 * 10**9)}, b"0000"),
    "sizes of another dtype": headed({"a": entry("F64")}, b"0000"),
    "an unknown dtype": headed({"a": entry("F7")}, b"0000"),
    "negative sizes": headed({"a": entry(shape=[-1, -1])}, b"0000"),
    "negative offsets": headed({"a": entry(begin=-4, end=0)}, b"0000"),
    "the end before the beginning": headed({"a": entry(shape=[0], begin=4, end=0)}, b"0000"),
    "overlapping": headed({"a": entry(), "b": entry(begin=2, end=6)}, b"000000"),
    "the same twice": headed({"a": entry(), "b": entry()}, b"0000"),
    "a gap": headed({"a": entry(), "b": entry(begin=8, end=12)}, b"0" * 12),
    "sizes that are no numbers": headed({"a": entry(shape=["1"])}, b"0000"),
    "sizes that are booleans": headed({"a": entry(shape=[True])}, b"0000"),
    "fractions": headed({"a": entry(shape=[1.0])}, b"0000"),
    "no sizes": headed({"a": {"dtype": "F32", "data_offsets": [0, 4]}}, b"0000"),
    "more keys": headed({"a": {**entry(), "more": 1}}, b"0000"),
    "no object": headed(b"{]"),
    "a list": headed(b'{"a":[]}'),
    "deep": headed(b'{"a":' + b"[" * 100_000),
    "a name twice": headed(
        b'{"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}'
    ),
    "metadata that are no texts": headed({"__metadata__": {"a": 1}}),
    "metadata that are no dict": headed({"__metadata__": "x"}),
    "not UTF-8": headed(b'{"\xff":1}'),
    "many dimensions": headed({"a": entry("U8", [1] * 5000, 0, 1)}, b"0"),
    "huge products": headed({"a": entry(shape=[2**62, 2**62, 0], end=0)}),
    "half a character in the structure": headed(b'{"__metadata__":{"wisp":"{\\udf38}","wisp.checksums":"{}"}}'),
    "a huge header": (90_000_000).to_bytes(8, "little") + b"{}",
    "a header beyond limits": (1 << 62).to_bytes(8, "little") + b"{}" + b" " * 100,
}


@pytest.mark.parametrize("name", LYING)
def test_lying_headers(name):
    got = attempt(LYING[name])
    assert got is None or name == "huge products"


def documented(nodes, root=None, tensors=None, data=b""):
    """A file of ours with a structure made by hand, its checksums right."""
    structure = json.dumps({"version": 1, "root": {"ref": 0} if root is None else root, "nodes": nodes})
    header = tensors or {}
    text = json.dumps(header, sort_keys=True).encode()
    checks = {"header": zlib.crc32(structure.encode(), zlib.crc32(text)), "data": zlib.crc32(data)}
    return headed({"__metadata__": {"wisp": structure, "wisp.checksums": json.dumps(checks)}, **header}, data)


def loaded(*args, weights_only=True, **kwargs):
    return wisp.load(io.BytesIO(documented(*args, **kwargs)), weights_only=weights_only)


def test_structures_by_hand_load():
    assert loaded([{"id": 0, "list": [1, {"int": "0x10"}]}]) == [1, 16]
    assert loaded([{"id": 0, "tensor": "a"}], tensors={"a": entry()}, data=struct.pack("<f", 2)).tolist() == [2]


@pytest.mark.parametrize(
    "nodes",
    [
        None, {}, [1], [[]], [{}], [{"id": 0}], [{"list": [], "id": 0}], [{"id": [], "list": []}], [{"id": 0, "list": []}] * 2,
        [{"id": 0, "nothing": 1}], [{"id": 0, "list": 5}], [{"id": 0, "list": [{"ref": 7}]}], [{"id": 0, "list": [{"ref": []}]}],
        [{"id": 0, "list": [[1]]}], [{"id": 0, "list": [{}]}], [{"id": 0, "list": [{"a": 1, "b": 2}]}], [{"id": 0, "dict": [1]}],
        [{"id": 0, "dict": [{"ref": 0}, 1]}], [{"id": 0, "set": [{"ref": 0}]}], [{"id": 0, "tuple": [{"ref": 0}]}],
        [{"id": 0, "list": [{"int": "x"}]}], [{"id": 0, "list": [{"float": "x"}]}],
        [{"id": 0, "list": [{"bytes": "?"}]}], [{"id": 0, "list": [{"dtype": "Tensor"}]}], [{"id": 0, "list": [{"dtype": 5}]}],
        [{"id": 0, "list": [{"device": "toaster"}]}], [{"id": 0, "list": [{"size": [-1.5]}]}], [{"id": 0, "list": [{"numpy": ["O", "AAAA"]}]}],
        [{"id": 0, "list": [{"numpy": ["<f4", "AAAA"]}]}], [{"id": 0, "array": "a", "dtype": "O", "shape": [1]}],
        [{"id": 0, "array": "a", "dtype": "<f4", "shape": [7]}], [{"id": 0, "array": "a", "dtype": "<f8", "shape": [1]}],
        [{"id": 0, "array": "a", "dtype": "{'x': 1", "shape": [1]}], [{"id": 0, "array": "a", "dtype": "<f4, <f4", "shape": [1]}],
        [{"id": 0, "array": "b", "dtype": "<f4", "shape": [1]}], [{"id": 0, "tensor": "b"}], [{"id": 0, "tensor": None}],
        [{"id": 0, "tensor": "a", "shape": [2], "stride": [1]}], [{"id": 0, "tensor": "a", "shape": [2], "stride": [-1]}],
        [{"id": 0, "tensor": "a", "shape": [1], "stride": [1], "offset": 1}], [{"id": 0, "tensor": "a", "shape": [1], "stride": [1], "offset": -1}],
        [{"id": 0, "tensor": "a", "shape": [1], "stride": []}], [{"id": 0, "tensor": "a", "shape": [2**61, 2**61], "stride": [0, 0]}],
        [{"id": 0, "tensor": "a", "dtype": "float64"}], [{"id": 0, "tensor": "a", "order": [1, 1]}], [{"id": 0, "tensor": "a", "class": ["os", "system"]}],
        [{"id": 0, "tensor": "a", "state": 5}], [{"id": 0, "tensor": "a", "requires_grad": True, "dtype": "int32"}],
        [{"id": 0, "deque": [1], "maxlen": "x"}], [{"id": 0, "default": [], "factory": {"global": ["builtins", "print"]}}],
        [{"id": 0, "namedtuple": [1], "class": ["builtins"], "fields": []}], [{"id": 0, "enum": ["enum", "Enum"], "name": "x"}],
        [{"id": 0, "object": ["builtins", "dict"]}], [{"id": 0, "object": ["subprocess", "Popen"], "state": 1}], [{"id": 0, "object": "x"}],
        [{"id": 0, "call": ["os", "system"], "args": ["true"]}], [{"id": 0, "call": ["builtins", "list"], "args": []}],
        [{"id": 0, "call": ["builtins", "range"], "args": ["x"]}], [{"id": 0, "call": ["uuid", "UUID"], "args": [1]}],
        [{"id": 0, "list": [{"global": ["os", "system"]}]}], [{"id": 0, "list": [{"global": ["wisp.nn", {"ref": 0}]}]}],
        [{"id": 0, "ordered": [], "state": 5}], [{"id": 0, "tensor": "a", "shape": {"0": 1}}],
    ],
)  # fmt: skip
@pytest.mark.parametrize("weights_only", [True, False])
def test_structures_that_make_no_sense(nodes, weights_only):
    if nodes == [{"id": 0, "object": ["builtins", "dict"]}]:
        assert loaded(nodes) == {}
        return
    with pytest.raises((FileError, RuntimeError)):
        loaded(nodes, tensors={"a": entry()}, data=b"0000", weights_only=weights_only)


def test_keys_that_take_for_ever():
    nodes = [{"id": 1, "tuple": []}]
    nodes += [{"id": i, "tuple": [{"ref": i - 1}] * 2} for i in range(2, 60)]
    with pytest.raises(FileError, match="too large"):
        loaded([*nodes, {"id": 0, "dict": [{"ref": 59}, 1]}])


def test_files_of_a_later_version_say_so():
    file = documented([]).replace(b'\\"version\\": 1', b'\\"version\\": 9')
    with pytest.raises(FileError, match="header is not what was written"):
        wisp.load(io.BytesIO(file))


# --- archives


def test_bombs_in_archives():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * (200 << 20))
    with pytest.raises(FileError, match="far larger than itself"):
        wisp.load(io.BytesIO(file.getvalue()))


def test_members_on_top_of_each_other():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("archive/data.pkl", b"N.")
        archive.writestr("archive/data/0", b"0000")
        archive.filelist[1].header_offset = 1
    with pytest.raises(FileError, match="on top of each other"):
        wisp.load(io.BytesIO(file.getvalue()))


def test_encrypted_members():
    data = bytearray(FILES["written for PyTorch"])
    place = data.index(b"PK\x01\x02")
    data[place + 8], data[place + 10] = 1, 8
    with pytest.raises(FileError, match="encrypted"):
        wisp.load(io.BytesIO(data))


def test_wrong_checksums_of_archives_are_noticed():
    data = bytearray(FILES["written for PyTorch"])
    data[data.index(struct.pack("<f", 5.0))] ^= 1
    with pytest.raises(FileError, match="checksum"):
        wisp.load(io.BytesIO(data))


@pytest.mark.skipif("WISP_SANITIZED" in os.environ, reason="sanitisers need more addresses than the limit allows")
def test_memory_stays_in_proportion():
    """Sizes that lie ask for no memory: the limit would make that fail in another way."""
    code = """
import io, json, resource, wisp
resource.setrlimit(resource.RLIMIT_AS, (1 << 32, 1 << 32))
def headed(header, data=b""):
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data
files = [
    headed({"a": {"dtype": "U8", "shape": [1 << 40], "data_offsets": [0, 1 << 40]}}, b"0"),
    b"\\x80\\x02\\x8e" + b"\\xff" * 7 + b"\\x00abc.",
    b"\\x80\\x02N" + b"r\\xff\\xff\\xff\\x7f" + b".",
    b"\\x80\\x02]" + b"2" * 1000 + b".",
]
for data in files:
    try:
        wisp.load(io.BytesIO(data))
    except wisp.serialization.FileError:
        print("refused")
"""
    assert fresh.python(code).split() == ["refused"] * 4
