"""Event files: read back by a small reader written for this, and by TensorBoard itself where it is installed."""

import doctest
import importlib.util
import math
import os
import pathlib
import struct
import zlib
from collections import defaultdict

import pytest

import wisp
from tests import fresh
from wisp import nn
from wisp.utils.tensorboard import FileWriter, RecordWriter, SummaryWriter, _records, summary, writer
from wisp.utils.tensorboard._proto import chunk, integer

# --- an independent reader


def checksum(data):
    """CRC-32C, bit by bit."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 * (crc & 1))
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def records(path, check=True):
    data, at = pathlib.Path(path).read_bytes(), 0
    while at < len(data):
        (size,) = struct.unpack_from("<Q", data, at)
        body = data[at + 12 : at + 12 + size]
        assert struct.unpack_from("<I", data, at + 8)[0] == checksum(data[at : at + 8])
        assert not check or struct.unpack_from("<I", data, at + 12 + size)[0] == checksum(body)
        yield body
        at += size + 16


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data):
    """A message as {number: [values]}; inner messages stay bytes."""
    found, at = defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        else:
            kind = {1: "<d", 5: "<f"}[key & 7]
            (value,), at = struct.unpack_from(kind, data, at), at + struct.calcsize(kind)
        found[key >> 3].append(value)
    return found


def files(folder):
    return sorted(p for p in pathlib.Path(folder).rglob("*tfevents*"))


def events(folder, **options):
    return [fields(body) for path in files(folder) for body in records(path, **options)]


def values(folder, **options):
    """All values of all summaries, by tag, each with the event's step."""
    found = defaultdict(list)
    for event in events(folder, **options):
        for encoded in event[5]:
            for value in fields(encoded)[1]:
                value = fields(value)
                found[value[1][0].decode()].append((event[2][0] if event[2] else 0, value))
    return found


def one(folder, tag):
    ((_, value),) = values(folder)[tag]
    return value


def doubles(data):
    return list(struct.unpack(f"<{len(data) // 8}d", data))


@pytest.fixture
def written(tmp_path):
    """A function that writes something with a writer, and gives the folder."""

    def write(use, **settings):
        with SummaryWriter(tmp_path, **settings) as w:
            use(w)
        return tmp_path

    return write


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


# --- numbers


def test_scalars(written):
    folder = written(
        lambda w: [
            w.add_scalar("a/b c", v, i, walltime=5 + i) for i, v in enumerate((1.5, wisp.tensor(2.5), wisp.ones(1, 1)))
        ]
    )
    found = values(folder)["a/b c"]
    assert [(step, v[2][0]) for step, v in found] == [(0, 1.5), (1, 2.5), (2, 1.0)]
    assert [e[1][0] for e in events(folder)[1:]] == [5, 6, 7]


def test_scalars_of_other_kinds(written):
    def use(w):
        w.add_scalar("new", 2.5, 1, new_style=True)
        w.add_scalar("double", 0.1, 1, new_style=True, double_precision=True)
        w.add_scalar("huge", 1e300, wisp.tensor(7))
        w.add_scalar("nan", math.nan)
        w.add_scalar("history", wisp.ones((), requires_grad=True) * 2)
        w.add_scalar("back", 1, -1)

    folder = written(use)
    assert fields(one(folder, "new")[8][0]) == {1: [1], 5: [2.5]}
    assert fields(fields(one(folder, "new")[9][0])[1][0])[1] == [b"scalars"]
    assert fields(one(folder, "double")[8][0])[6] == [0.1]
    assert values(folder)["huge"][0] == (7, {1: [b"huge"], 2: [math.inf]})
    assert math.isnan(one(folder, "nan")[2][0]) and one(folder, "history")[2] == [2.0]
    assert values(folder)["back"][0][0] == (1 << 64) - 1
    with pytest.raises(AssertionError, match="one element"):
        summary.scalar("x", wisp.ones(2))


