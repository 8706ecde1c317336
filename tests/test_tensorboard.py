"""What event files hold: read back by a reader of our own, and by TensorBoard itself where it is installed."""

import importlib.util
import math
import struct

import pytest

import wisp
from tests.event_files import doubles, events, fields, files, numbers, one, picture, unpacked, values
from wisp import nn
from wisp.utils.tensorboard import SummaryWriter, summary

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


def test_histograms_with_odd_edges(written):
    data = wisp.tensor([1.0, 2, 3, math.nan, 5, math.inf, -math.inf])
    folder = written(lambda w: w.add_histogram("open", data, bins=[1, 2, math.inf]))
    assert histogram(folder, "open")[1:] == ([1, 2, math.inf], [0, 1, 4])
    with pytest.raises(ValueError, match="must increase monotonically"):
        summary.histogram("x", data, [2, 1])


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
    with pytest.raises(TypeError, match="1 to 4 channels, got 5"):
        summary.image("x", wisp.zeros(5, 4, 4), dataformats="CHW")


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
        w.add_graph(nn.Sequential(nn.Linear(2, 3), nn.ReLU()), wisp.ones(4, 2))

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
    assert "Sequential/ReLU[1]" in names
    shapes = {n.name: n.attr["_output_shapes"].list.shape for n in read.Graph().node}
    assert [d.size for d in shapes["Sequential/Linear[0]"][0].dim] == [4, 3]


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
