"""Files of compiled programs say what they were traced or called with, and what is made of that."""

import io
import json
import struct

import pytest

import wisp
from tests.test_jit_files import FOLDER, X, make
from wisp import nn
from wisp.jit import _files, load, script, trace
from wisp.serialization import FileError


def document(compiled):
    data = compiled.save_to_buffer()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(json.loads(data[8 : 8 + size])["__metadata__"]["wisp.jit"])


def inputs(compiled):
    return document(compiled).get("inputs")


ROWS = {"forward": [{"like": "float32", "shape": [2, 4]}]}


def test_traces_say_what_they_were_traced_with():
    layer = nn.Linear(4, 3)
    assert inputs(trace(layer, wisp.rand(2, 4))) == ROWS
    assert inputs(trace(layer, wisp.rand(2, 4), check_trace=False)) == ROWS
    assert inputs(trace(layer, wisp.rand(2, 4), _store_inputs=False)) is None
    traced = trace(layer, example_kwarg_inputs={"input": wisp.rand(2, 4)})
    assert inputs(traced) == ROWS
    assert inputs(trace(lambda x: x + 1, wisp.ones(3))) == {"traced": [{"like": "float32", "shape": [3]}]}


def test_scripts_say_what_they_were_called_with_first():
    compiled = script(nn.Linear(4, 3))
    assert inputs(compiled) is None
    with pytest.raises(RuntimeError):
        compiled(wisp.rand(2, 5))
    assert inputs(compiled) is None
    for rows in (2, 7):
        compiled(wisp.rand(rows, 4))
        assert inputs(compiled) == ROWS


def test_it_stays_through_freezing_and_files():
    traced = trace(nn.Linear(4, 3).eval(), wisp.rand(2, 4))
    for made in (wisp.jit.freeze(traced), wisp.jit.optimize_for_inference(traced)):
        assert inputs(made) == ROWS
        assert inputs(load(io.BytesIO(made.save_to_buffer()))) == ROWS


def test_what_is_kept_of_arguments():
    def f(x, n: int, pair: tuple[wisp.Tensor, wisp.Tensor], by_name: dict[str, wisp.Tensor], word: str = "a"):
        return x * n + pair[0]

    f = script(f)
    f(wisp.rand(3, dtype=wisp.float64), 2, (wisp.arange(3), wisp.arange(100).int()), {"m": wisp.ones(2) > 0})
    described = [
        {"like": "float64", "shape": [3]},
        2,
        {
            "tuple": [
                {"like": "int64", "shape": [3], "values": [0, 1, 2]},
                {"like": "int32", "shape": [100], "greatest": 99},
            ]
        },
        {"dict": [["m", {"like": "bool", "shape": [2], "values": [1, 1]}]]},
        "a",
    ]
    assert inputs(f) == {"f": described}
    assert inputs(load(io.BytesIO(f.save_to_buffer()))) == {"f": described}


def test_large_inputs_take_no_memory():
    f = script(nn.Identity())
    f(wisp.zeros(1000, 1000))
    (kept,) = f._c.method("forward").example
    assert kept.shape == (1000, 1000) and kept.untyped_storage().nbytes() < 100


def test_calls_inside_transforms_say_nothing():
    inner = script(nn.Linear(4, 3))
    wisp.func.vmap(inner)(wisp.rand(5, 4))
    assert inputs(inner) is None


def test_files_without_inputs_load_and_learn():
    loaded = load(FOLDER / "net_1.pt")
    assert inputs(loaded) is None
    with wisp.no_grad():
        loaded(X)
    assert inputs(loaded)["forward"][0] == {"like": "float32", "shape": [2, 1, 15]}


def rewritten(values):
    compiled = script(make())
    compiled(X)
    changed = document(compiled)
    changed["inputs"] = values
    program, constants = compiled._c.program.to_text()
    writer = _files._Writer()
    writer.object(compiled._c, "")
    blobs = {**writer.blobs, "__program__": program.encode()}
    blobs |= {f"__constant__.{i}": tensor for i, tensor in enumerate(constants)}
    return b"".join(bytes(chunk) for chunk in _files._file(blobs, json.dumps(changed)))


GOOD = {"like": "float32", "shape": [2, 1, 15]}
HOSTILE = {
    "no dict": [GOOD],
    "no list": {"forward": 3},
    "no such method": {"backward": [GOOD, 1.0]},
    "too few": {"forward": [GOOD]},
    "too many": {"forward": [GOOD, 1.0, 1.0]},
    "another type": {"forward": [1, 1.0]},
    "no shape": {"forward": [{"like": "float32"}, 1.0]},
    "a shape of texts": {"forward": [{"like": "float32", "shape": ["a"]}, 1.0]},
    "a negative size": {"forward": [{"like": "float32", "shape": [-1]}, 1.0]},
    "no such dtype": {"forward": [{"like": "float31", "shape": [1]}, 1.0]},
    "far too large": {"forward": [{"like": "float32", "shape": [1 << 40, 1 << 40]}, 1.0]},
    "too many dimensions": {"forward": [{"like": "float32", "shape": [1] * 65}, 1.0]},
    "values that do not fit": {"forward": [{"like": "int64", "shape": [1 << 30], "values": [1]}, 1.0]},
    "values that are lists": {"forward": [{"like": "int64", "shape": [1], "values": [[]]}, 1.0]},
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_inputs_give_an_error(name):
    assert load(io.BytesIO(rewritten({"forward": [GOOD, 1.0]})))(X) is not None
    with pytest.raises((FileError, RuntimeError, ValueError, AttributeError)):
        load(io.BytesIO(rewritten(HOSTILE[name])))