def test_several_scalars_are_runs_of_their_own(written):
    folder = written(lambda w: w.add_scalars("run/x", {"a": 1.0, "b": 2.0}, 3))
    assert {p.parent.name for p in files(folder)} == {folder.name, "run_x_a", "run_x_b"}
    assert values(folder / "run_x_b")["run/x"][0] == (3, {1: [b"run/x"], 2: [2.0]})


def test_texts_and_tensors(written):
    def use(w):
        w.add_text("t", "hello **x** ü", 1)
        for name in ("float32", "float64", "int64", "int32", "uint8", "bool", "float16", "complex64"):
            w.add_tensor(name, wisp.tensor([[0, 1, 1]]).to(getattr(wisp, name)))

    folder = written(use)
    text = fields(one(folder, "t/text_summary")[8][0])
    assert text[8] == ["hello **x** ü".encode()] and text[1] == [7]
    as_double = fields(one(folder, "float64")[8][0])
    assert doubles(as_double[4][0]) == [0, 1, 1]
    assert [fields(d)[1][0] for d in fields(as_double[2][0])[2]] == [1, 3]


# --- histograms


def histogram(folder, tag):
    found = fields(one(folder, tag)[5][0])
    return [found[i][0] for i in range(1, 6)], doubles(found[6][0]), doubles(found[7][0])


def test_histograms(written):
    data = wisp.tensor([0.0, 1.0, 1.0, 2.0, -3.0])

    def use(w):
        w.add_histogram("ten", data, 1, bins=10)
        w.add_histogram("default", data, 1)
        w.add_histogram("edges", data.tolist(), 1, bins=[-4, 0, 4])
        w.add_histogram("same", wisp.ones(3), 1, bins=2)
        w.add_histogram("joined", wisp.arange(10.0), 1, bins=10, max_bins=3)
        w.add_histogram("nan", wisp.tensor([1.0, math.nan]))
        w.add_histogram_raw("raw", 0, 3, 4, 5, 6, [1, 2], wisp.tensor([3, 4]), 2)

    folder = written(use)
    facts, limits, counts = histogram(folder, "ten")
    assert facts == [-3, 2, 5, 1, 15]
    assert limits == [-3 + 0.5 * i for i in range(11)] and counts == [0, 1, 0, 0, 0, 0, 0, 1, 0, 2, 1]
    _, limits, counts = histogram(folder, "default")
    assert sum(counts) == 5 and counts[0] == 0 and counts[1] == counts[-1] == 1
    assert limits[0] == pytest.approx(-3.16658330) and limits[-1] == pytest.approx(2.16281900)
    assert histogram(folder, "edges")[1:] == ([-4, 0, 4], [0, 1, 4])
    assert histogram(folder, "same")[1:] == ([1, 1.5], [0, 3])
    assert histogram(folder, "joined")[2] == [0, 3, 3, 3, 1]
    assert sum(histogram(folder, "nan")[2]) == 1
    assert histogram(folder, "raw") == ([0, 3, 4, 5, 6], [1, 2], [3, 4])


def test_histograms_that_cannot_be():
    with pytest.raises(ValueError, match="no element"):
        summary.histogram("x", [], "tensorflow")
    with pytest.raises(ValueError, match="no value lies in a bin"):
        summary.histogram("x", [5.0], [0, 1])
    with pytest.raises(ValueError, match="len\\(bucket_limits\\)"):
        summary.histogram_raw("x", 0, 1, 1, 1, 1, [1], [1, 2])


def test_histograms_by_rules_of_numpy(written):
    numpy = pytest.importorskip("numpy")
    data = wisp.randn(200)
    folder = written(lambda w: w.add_histogram("auto", data, bins="auto"))
    counts, edges = numpy.histogram(data.double().numpy(), "auto")
    assert histogram(folder, "auto")[1:] == (edges.tolist(), [0, *counts.tolist()])


def test_histograms_count_as_numpy_does():
    numpy = pytest.importorskip("numpy")
    data = wisp.randn(500).double() * wisp.randn(500).double().exp()
    edges = summary._edges(data, "tensorflow")
    assert summary._counts(data, edges).tolist() == numpy.histogram(data.numpy(), edges.numpy())[0].tolist()
    assert len(edges) == 1549


