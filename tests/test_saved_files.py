"""Files that save writes and load reads: paths and streams, atomic writing, arguments, the safetensors format."""

import errno
import gzip
import io
import json
import os
import pickle
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

import wisp
from tests import fresh
from wisp.utils import safetensors

DTYPES = [wisp.bool, wisp.uint8, wisp.int8, wisp.int16, wisp.int32, wisp.int64, wisp.float16, wisp.bfloat16, wisp.float32,
          wisp.float64, wisp.complex64, wisp.complex128]  # fmt: skip


class Settings:
    """A class of a user's."""

    def __init__(self, **values):
        self.__dict__.update(values)


def again(obj, **options):
    """What loading gives of what saving wrote."""
    file = io.BytesIO()
    wisp.save(obj, file)
    file.seek(0)
    return wisp.load(file, **options)


# --- files


@pytest.mark.parametrize("mmap", [None, True, False])
def test_paths(tmp_path, mmap):
    path = tmp_path / "file.pt"
    wisp.save({"x": wisp.arange(5)}, path)
    wisp.save({"x": wisp.arange(6)}, str(path))
    got = wisp.load(path, mmap=mmap)["x"]
    got.add_(1)  # does not reach the file
    assert wisp.load(path)["x"].tolist() == list(range(6))
    assert os.listdir(tmp_path) == ["file.pt"]


@pytest.mark.parametrize("name", ["a" * 255, "\u6f22" * 85, "\u00fc" * 120 + ".pt"])
def test_names_may_be_as_long_as_the_file_system_allows(tmp_path, name):
    wisp.save({"a": 1}, tmp_path / name)
    assert wisp.load(tmp_path / name) == {"a": 1} and len(list(tmp_path.iterdir())) == 1


def test_large_files_are_mapped(tmp_path):
    path = tmp_path / "large"
    wisp.save({"x": wisp.zeros(1 << 20), "y": wisp.ones(3, dtype=wisp.bfloat16)}, path)
    code = f"""
import resource, wisp
x = wisp.load({str(path)!r})["x"]
print(x.untyped_storage().resizable(), wisp.load({str(path)!r}, mmap=False)["x"].untyped_storage().resizable())
"""
    assert fresh.python(code).split() == ["False", "True"]
    old = wisp.load(path)["x"]
    wisp.save({"x": wisp.ones(1)}, path)  # replaces the name, not the memory of who has loaded it
    assert old.sum() == 0


def test_data_is_aligned(tmp_path):
    path = tmp_path / "x"
    wisp.save([wisp.ones(n, dtype=d) for n in (1, 3) for d in DTYPES], path)
    for t in wisp.load(path, mmap=True):
        assert t.data_ptr() % min(t.element_size(), 8) == 0 and not t.untyped_storage().resizable()


def test_objects_in_a_row_in_one_stream():
    file = io.BytesIO()
    for i in range(3):
        wisp.save({"i": i, "x": wisp.full((i,), i)}, file)
    file.seek(0)
    assert [wisp.load(file)["i"] for _ in range(3)] == [0, 1, 2]
    with pytest.raises(EOFError):
        wisp.load(file)


def test_files_with_only_read():
    file = io.BytesIO()
    wisp.save([1, wisp.ones(2)], file)

    class Pipe:
        read = io.BytesIO(file.getvalue()).read

    assert wisp.load(Pipe())[1].tolist() == [1, 1]


def test_pipes_and_compressed_files(tmp_path):
    value = {"x": wisp.arange(5)}
    os.mkfifo(tmp_path / "pipe")
    for buffered in (True, False):
        writer = threading.Thread(target=wisp.save, args=(value, tmp_path / "pipe"))
        writer.start()
        with open(tmp_path / "pipe", "rb", buffering=-1 if buffered else 0) as file:
            assert wisp.load(file)["x"].tolist() == [0, 1, 2, 3, 4]
        writer.join()
    writer = threading.Thread(target=wisp.save, args=(value, tmp_path / "pipe"))
    writer.start()
    assert wisp.load(tmp_path / "pipe")["x"].tolist() == [0, 1, 2, 3, 4]
    writer.join()
    with gzip.open(tmp_path / "packed", "wb") as file:
        wisp.save(value, file)
    with gzip.open(tmp_path / "packed", "rb") as file:
        assert wisp.load(file)["x"].tolist() == [0, 1, 2, 3, 4]


def test_files_that_take_little_at_once():
    class Slow(io.BytesIO):
        def write(self, data):
            return super().write(data[:7])

    for form in ("wisp", "torch"):
        file = Slow()
        wisp.save(list(range(100)), file, format=form)
        file.seek(0)
        assert wisp.load(file) == list(range(100))


