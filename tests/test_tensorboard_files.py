"""How event files are written: records, graphs, the thread, forks, errors."""

import doctest
import os
import pathlib

import pytest

import wisp
from tests import fresh
from tests.event_files import checksum, events, fields, files, records, values
from wisp import nn
from wisp.utils.tensorboard import FileWriter, RecordWriter, SummaryWriter, _records, summary, writer
from wisp.utils.tensorboard._proto import chunk, integer

# --- records


def test_checksums_are_those_of_the_standard():
    assert _records.crc32c(b"") == 0
    assert _records.crc32c(b"123456789") == 0xE3069283
    assert _records.crc32c(bytes(32)) == 0x8A9136AA
    for n in (1, 255, 256, 257, 1000, 1003):
        data = bytes(i * 7 % 256 for i in range(n))
        assert _records.masked_crc32c(data) == checksum(data)


def test_records_are_written_to_any_file(tmp_path):
    out = RecordWriter(open(tmp_path / "r", "wb"))  # noqa: SIM115
    out.write(b"abc")
    out.write(b"")
    out.flush()
    out.close()
    assert list(records(tmp_path / "r")) == [b"abc", b""]


def test_a_file_begins_with_its_version(written):
    folder = written(lambda w: None, filename_suffix=".end")
    (path,) = files(folder)
    assert path.name.startswith("events.out.tfevents.") and path.name.endswith(".end")
    first = events(folder)[0]
    assert first[3] == [b"brain.Event:2"] and first[1][0] > 1e9


# --- graphs


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.block = nn.Sequential(nn.Linear(3, 3), nn.ReLU(inplace=True), nn.Dropout())
        self.last = nn.Linear(3, 1)

    def forward(self, x, y):
        h = self.first(x * 2 + y)
        return self.last(self.block(h) + h), h


def test_graphs(written):
    model = Model()
    folder = written(lambda w: w.add_graph(model, (wisp.ones(4, 2), wisp.ones(4, 2))))
    (graph,) = [fields(e[4][0]) for e in events(folder) if e[4]]
    nodes = {n[1][0].decode(): n for n in map(fields, graph[1])}
    inputs = {name: sorted(i.decode() for i in node[3]) for name, node in nodes.items()}
    assert inputs == {
        "input/input.1": [], "input/input.2": [], "Model/Linear[first]": ["input/input.1", "input/input.2"],
        "Model/Sequential[block]/Linear[0]": ["Model/Linear[first]"],
        "Model/Sequential[block]/ReLU[1]": ["Model/Sequential[block]/Linear[0]"],
        "Model/Sequential[block]/Dropout[2]": ["Model/Sequential[block]/ReLU[1]"],
        "Model/Linear[last]": ["Model/Linear[first]", "Model/Sequential[block]/Dropout[2]"],
        "output/output.1": ["Model/Linear[last]"], "output/output.2": ["Model/Linear[first]"],
    }  # fmt: skip
    assert nodes["Model/Linear[last]"][2] == [b"Linear"]
    assert model.training and not any(m._forward_hooks for m in model.modules())
    assert [e for e in events(folder) if e[8]]