# --- pictures and sounds


def unpacked(data):
    """The pixels of a PNG file without filters."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(data):
        (size,), name = struct.unpack_from(">I", data, at), data[at + 4 : at + 8]
        body = data[at + 8 : at + 8 + size]
        assert struct.unpack_from(">I", data, at + 8 + size)[0] == zlib.crc32(name + body)
        parts[name] = body
        at += size + 12
    width, height, depth, kind = struct.unpack_from(">IIBB", parts[b"IHDR"])
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[kind]
    rows = wisp.tensor(list(zlib.decompress(parts[b"IDAT"]))).reshape(height, width * channels + 1)
    assert depth == 8 and not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


def picture(folder, tag):
    found = fields(one(folder, tag)[4][0])
    pixels = unpacked(found[4][0])
    assert [found[i][0] for i in (1, 2, 3)] == list(pixels.shape)
    return pixels


def test_images(written):
    chw = wisp.rand(3, 4, 5)

    def use(w):
        w.add_image("chw", chw)
        w.add_image("hwc", chw.permute(1, 2, 0), dataformats="HWC")
        w.add_image("hw", wisp.full((4, 5), 7, dtype=wisp.uint8), dataformats="HW")
        w.add_image("rgba", wisp.ones(4, 2, 2))
        w.add_image("wild", wisp.tensor([[[math.nan, -3.0, 3.0]]]).expand(3, 1, 3))
        w.add_images("grey", wisp.stack([wisp.full((1, 2, 2), i / 255) for i in range(10)]))
        w.add_images("nhwc", chw.permute(1, 2, 0).unsqueeze(0), dataformats="NHWC")

    folder = written(use)
    wanted = (chw * 255).to(wisp.uint8).permute(1, 2, 0).long()
    for tag in ("chw", "hwc", "nhwc"):
        assert wisp.equal(picture(folder, tag), wanted)
    assert (picture(folder, "hw") == 7).all() and picture(folder, "hw").shape == (4, 5, 3)
    assert picture(folder, "rgba").shape == (2, 2, 4)
    assert picture(folder, "wild")[0, :, 0].tolist() == [0, 0, 255]
    grid = picture(folder, "grey")
    assert (
        grid.shape == (4, 16, 3)
        and grid[0, ::2, 0].tolist() == list(range(8))
        and grid[2, ::2, 0].tolist()[:3] == [8, 9, 0]
    )


def test_images_that_cannot_be():
    for data, order, error in ((wisp.ones(2, 2), "CHW", "are different"), (wisp.ones(2, 2, 2), "CCH", "twice")):
        with pytest.raises(AssertionError, match=error):
            summary.image("x", data, dataformats=order)
    with pytest.raises(ValueError, match="an order of NCHW, CHW or HW"):
        summary.image("x", wisp.ones(2, 2, 2), dataformats="ABC")


def test_images_with_boxes(written):
    def use(w):
        w.add_image_with_boxes("b", wisp.zeros(3, 20, 30), wisp.tensor([[2, 3, 10, 12.0], [25.0, -4, 99, 99]]))
        w.add_image_with_boxes("large", wisp.zeros(3, 20, 30), wisp.tensor([2, 3, 10, 12.0]), rescale=2)

    folder = written(use)
    red = (picture(folder, "b") == wisp.tensor([255, 0, 0])).all(-1)
    assert red[3, 2:11].all() and red[12, 2:11].all() and red[3:13, 2].all() and red[3:13, 10].all()
    assert red[:, 29].all() and not red[5, 3:10].any() and red.sum() == 34 + 2 * 20 + 2 * 3
    assert picture(folder, "large").shape == (40, 60, 3)


def test_labels_of_boxes(written):
    pytest.importorskip("PIL")
    boxes = wisp.tensor([[2, 30, 30, 38.0]])
    folder = written(lambda w: w.add_image_with_boxes("b", wisp.zeros(3, 40, 50), boxes, labels="cat"))
    assert picture(folder, "b").sum() > 255 * 80


def test_videos(written):
    image = pytest.importorskip("PIL.Image")
    from io import BytesIO

    video = wisp.rand(3, 4, 3, 8, 10)
    folder = written(lambda w: w.add_video("v", video, fps=10))
    found = fields(one(folder, "v")[4][0])
    made = image.open(BytesIO(found[4][0]))
    assert made.n_frames == 4 and made.size == (found[2][0], found[1][0]) == (20, 16)
    with pytest.raises(ValueError, match="5 dimensions"):
        summary.video("v", wisp.ones(3, 3))


def test_sounds(written):
    import wave
    from io import BytesIO

    samples = wisp.tensor([[0.0, 0.5, -1.0, 1.0]])
    folder = written(lambda w: w.add_audio("a", samples, sample_rate=8000))
    found = fields(one(folder, "a")[6][0])
    assert found[1] == [8000.0] and found[2] == [1] and found[3] == [4] and found[5] == [b"audio/wav"]
    with wave.open(BytesIO(found[4][0])) as made:
        assert (made.getframerate(), made.getnchannels(), made.getsampwidth()) == (8000, 1, 2)
        assert struct.unpack("<4h", made.readframes(4)) == (0, 16383, -32767, 32767)
    with pytest.warns(UserWarning, match="auto clipped"):
        summary.audio("a", wisp.tensor([2.0, 0.0]))
    with pytest.raises(AssertionError, match="1 dimensional"):
        summary.audio("a", wisp.ones(2, 2))


def test_figures(written):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    figure, _ = pyplot.subplots(figsize=(1, 2), dpi=50)
    folder = written(lambda w: w.add_figure("f", figure))
    assert picture(folder, "f").shape == (100, 50, 3)
    assert not pyplot.fignum_exists(figure.number)


# --- curves, charts, meshes, embeddings


def numbers(tensor_proto):
    found = fields(tensor_proto)
    data = found[4][0]
    return list(struct.unpack(f"<{len(data) // 4}f", data))


def test_curves_of_precision_and_recall(written):
    def use(w):
        w.add_pr_curve("c", wisp.tensor([0, 1, 1, 0]), wisp.tensor([0.1, 0.8, 0.4, 0.6]), 1, num_thresholds=5)
        w.add_pr_curve_raw("r", [1, 1], [1, 0], [0, 1], [0, 1], [0.5, 1.0], [1.0, 0.5], num_thresholds=2)
        w.add_pr_curve("w", [0, 1], [0.1, 0.9], weights=0.5, num_thresholds=300)

    folder = written(use)
    curve = one(folder, "c")
    assert numbers(curve[8][0]) == pytest.approx(
        [2, 2, 1, 1, 0, 2, 1, 1, 0, 0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 0.5, 2 / 3, 0.5, 1, 0, 1, 1, 0.5, 0.5, 0]
    )
    plugin = fields(fields(curve[9][0])[1][0])
    assert plugin[1] == [b"pr_curves"] and fields(plugin[2][0]) == {2: [5]}
    assert numbers(one(folder, "r")[8][0]) == [1, 1, 1, 0, 0, 1, 0, 1, 0.5, 1, 1, 0.5]
    assert numbers(one(folder, "w")[8][0])[0] == 0.5


def test_custom_charts(written):
    layout = {"A": {"x": ["Multiline", ["a", "b"]]}, "B": {"y": ["Margin", ["m", "l", "u"]]}}
    folder = written(lambda w: (w.add_custom_scalars(layout), w.add_custom_scalars_multilinechart(["a"]),
                                w.add_custom_scalars_marginchart(["m", "l", "u"])))  # fmt: skip
    (_, first), (_, second), (_, third) = values(folder)["custom_scalars__config__"]
    categories = [fields(c) for c in fields(fields(first[8][0])[8][0])[2]]
    assert [c[1] for c in categories] == [[b"A"], [b"B"]]
    assert fields(fields(categories[0][2][0])[2][0])[1] == [b"a", b"b"]
    assert fields(fields(fields(categories[1][2][0])[3][0])[1][0]) == {1: [b"m"], 2: [b"l"], 3: [b"u"]}
    assert b"untitled" in second[8][0] and b"default" in third[8][0]
    with pytest.raises(AssertionError, match="three tags"):
        summary.custom_scalars({"A": {"x": ["Margin", ["a"]]}})


def test_meshes(written):
    points = wisp.rand(1, 4, 3)
    folder = written(
        lambda w: w.add_mesh("m", points, faces=wisp.zeros(1, 2, 3, dtype=wisp.int32), config_dict={"a": 1})
    )
    assert {tag for tag in values(folder)} == {"m_VERTEX", "m_FACE"}
    vertex = one(folder, "m_VERTEX")
    assert numbers(vertex[8][0]) == pytest.approx(points.flatten().tolist())
    plugin = fields(fields(fields(vertex[9][0])[1][0])[2][0])
    assert plugin == {2: [b"m"], 3: [1], 5: [b'{"a": 1}'], 6: [1, 4, 3], 7: [6]}


def test_embeddings(written):
    def use(w):
        w.add_embedding(wisp.tensor([[0.5, 1], [2, 3], [4, 5]]), ["a", "b", "c"], wisp.rand(3, 3, 4, 4), 2, "first one")
        w.add_embedding([[1.0, 2.0]], [["a", 1]], metadata_header=["l", "n"])
        with pytest.warns(UserWarning, match="Embedding dir exists"):
            w.add_embedding([[1.0, 2.0]])

    folder = written(use)
    home = folder / "00002" / "first%%20one"
    assert (home / "tensors.tsv").read_text() == "0.5\t1.0\n2.0\t3.0\n4.0\t5.0\n"
    assert (home / "metadata.tsv").read_text() == "a\nb\nc\n"
    assert unpacked((home / "sprite.png").read_bytes()).shape == (8, 8, 3)
    assert (folder / "00000" / "default" / "metadata.tsv").read_text() == "l\tn\na\t1\n"
    listed = (folder / "projector_config.pbtxt").read_text()
    assert (
        listed.count("embeddings {") == 3
        and 'tensor_name: "first one:00002"' in listed
        and "single_image_dim: 4" in listed
    )


@pytest.mark.parametrize(("arguments", "error"), [
    (([1.0, 2.0],), "should be 2D"),
    (([[1.0, 2.0]], ["a", "b"]), "#labels"),
    (([[1.0, 2.0]], None, wisp.ones(2, 3, 4, 4)), "#images"),
    (([[1.0, 2.0]], None, wisp.ones(1, 3, 4, 5)), "square"),
])  # fmt: skip
def test_embeddings_that_cannot_be(tmp_path, arguments, error):
    with SummaryWriter(tmp_path) as w, pytest.raises(AssertionError, match=error):
        w.add_embedding(*arguments)


def test_hyperparameters(written):
    def use(w):
        w.add_hparams({"lr": 0.1, "n": wisp.tensor(3), "fast": True, "name": "x", "none": None}, {"acc": 0.5},
                      {"lr": [0.1, 0.2]}, run_name="run", global_step=4)  # fmt: skip

    folder = written(use)
    found = values(folder / "run")
    assert found["acc"][0] == (4, {1: [b"acc"], 2: [0.5]})
    contents = [fields(fields(fields(found[f"_hparams_/{name}"][0][1][9][0])[1][0])[2][0]) for name in
                ("experiment", "session_start_info", "session_end_info")]  # fmt: skip
    experiment = fields(contents[0][2][0])
    infos = [fields(info) for info in experiment[4]]
    assert [(i[1][0], i[4][0]) for i in infos] == [(b"lr", 3), (b"n", 3), (b"fast", 2), (b"name", 1)]
    entries = {fields(e)[1][0]: fields(fields(e)[2][0]) for e in fields(contents[1][3][0])[1]}
    assert entries == {b"lr": {2: [0.1]}, b"n": {2: [3.0]}, b"fast": {4: [1]}, b"name": {3: [b"x"]}}
    assert fields(contents[2][4][0]) == {1: [1]}


def test_hyperparameters_that_cannot_be():
    with pytest.raises(TypeError, match="should be dictionary"):
        summary.hparams([], {})
    with pytest.raises(ValueError, match="value should be one of"):
        summary.hparams({"x": []}, {})
    with pytest.raises(TypeError, match="same type"):
        summary.hparams({"x": 1.0}, {}, {"x": ["a"]})


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


# --- TensorBoard itself


@pytest.fixture
def board(tmp_path):
    if importlib.util.find_spec("tensorboard") is None:
        pytest.skip("needs tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    def load(use):
        with SummaryWriter(tmp_path) as w:
            use(w)
        return EventAccumulator(str(tmp_path), {"tensors": 0, "images": 0, "histograms": 0}).Reload()

    return load


def test_tensorboard_reads_numbers_pictures_and_histograms(board):
    def use(w):
        w.add_scalar("loss", 0.5, 3)
        w.add_histogram("h", wisp.arange(10.0), 1)
        w.add_image("i", wisp.rand(3, 4, 5), 1)
        w.add_audio("s", wisp.rand(100), 1)
        w.add_tensor("t", wisp.tensor([[1.0, 2.0]]))
        w.add_text("x", "hello")
        w.add_graph(Model(), (wisp.ones(4, 2), wisp.ones(4, 2)))

    from tensorboard.util import tensor_util

    read = board(use)
    tags = read.Tags()
    assert tags["scalars"] == ["loss"] and tags["images"] == ["i"] and tags["audio"] == ["s"] and tags["graph"]
    (event,) = read.Scalars("loss")
    assert (event.step, event.value) == (3, 0.5)
    assert read.Histograms("h")[0].histogram_value.num == 10
    assert read.Images("i")[0].width == 5
    assert tensor_util.make_ndarray(read.Tensors("t")[0].tensor_proto).tolist() == [[1, 2]]
    assert tensor_util.make_ndarray(read.Tensors("x/text_summary")[0].tensor_proto).tolist() == [b"hello"]
    names = [node.name for node in read.Graph().node]
    assert "Model/Sequential[block]/ReLU[1]" in names
    shapes = {n.name: n.attr["_output_shapes"].list.shape for n in read.Graph().node}
    assert [d.size for d in shapes["Model/Linear[last]"][0].dim] == [4, 1]


def test_tensorboard_reads_hyperparameters_and_meshes(board, tmp_path):
    from tensorboard.plugins.hparams import plugin_data_pb2
    from tensorboard.plugins.mesh import metadata as mesh_metadata
    from tensorboard.plugins.projector.projector_config_pb2 import ProjectorConfig

    def use(w):
        w.add_mesh("m", wisp.rand(1, 4, 3), wisp.zeros(1, 4, 3))
        w.add_embedding(wisp.rand(2, 2), ["a", "b"], wisp.rand(2, 1, 4, 4))
        for part in summary.hparams({"lr": 0.1, "on": True}, {"acc": 1.0}):
            w.file_writer.add_summary(part)

    read = board(use)
    content = read.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    start = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info
    assert start.hparams["lr"].number_value == 0.1 and start.hparams["on"].bool_value is True
    vertices = mesh_metadata.parse_plugin_metadata(read.SummaryMetadata("m_VERTEX").plugin_data.content)
    assert vertices.name == "m" and list(vertices.shape) == [1, 4, 3]
    from google.protobuf import text_format

    config = text_format.Parse((tmp_path / "projector_config.pbtxt").read_text(), ProjectorConfig())
    assert list(config.embeddings[0].sprite.single_image_dim) == [4, 4]


# --- documentation


def test_examples(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    for module in (writer, _records):
        assert doctest.testmod(module).failed == 0
    page = pathlib.Path(__file__).parent.parent / "docs" / "tensorboard.md"
    if page.exists():
        guide = doctest.DocTestParser().get_doctest(page.read_text().replace("```", "\n"), {}, page.name, str(page), 0)
        assert doctest.DocTestRunner().run(guide).failed == 0