def test_modes_and_links_are_kept(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    wisp.save(1, path)
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask
    path.chmod(0o640)
    link.symlink_to(path)
    wisp.save(2, link)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert link.is_symlink() and wisp.load(path) == 2


def test_a_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "file"
    wisp.save(1, path)
    with pytest.raises(TypeError):
        wisp.save({"a": wisp.ones(3), "b": lambda: 0}, path)
    with pytest.raises(ValueError, match="chunk"):
        wisp.serialization._files.write(path, _failing())
    assert wisp.load(path) == 1
    assert os.listdir(tmp_path) == ["file"]


def _failing():
    yield b"something"
    raise ValueError("the second chunk fails")


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """A limit on the size of files fails as a full disk does: in the middle of writing."""
    code = f"""
import os, resource, signal, wisp
path = {str(tmp_path / "file")!r}
wisp.save([1], path)
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
for form in ("wisp", "torch"):
    try:
        wisp.save(wisp.zeros(1_000_000), path, format=form)
    except OSError as error:
        print(error.errno, wisp.load(path), os.listdir({str(tmp_path)!r}))
"""
    lines = fresh.python(code).splitlines()
    assert lines == [f"{errno.EFBIG} [1] ['file']"] * 2


KILLED = """
import os, signal, sys, threading, wisp
path = sys.argv[1]
wisp.save({"n": 1, "x": wisp.ones(50_000)}, path)
threading.Timer(float(sys.argv[2]), os.kill, (os.getpid(), signal.SIGKILL)).start()
n = 2
while True:
    wisp.save({"n": n, "x": wisp.full((50_000,), n)}, path)
    n += 1
"""


def test_a_kill_at_any_moment_leaves_a_whole_file(tmp_path):
    path = tmp_path / "file"
    wisp.save({"n": 0, "x": wisp.zeros(50_000)}, path)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    for i in range(6):
        delay = 0.003 + 0.007 * i
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(path), str(delay)], cwd=tmp_path, env=env, capture_output=True
        )
        assert done.returncode == -9
        got = wisp.load(path, mmap=False)
        assert (got["x"] == got["n"]).all()
    assert got["n"] > 1


@pytest.mark.parametrize("format", ["wisp", "torch"])
def test_structures_too_deep_to_be_saved(tmp_path, format):
    deep = []
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(RecursionError, match=r"save\(\): the object is too deep"):
        wisp.save(deep, tmp_path / "file", format=format)
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a folder where nobody can make files")
def test_errors_name_the_file_that_was_asked_for():
    with pytest.raises(OSError) as caught:
        wisp.save({}, "/proc/absent.pt")
    assert caught.value.filename == "/proc/absent.pt" and ".tmp" not in str(caught.value)


def test_bad_arguments(tmp_path):
    with pytest.raises(AttributeError, match="'write' attribute"):
        wisp.save({}, 3)
    with pytest.raises(AttributeError, match="'read' attribute"):
        wisp.load(3)
    with pytest.raises(FileNotFoundError):
        wisp.load(tmp_path / "none")
    with pytest.raises(RuntimeError, match="Parent directory .*nowhere does not exist"):
        wisp.save({}, tmp_path / "nowhere" / "file")
    with pytest.raises(ValueError, match="mmap argument"):
        wisp.load(io.BytesIO(b"x"), mmap=True)
    with pytest.raises(ValueError, match="format"):
        wisp.save({}, tmp_path / "x", format="tar")
    with pytest.raises(TypeError, match="unexpected keyword argument 'weights'"):
        wisp.load(tmp_path / "x", weights=True)
    with pytest.raises(TypeError, match="binary"):
        wisp.load(io.StringIO("text"))
    with pytest.raises(EOFError):
        wisp.load(io.BytesIO())


def test_arguments_that_mean_nothing_here_are_accepted():
    file = io.BytesIO()
    wisp.save([1], file, pickle, 4, _use_new_zipfile_serialization=False)
    file.seek(0)
    assert wisp.load(file, "cpu", pickle, weights_only=True, encoding="latin1") == [1]


def test_map_location():
    x = wisp.ones(2)
    assert again(x, map_location="cpu").tolist() == again(x, map_location=wisp.device("cpu")).tolist() == [1, 1]
    assert again(x, map_location={"cuda:0": "cpu"}).tolist() == [1, 1]
    seen = []
    got = again([x, x[1:]], map_location=lambda storage, location: seen.append((storage.nbytes(), location)))
    assert seen == [(8, "cpu")] and got[1].tolist() == [1]
    assert again(x, map_location=lambda storage, location: storage.clone().fill_(0)).tolist() == [0, 0]
    for wrong in ("cuda", {"cpu": "cuda:1"}):
        with pytest.raises(RuntimeError, match=r"map_location=wisp.device\('cpu'\)"):
            again(x, map_location=wrong)


def test_locations():
    storage = wisp.ones(2).untyped_storage()
    assert wisp.serialization.location_tag(storage) == "cpu"
    assert wisp.serialization.default_restore_location(storage, "cpu") is storage
    with pytest.raises(RuntimeError, match="'cuda:1'"):
        wisp.serialization.default_restore_location(storage, "cuda:1")