def test_graphs_of_dicts(written):
    class Dicts(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = nn.Linear(2, 2)

        def forward(self, batch):
            return {"y": self.inner(batch["x"]), "n": 3}

    folder = written(lambda w: w.add_graph(Dicts(), {"x": wisp.ones(1, 2)}))
    (graph,) = [fields(e[4][0]) for e in events(folder) if e[4]]
    assert [fields(n)[1][0] for n in graph[1]] == [b"input/input.1", b"Dicts/Linear[inner]", b"output/output.1"]


def test_graphs_of_repeated_and_of_single_modules(written):
    layer = nn.Linear(2, 2)
    folder = written(
        lambda w: (w.add_graph(nn.Sequential(layer, layer), wisp.ones(1, 2)), w.add_graph(layer, wisp.ones(1, 2)))
    )
    first, second = ([fields(n)[1][0] for n in fields(e[4][0])[1]] for e in events(folder) if e[4])
    assert first[1:3] == [b"Sequential/Linear[0]", b"Sequential/Linear[0]_1"]
    assert second == [b"input/input.1", b"Linear", b"output/output.1"]
    with SummaryWriter(folder) as w, pytest.raises(TypeError, match="expected a module"):
        w.add_graph(1)


def test_a_graph_that_fails_leaves_no_hooks(tmp_path):
    model = Model()
    with SummaryWriter(tmp_path) as w, pytest.raises(TypeError):
        w.add_graph(model, wisp.ones(4, 2))
    assert model.training and not any(m._forward_hooks for m in model.modules())


def onnx_file():
    """A model by hand: y = Relu(MatMul(x, w)), x of the shape (batch, 3)."""
    shape = chunk(1, chunk(2, "batch")) + chunk(1, integer(1, 3))
    x = chunk(1, "x") + chunk(2, chunk(1, integer(1, 1) + chunk(2, shape)))
    axis = chunk(1, "axis") + integer(3, 1) + integer(20, 2)
    nodes = [
        chunk(1, "x") + chunk(1, "w") + chunk(2, "h") + chunk(3, "first") + chunk(4, "MatMul") + chunk(5, axis),
        chunk(1, "h") + chunk(2, "y") + chunk(4, "Relu"),
    ]
    return integer(1, 8) + chunk(7, b"".join(chunk(1, n) for n in nodes) + chunk(11, x) + chunk(12, chunk(1, "y")))


def test_graphs_of_onnx_files(written, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_bytes(onnx_file())
    folder = written(lambda w: w.add_onnx_graph(path))
    (graph,) = [fields(e[4][0]) for e in events(folder) if e[4]]
    nodes = [fields(n) for n in graph[1]]
    assert [(n[1][0], n[2][0], n[3]) for n in nodes] == [
        (b"x", b"Variable", []), (b"h", b"MatMul", [b"x", b"w"]), (b"y", b"Relu", [b"h"]),
        (b"output/y", b"Variable", [b"y"]),
    ]  # fmt: skip
    dims = fields(fields(fields(nodes[0][5][0])[2][0])[7][0])[2]
    assert [fields(d)[1][0] for d in dims] == [(1 << 64) - 1, 3]
    assert b"axis" in nodes[1][5][0]


@pytest.mark.parametrize("data", [b"", b"garbage", b"\x3a\xff\x01", onnx_file()[:40], bytes(range(256))])
def test_files_that_are_no_onnx(tmp_path, data):
    (tmp_path / "m").write_bytes(data)
    with SummaryWriter(tmp_path) as w, pytest.raises(ValueError, match="is not an ONNX file"):
        w.add_onnx_graph(tmp_path / "m")


# --- the writer


def test_the_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with SummaryWriter(comment="_x") as w:
        assert w.get_logdir().startswith("runs" + os.sep) and w.get_logdir().endswith("_x")
    assert files(tmp_path / "runs")


def test_flushed_means_written_and_closed_means_reopened(tmp_path):
    w = SummaryWriter(tmp_path)
    w.add_scalar("a", 1.0, 1)
    w.flush()
    assert [step for step, _ in values(tmp_path)["a"]] == [1]
    w.close()
    w.close()
    w.add_scalar("a", 2.0, 2)
    w.flush()
    assert [step for step, _ in values(tmp_path)["a"]] == [1, 2] and len(files(tmp_path)) == 2
    w.close()


def test_waiting_events_are_written_when_they_are_many_or_old(tmp_path):
    import time

    with SummaryWriter(tmp_path, max_queue=3) as w:
        w.add_scalar("a", 1.0, 1)
        w.add_scalar("a", 1.0, 2)
        for _ in range(200):
            if len(values(tmp_path)["a"]) == 2:
                break
            time.sleep(0.01)
        assert len(values(tmp_path)["a"]) == 2  # the first event of the file counts too
    with SummaryWriter(tmp_path / "old", flush_secs=0.05) as w:
        w.add_scalar("a", 1.0, 1)
        for _ in range(200):
            if values(tmp_path / "old")["a"]:
                break
            time.sleep(0.01)
        assert values(tmp_path / "old")["a"]


def test_purging(written):
    folder = written(lambda w: w.add_scalar("a", 1.0, 9), purge_step=7)
    _, version, start, _ = events(folder)
    assert version[2] == [7] and version[3] == [b"brain.Event:2"]
    assert start[2] == [7] and fields(start[7][0]) == {1: [1]}


def test_many_events_from_several_threads(tmp_path):
    import threading

    with SummaryWriter(tmp_path) as w:
        threads = [
            threading.Thread(target=lambda k=k: [w.add_scalar(str(k), i, i) for i in range(1500)]) for k in range(3)
        ]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    found = values(tmp_path, check=False)
    assert all([step for step, _ in found[str(k)]] == list(range(1500)) for k in range(3))


def test_errors_of_the_thread_reach_the_caller(tmp_path, monkeypatch):
    w = SummaryWriter(tmp_path)
    w.flush()

    def full(descriptor, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_records, "_write_all", full)
    w.add_scalar("a", 1.0, 1)
    with pytest.raises(RuntimeError, match="could not be written.*No space left"):
        w.flush()
    with pytest.raises(RuntimeError, match="No space left"):
        w.add_scalar("a", 1.0, 2)
    with pytest.raises(RuntimeError, match="No space left"):
        w.close()
    monkeypatch.undo()
    w.add_scalar("a", 1.0, 3)  # a new file
    w.close()
    assert [step for step, _ in values(tmp_path)["a"]] == [3]


def test_what_is_not_closed_is_written_at_exit(tmp_path):
    fresh.python(
        "import wisp\nfrom wisp.utils.tensorboard import SummaryWriter\n"
        f"w = SummaryWriter({str(tmp_path)!r})\nw.add_scalar('a', 1.0, 1)"
    )
    assert [step for step, _ in values(tmp_path)["a"]] == [1]


def test_a_forked_process_has_a_file_of_its_own(tmp_path):
    w = SummaryWriter(tmp_path)
    w.add_scalar("a", 1.0, 1)
    child = os.fork()
    if child == 0:
        try:
            w.add_scalar("a", 1.0, 2)
            w.close()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    w.add_scalar("a", 1.0, 3)
    w.close()
    assert len(files(tmp_path)) == 2
    assert sorted(step for step, _ in values(tmp_path)["a"]) == [1, 2, 3]


def test_file_writers_take_encoded_and_protocol_buffer_objects(tmp_path):
    class Message:
        def SerializeToString(self):
            return summary.scalar("a", 1.0)

    out = FileWriter(tmp_path, filename_suffix=".x")
    out.add_summary(Message(), 1)
    out.close()
    out.reopen()
    out.add_summary(summary.scalar("a", 2.0), 2)
    out.flush()
    assert out.get_logdir() == str(tmp_path)
    out.close()
    assert [step for step, _ in values(tmp_path)["a"]] == [1, 2]


def test_importing_is_lazy():
    code = "import wisp.utils.tensorboard, sys; print({'numpy', 'PIL', 'matplotlib', 'tensorboard'} & set(sys.modules))"
    assert fresh.python(code).strip() == "set()"


# --- documentation


def test_examples(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for module in (writer, _records):
        assert doctest.testmod(module).failed == 0
    page = pathlib.Path(__file__).parent.parent / "docs" / "tensorboard.md"
    if page.exists():
        guide = doctest.DocTestParser().get_doctest(page.read_text().replace("```", "\n"), {}, page.name, str(page), 0)
        assert doctest.DocTestRunner().run(guide).failed == 0
