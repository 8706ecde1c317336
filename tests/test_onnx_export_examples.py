"""Exporting the networks of the examples, and representative ones in every version of ONNX."""

import importlib.util
import pathlib
import sys
import types

import pytest

onnx = pytest.importorskip("onnx")

import wisp
from tests.onnx_exports import arrays, assert_same, export_and_check, has_runtime, results, run_in_runtime, size_names
from wisp import nn
from wisp.onnx._export import OLDEST_OPSET

R = wisp.randn
FOLDER = pathlib.Path(__file__).parent.parent / "examples"
needs_examples = pytest.mark.skipif(not FOLDER.exists(), reason="the examples are not here")


@pytest.fixture
def example(monkeypatch):
    """Loads an example as a module. What it takes its data from need not be installed."""
    for name, function in (("sklearn", None), ("sklearn.datasets", "load_digits"), ("gymnasium", "make")):
        stand_in = types.ModuleType(name)
        setattr(stand_in, function or "datasets", None)
        monkeypatch.setitem(sys.modules, name, stand_in)

    def load(name):
        spec = importlib.util.spec_from_file_location(f"exported_{name}", FOLDER / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load


def codes(*sizes):
    return wisp.randint(0, 11, sizes)


NETWORKS = {
    "digits_cnn": lambda example: (example.Net(), R(2, 1, 8, 8)),
    "fine_tuning": lambda example: (example.network(), R(2, 1, 8, 8)),
    "lstm_language_model": lambda example: (example.Model(11, 6, 2), codes(5, 2)),
    "char_gpt": lambda example: (example.GPT(11, 8, 12, 2, 2), codes(2, 5)),
}


@needs_examples
@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_networks_of_examples(example, name):
    model, x = NETWORKS[name](example(name))
    exported = export_and_check(model, x, tolerance=1e-4)
    assert any(size_names(exported)[0])


@needs_examples
def test_adversaries(example):
    dcgan = example("dcgan")
    drawn = export_and_check(dcgan.generator(6, 4), R(2, 6, 1, 1), tolerance=1e-4)
    judged = export_and_check(dcgan.discriminator(4), R(2, 1, 8, 8), tolerance=1e-4)
    assert size_names(drawn)[0][0] == size_names(judged)[0][0] == "input_dim_0"


@needs_examples
def test_actor_and_critic(example):
    model = example("actor_critic").ActorCritic(8)

    def decision(state):
        chances, value = model(state)
        return chances.probs, value

    export_and_check(decision, R(3, 4))


@needs_examples
def test_autoencoder(example):
    model = example("vae").VAE(12, 4)
    export_and_check(model.encoder, R(3, 64))
    export_and_check(model.decoder, R(3, 4))
    x = R(3, 64)
    exported = wisp.onnx.export(model, x)
    assert "RandomNormalLike" in [node.op_type for node in exported.graph.node]
    if has_runtime():  # the picture is random, what it is drawn from is not
        assert_same(run_in_runtime(exported, arrays(exported, [x]))[1:], results(model, (x,))[1:], 1e-5, "onnxruntime")


@needs_examples
def test_tree(example):
    model = example("tree_network").TreeNetwork(4, ("true", "false"))
    formulas = ("and", "true", ("not", "false")), ("or", ("not", "true"), "false")
    export_and_check(lambda scale: model(formulas) * scale, R(1))


def test_small_examples():
    export_and_check(nn.Linear(3, 1), R(5, 3))
    export_and_check(nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.6), nn.ReLU(), nn.Linear(8, 2)), R(3, 4))
    first, second = R(10, 6), R(6, 3)
    export_and_check(lambda x: x.mm(first).clamp(min=0).mm(second), R(4, 10))


# --- versions


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.GroupNorm(2, 8),
            nn.Upsample(scale_factor=2), nn.Hardswish(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        )  # fmt: skip
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(self.body(x)).log_softmax(-1)


class Reductions(nn.Module):
    def forward(self, x):
        largest, places = x.topk(2, 1)
        return x.var(1), x.mean((0, 1)), largest.clamp(-1, 1), places, x.norm(dim=-1), x.cumsum(1).amax(0)


def recurrent():
    return nn.LSTM(3, 4, batch_first=True, bidirectional=True)


REPRESENTATIVE = {
    "convolutions": (Convolutions, (2, 3, 8, 8)), "recurrent": (recurrent, (2, 5, 3)),
    "attention": (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu"), (2, 5, 8)),
    "reductions": (Reductions, (2, 5, 3)),
}  # fmt: skip


@pytest.mark.parametrize("opset", range(OLDEST_OPSET, onnx.defs.onnx_opset_version() + 1))
@pytest.mark.parametrize("name", REPRESENTATIVE)
def test_every_version(opset, name):
    make, sizes = REPRESENTATIVE[name]
    exported = export_and_check(make(), R(sizes), opset_version=opset, tolerance=1e-4)
    assert exported.opset_import[0].version == opset


def test_versions_that_onnx_does_not_have():
    for version in (OLDEST_OPSET - 1, onnx.defs.onnx_opset_version() + 1):
        with pytest.raises(ValueError, match="opset_version"):
            wisp.onnx.export(nn.ReLU(), R(2), opset_version=version)