def test_without_numpy():
    code = """
import io, sys
sys.modules["numpy"] = None
import wisp
file = io.BytesIO()
wisp.save({"x": wisp.ones(2)}, file)
file.seek(0)
print(wisp.load(file)["x"].tolist())
try:
    wisp.serialization._numpy.numpy_dtype("<f4")
except ImportError as error:
    print(error)
"""
    assert fresh.python(code).splitlines()[1].endswith("pip install numpy")


def test_endianness_of_files_that_do_not_say():
    kinds = wisp.serialization.LoadEndianness
    assert wisp.serialization.get_default_load_endianness() is None
    wisp.serialization.set_default_load_endianness(kinds.BIG)
    assert wisp.serialization.get_default_load_endianness() is kinds.BIG
    wisp.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError):
        wisp.serialization.set_default_load_endianness("big")


def test_structures_too_large_for_a_header(tmp_path):
    large = {
        "text": "ü" * 400_000,
        "numbers": list(range(200_000)),
        "raw": bytes(range(256)) * 10_000,
        "structure": wisp.ones(2),
        "s": Settings(a=1),
    }
    for mmap in (True, False):
        wisp.save(large, tmp_path / "large")
        got = wisp.load(tmp_path / "large", mmap=mmap, weights_only=False)
        assert all(got[key] == large[key] for key in ("text", "numbers", "raw")) and got["structure"].tolist() == [1, 1]
    assert len(wisp.serialization.get_unsafe_globals_in_checkpoint(tmp_path / "large")) == 1
    with open(tmp_path / "large", "rb") as file:
        assert int.from_bytes(file.read(8), "little") < 2000


# --- the safetensors format, as its own readers see it


def test_files_are_safetensors_files_with_readable_names():
    file = io.BytesIO()
    wisp.save({"model": {"weight": wisp.ones(2, 3)}, "steps": [wisp.tensor(1), wisp.tensor(2)], "n": 5}, file)
    data = file.getvalue()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    assert header.pop("__metadata__")["format"] == "pt"
    assert {name: (e["dtype"], e["shape"]) for name, e in header.items()} == {
        "model.weight": ("F32", [2, 3]), "steps.0": ("I64", []), "steps.1": ("I64", []),
    }  # fmt: skip
    ends = sorted(tuple(e["data_offsets"]) for e in header.values())
    assert [begin for begin, _ in ends] == [0, *(end for _, end in ends[:-1])]
    assert 8 + size + ends[-1][1] == len(data)


def test_files_made_by_hand_load():
    header = {
        "__metadata__": {"by": "hand"},
        "a": {"dtype": "F32", "shape": [2], "data_offsets": [1, 9]},
        "b": {"dtype": "I8", "shape": [], "data_offsets": [0, 1]},
    }
    text = json.dumps(header).encode()
    data = len(text).to_bytes(8, "little") + text + b"\xff" + np.array([1.5, 2.5], "<f4").tobytes()
    got = wisp.load(io.BytesIO(data))
    assert got["a"].tolist() == [1.5, 2.5] and got["b"].item() == -1
    assert {name: t.tolist() for name, t in safetensors.load(data).items()} == {"a": [1.5, 2.5], "b": -1}


def test_helpers_of_the_format(tmp_path):
    path = tmp_path / "x.safetensors"
    tensors = {str(d): wisp.arange(6).to(d).reshape(2, 3).t() for d in DTYPES if d is not wisp.complex128}
    safetensors.save_file(tensors, path, {"k": "v"})
    got = safetensors.load_file(path)
    assert got.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert got[name].dtype is tensor.dtype and wisp.equal(got[name], tensor)
    assert safetensors.load_metadata(path) == {"k": "v"}
    assert wisp.load(path).keys() == tensors.keys()
    for bad in ({"x": 1}, {1: wisp.ones(1)}, {"x": wisp.ones(1, dtype=wisp.complex128)}):
        with pytest.raises(ValueError):
            safetensors.save(bad)
    with pytest.raises(ValueError, match="metadata"):
        safetensors.save({}, {"a": 1})
    assert safetensors.load(safetensors.save({})) == {}


def test_the_package_of_the_format_agrees(tmp_path):
    package = pytest.importorskip("safetensors.numpy")
    arrays = {"a": np.arange(6.0).reshape(2, 3), "b": np.array([True, False]), "c": np.zeros((0, 2), "int16")}
    package.save_file(arrays, tmp_path / "theirs")
    got = wisp.load(tmp_path / "theirs")
    assert {name: t.tolist() for name, t in got.items()} == {name: a.tolist() for name, a in arrays.items()}
    wisp.save({name: wisp.from_numpy(a) for name, a in arrays.items()}, tmp_path / "ours")
    assert {name: a.tolist() for name, a in package.load_file(tmp_path / "ours").items()} == {
        n: a.tolist() for n, a in arrays.items()
    }


def test_importing_is_lazy():
    loaded = set(fresh.python("import wisp, sys; wisp.save; print(*sys.modules)", "-S").split())
    assert not {"numpy", "zipfile", "mmap", "wisp.nn", "wisp.optim"} & loaded
