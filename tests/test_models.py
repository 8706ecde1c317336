"""Networks: sizes, names, initialisation, and what they compute."""

import functools
import importlib
import io
import math
import pathlib
import sys
import types

import numpy as np
import pytest

import wisp
from tests import fresh, oracle
from wisp import models, nn

COUNTS = {
    "alexnet": 61_100_840, "densenet121": 7_978_856, "densenet161": 28_681_000, "densenet169": 14_149_480,
    "densenet201": 20_013_928, "googlenet": 13_004_888, "inception_v3": 27_161_264, "mobilenet_v2": 3_504_872,
    "mobilenet_v3_large": 5_483_032, "mobilenet_v3_small": 2_542_856, "resnet18": 11_689_512, "resnet34": 21_797_672,
    "resnet50": 25_557_032, "resnet101": 44_549_160, "resnet152": 60_192_808, "resnext50_32x4d": 25_028_904,
    "resnext101_32x8d": 88_791_336, "resnext101_64x4d": 83_455_272, "squeezenet1_0": 1_248_424, "squeezenet1_1": 1_235_496,
    "vgg11": 132_863_336, "vgg11_bn": 132_868_840, "vgg13": 133_047_848, "vgg13_bn": 133_053_736, "vgg16": 138_357_544,
    "vgg16_bn": 138_365_992, "vgg19": 143_667_240, "vgg19_bn": 143_678_248, "vit_b_16": 86_567_656, "vit_b_32": 88_224_232,
    "vit_h_14": 632_045_800, "vit_l_16": 304_326_632, "vit_l_32": 306_535_400, "wide_resnet50_2": 68_883_240,
    "wide_resnet101_2": 126_886_696,
}  # fmt: skip


@pytest.fixture
def no_initialisation(monkeypatch):
    """Parameters stay as they come from memory that nobody touched: large networks then cost nothing."""
    for name in ("kaiming_normal_", "kaiming_uniform_", "normal_", "uniform_", "trunc_normal_", "zeros_", "ones_", "constant_",
                 "xavier_uniform_"):  # fmt: skip
        monkeypatch.setattr(nn.init, name, lambda tensor, *args, **kwargs: tensor)
    for layer in (nn.Linear, nn.Conv2d, nn.BatchNorm2d, nn.LayerNorm, nn.Embedding):
        monkeypatch.setattr(layer, "reset_parameters", lambda self: None)


@pytest.mark.parametrize("name", COUNTS)
def test_as_many_parameters_as_published(name, no_initialisation):
    assert sum(p.numel() for p in models.get_model(name).parameters()) == COUNTS[name]


def test_every_network_is_listed():
    assert set(models.list_models()) == {*COUNTS, "gpt", "lstm_language_model"}
    assert models.list_models(include="vit*", exclude=["*l_*", "*h_*"]) == ["vit_b_16", "vit_b_32"]
    assert models.list_models(module=models.squeezenet) == ["squeezenet1_0", "squeezenet1_1"]
    assert models.get_model_builder("ResNet18") is models.resnet18
    with pytest.raises(ValueError, match=r"Unknown model resnet19. Did you mean: 'resnet18'?"):
        models.get_model("resnet19")
    with pytest.raises(AttributeError, match="Did you mean: 'alexnet'"):
        models.alexnett  # noqa: B018
    assert all(hasattr(models, name) for name in models.__all__)


def test_networks_are_imported_one_by_one():
    loaded = set(fresh.python("import wisp, sys; wisp.models.AlexNet; print(*sys.modules)").split())
    assert "wisp.models._alexnet" in loaded and "wisp.models.resnet" not in loaded
    assert callable(models.alexnet) and callable(models.googlenet) and callable(models.gpt)


KEYS = {
    "alexnet": {"features.0.weight": (64, 3, 11, 11), "features.10.bias": (256,), "classifier.6.weight": (1000, 4096)},
    "vgg16_bn": {"features.0.weight": (64, 3, 3, 3), "features.41.running_mean": (512,), "classifier.0.weight": (4096, 25088)},
    "resnet50": {"conv1.weight": (64, 3, 7, 7), "layer1.0.downsample.1.num_batches_tracked": (), "layer4.2.conv3.weight": (2048, 512, 1, 1),
                 "layer3.5.bn2.running_var": (256,), "fc.weight": (1000, 2048)},
    "resnext50_32x4d": {"layer1.0.conv2.weight": (128, 4, 3, 3)},
    "mobilenet_v2": {"features.0.0.weight": (32, 3, 3, 3), "features.1.conv.1.weight": (16, 32, 1, 1), "features.2.conv.1.0.weight": (96, 1, 3, 3),
                     "features.18.1.running_mean": (1280,), "classifier.1.weight": (1000, 1280)},
    "mobilenet_v3_large": {"features.1.block.0.0.weight": (16, 1, 3, 3), "features.4.block.2.fc1.weight": (24, 72, 1, 1),
                           "features.16.0.weight": (960, 160, 1, 1), "classifier.3.weight": (1000, 1280)},
    "mobilenet_v3_small": {"features.1.block.1.fc2.bias": (16,), "features.12.0.weight": (576, 96, 1, 1), "classifier.0.weight": (1024, 576)},
    "densenet121": {"features.conv0.weight": (64, 3, 7, 7), "features.denseblock3.denselayer24.conv2.weight": (32, 128, 3, 3),
                    "features.transition2.conv.weight": (256, 512, 1, 1), "features.norm5.bias": (1024,), "classifier.bias": (1000,)},
    "squeezenet1_0": {"features.3.squeeze.weight": (16, 96, 1, 1), "features.12.expand3x3.bias": (256,), "classifier.1.weight": (1000, 512, 1, 1)},
    "vit_b_32": {"class_token": (1, 1, 768), "conv_proj.weight": (768, 3, 32, 32), "encoder.pos_embedding": (1, 50, 768),
                 "encoder.layers.encoder_layer_11.self_attention.in_proj_weight": (2304, 768), "encoder.layers.encoder_layer_0.mlp.3.bias": (768,),
                 "encoder.layers.encoder_layer_0.self_attention.out_proj.weight": (768, 768), "encoder.ln.weight": (768,), "heads.head.weight": (1000, 768)},
    "googlenet": {"conv1.conv.weight": (64, 3, 7, 7), "inception4d.branch3.1.bn.bias": (64,), "inception5b.branch4.1.conv.weight": (128, 832, 1, 1),
                  "aux2.fc1.weight": (1024, 2048), "fc.bias": (1000,)},
    "inception_v3": {"Conv2d_1a_3x3.conv.weight": (32, 3, 3, 3), "Mixed_6b.branch7x7dbl_4.conv.weight": (128, 128, 7, 1),
                     "Mixed_7c.branch3x3_2b.bn.weight": (384,), "AuxLogits.conv1.conv.weight": (768, 128, 5, 5), "fc.weight": (1000, 2048)},
}  # fmt: skip
TENSORS = {"alexnet": 16, "vgg16_bn": 97, "resnet50": 320, "resnext50_32x4d": 320, "mobilenet_v2": 314, "mobilenet_v3_large": 312, "mobilenet_v3_small": 244,
           "densenet121": 727, "squeezenet1_0": 52, "vit_b_32": 152, "googlenet": 364, "inception_v3": 580}  # fmt: skip


@pytest.mark.parametrize("name", KEYS)
def test_names_and_shapes_of_published_weights(name, no_initialisation):
    state = models.get_model(name).state_dict()
    for key, shape in KEYS[name].items():
        assert tuple(state[key].shape) == shape, key
    assert len(state) == TENSORS[name]


SMALL = {
    "alexnet": {}, "squeezenet1_0": {}, "squeezenet1_1": {}, "resnet18": {}, "mobilenet_v2": {"width_mult": 0.5}, "mobilenet_v3_small": {}, "mobilenet_v3_large": {"dilated": True, "reduced_tail": True},
    "densenet121": {"drop_rate": 0.1}, "googlenet": {}, "resnext50_32x4d": {"replace_stride_with_dilation": (False, True, True)},
}  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_networks_compute_and_learn(name):
    model = models.get_model(name, num_classes=4, **SMALL[name])
    x = wisp.randn(2, 3, 64, 64)
    out = model(x)
    outs = out if isinstance(out, tuple) else (out,)
    assert all(o.shape == (2, 4) for o in outs)
    sum(o.square().sum() for o in outs).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())
    with wisp.no_grad():
        assert model.eval()(x).shape == (2, 4)


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="3-element tuple"):
        models.resnet18(replace_stride_with_dilation=[True])
    with pytest.raises(ValueError, match="BasicBlock"):
        models.resnet18(groups=2)
    with pytest.raises(ValueError, match="version"):
        models.SqueezeNet("2_0")
    with pytest.raises(ValueError, match="patch size"):
        models.VisionTransformer(30, 16, 1, 1, 8, 8)
    with pytest.raises(ValueError, match="4-element"):
        models.MobileNetV2(inverted_residual_setting=[[1]])
    with pytest.raises(ValueError, match="Expected 32 x 32 but got 16 x 32"):
        models.VisionTransformer(32, 16, 1, 1, 8, 8)(wisp.zeros(1, 3, 16, 32))


# --- initialisation


def test_initialisation_as_published():
    model = models.resnet18(num_classes=10)
    assert model.layer4[1].conv2.weight.std().item() == pytest.approx(math.sqrt(2 / (512 * 9)), rel=0.01)
    assert (model.bn1.weight == 1).all() and (model.bn1.bias == 0).all()
    zeroed = models.resnet18(num_classes=10, zero_init_residual=True)
    assert (zeroed.layer1[0].bn2.weight == 0).all() and (zeroed.layer1[0].bn1.weight == 1).all()
    mobile = models.mobilenet_v2(num_classes=100)
    assert (
        mobile.classifier[1].weight.std().item() == pytest.approx(0.01, rel=0.02)
        and (mobile.classifier[1].bias == 0).all()
    )
    assert mobile.features[18][0].weight.std().item() == pytest.approx(math.sqrt(2 / 1280), rel=0.01)
    vit = models.VisionTransformer(32, 16, 1, 2, 64, 128, num_classes=5)
    assert (vit.heads.head.weight == 0).all() and (vit.class_token == 0).all()
    assert vit.conv_proj.weight.std().item() == pytest.approx(math.sqrt(1 / 768), rel=0.02)
    squeeze = models.squeezenet1_1(num_classes=200)
    assert squeeze.classifier[1].weight.std().item() == pytest.approx(0.01, rel=0.02)
    assert squeeze.features[3].squeeze.weight.abs().max() <= math.sqrt(6 / 64)
    google = models.GoogLeNet(num_classes=3)
    assert google.inception4a.branch2[1].conv.weight.std().item() == pytest.approx(0.01, rel=0.03)
    inception = models.inception_v3(num_classes=300)
    assert inception.Mixed_6e.branch7x7_2.conv.weight.std().item() == pytest.approx(0.1, rel=0.02)
    assert inception.AuxLogits.fc.weight.std().item() == pytest.approx(0.001, rel=0.02)
    dense = models.densenet121(num_classes=3)
    assert (dense.classifier.bias == 0).all()


# --- weights


def test_weights_from_files(tmp_path):
    first = models.squeezenet1_1(num_classes=3)
    wisp.save(first.state_dict(), tmp_path / "ours")
    wisp.save(first.state_dict(), tmp_path / "theirs.pth", format="torch")
    wisp.save(
        {"epoch": 1, "state_dict": {f"module.{k}": v for k, v in first.state_dict().items()}}, tmp_path / "checkpoint"
    )
    for weights in (tmp_path / "ours", str(tmp_path / "theirs.pth"), tmp_path / "checkpoint", first.state_dict()):
        model = models.squeezenet1_1(weights=weights, num_classes=3)
        assert all(wisp.equal(a, b) for a, b in zip(model.state_dict().values(), first.state_dict().values()))
    with pytest.raises(FileNotFoundError, match="downloads no weights"):
        models.squeezenet1_1(weights="IMAGENET1K_V1")
    with pytest.raises(TypeError, match="path or a state_dict"):
        models.squeezenet1_1(weights=True)
    with pytest.raises(RuntimeError, match="size mismatch"):
        models.squeezenet1_1(weights=tmp_path / "ours", num_classes=4)


def test_old_names_in_published_files():
    dense = models.densenet121(num_classes=2)
    old = {}
    for key, value in dense.state_dict().items():
        parts = key.split(".")
        if "denselayer" in key:
            parts[3:4] = [parts[3][:-1], parts[3][-1]]
        if parts[-1] != "num_batches_tracked":
            old[".".join(parts)] = value
    assert "features.denseblock1.denselayer1.norm.1.weight" in old
    assert wisp.equal(models.densenet121(weights=old, num_classes=2).features.norm5.weight, dense.features.norm5.weight)

    vit = models.VisionTransformer(32, 16, 1, 2, 8, 16, num_classes=2)
    old = {
        key.replace("mlp.0", "mlp.linear_1").replace("mlp.3", "mlp.linear_2"): value
        for key, value in vit.state_dict().items()
    }
    assert "encoder.layers.encoder_layer_0.mlp.linear_1.weight" in old
    vit.load_state_dict(old)


def test_classifiers_half_way():
    model = models.googlenet(num_classes=3)
    assert type(model(wisp.randn(2, 3, 64, 64))) is models.GoogLeNetOutputs
    assert isinstance(models.googlenet(num_classes=3, aux_logits=False)(wisp.randn(2, 3, 64, 64)), wisp.Tensor)
    loaded = models.googlenet(weights=model.state_dict(), num_classes=3)
    assert loaded.aux1 is None and loaded.transform_input
    kept = models.googlenet(weights=model.state_dict(), num_classes=3, aux_logits=True)
    assert kept.aux1 is not None
    assert wisp.equal(loaded.fc.weight, model.fc.weight)


# --- sequences


def small_gpt(**kwargs):
    return models.gpt(**{"block_size": 16, "vocab_size": 11, "n_layer": 2, "n_head": 2, "n_embd": 16, **kwargs})


def test_gpt_has_the_size_of_gpt_2(no_initialisation):
    model = models.gpt(vocab_size=50257)
    assert sum(p.numel() for p in model.parameters()) == 124_439_808
    assert model.get_num_params() == 124_439_808 - 1024 * 768
    assert {
        "transformer.wte.weight",
        "transformer.h.11.attn.c_attn.bias",
        "transformer.h.0.mlp.c_fc.weight",
        "lm_head.weight",
    } <= set(model.state_dict())


def test_gpt_sees_only_what_came_before():
    model = small_gpt().eval()
    x = wisp.randint(0, 11, (1, 8))
    other = x.clone()
    other[0, 5] = (other[0, 5] + 1) % 11
    a, b = (model(t, t)[0] for t in (x, other))
    assert wisp.equal(a[:, :5], b[:, :5]) and not wisp.equal(a[:, 5:], b[:, 5:])
    assert wisp.allclose(model(x)[0][:, -1], a[:, -1], atol=1e-6) and model(x)[1] is None


def test_gpt_learns_to_count():
    model = small_gpt(n_embd=32)
    optimizer = wisp.optim.AdamW(model.parameters(), lr=0.01)
    start = wisp.arange(11).unsqueeze(1)
    tokens = (start + wisp.arange(12)) % 11
    for _ in range(60):
        optimizer.zero_grad()
        _, loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.1
    assert model.eval().generate(wisp.tensor([[3, 4]]), 20, temperature=0).tolist() == [
        [(3 + i) % 11 for i in range(22)]
    ]


def test_gpt_draws_from_the_most_likely():
    model = small_gpt().eval()
    x = wisp.tensor([[1], [2]])
    likely = model(x)[0][:, -1].topk(2).indices
    drawn = wisp.cat([model.generate(x, 1, top_k=2)[:, 1:] for _ in range(20)], 1)
    assert all(set(row.tolist()) <= set(best.tolist()) for row, best in zip(drawn, likely))


def test_gpt_can_be_cropped_and_checks_lengths():
    model = small_gpt()
    model.crop_block_size(4)
    assert model(wisp.zeros(1, 4, dtype=wisp.int64))[0].shape == (1, 1, 11)
    with pytest.raises(ValueError, match="length 5, block size is only 4"):
        model(wisp.zeros(1, 5, dtype=wisp.int64))
    with pytest.raises(ValueError):
        model.crop_block_size(5)
    with pytest.raises(ValueError, match="multiple"):
        small_gpt(n_embd=15)
    tied = io.BytesIO()
    wisp.save(small_gpt().state_dict(), tied)
    assert len(tied.getvalue()) < 4 * 16 * (11 + 16 + 2 * (12 * 16 + 13)) + 12_000


def test_lstm_language_model():
    model = models.lstm_language_model(ntoken=7, ninp=12, nhid=12, tie_weights=True, dropout=0.0)
    assert model.encoder.weight is model.decoder.weight
    x = wisp.randint(0, 7, (6, 3))
    scores, hidden = model(x)
    assert scores.shape == (6, 3, 7) and [h.shape for h in hidden] == [(2, 3, 12)] * 2
    first, state = model(x[:4], model.init_hidden(3))
    second, _ = model(x[4:], state)
    assert wisp.allclose(wisp.cat([first, second]), scores, atol=1e-6)
    assert model.generate(x, 5).shape == (11, 3) and wisp.equal(model.generate(x, 2, temperature=0)[:6], x)
    with pytest.raises(ValueError, match="tied"):
        models.LSTMLanguageModel(5, 3, 4, tie_weights=True)


# --- the same files with PyTorch in wisp's place


@functools.cache
def in_torch(file):
    """A file of the package as a module that uses PyTorch."""
    folder = pathlib.Path(models.__file__).parent
    text = (
        (folder / f"{file}.py")
        .read_text()
        .replace("wisp.models.", "wisp_models_in_torch.")
        .replace("from wisp", "from torch")
    )
    text = text.replace("torch_models_in_torch", "wisp_models_in_torch").replace(
        "torch.serialization", "wisp.serialization"
    )
    module = types.ModuleType(f"wisp_models_in_torch.{file}")
    sys.modules.setdefault("wisp_models_in_torch", types.ModuleType("wisp_models_in_torch"))
    sys.modules[module.__name__] = module
    exec(compile(text, file, "exec"), module.__dict__)  # noqa: S102
    return module


@pytest.mark.skipif(not oracle.HAS_TORCH, reason="needs PyTorch")
@pytest.mark.parametrize(
    "name",
    ["resnet18", "resnet50", "mobilenet_v2", "mobilenet_v3_small", "densenet121", "squeezenet1_1", "googlenet", "vit"],
)
def test_the_same_numbers_as_with_pytorch(name):
    import torch

    file = models._HOME_OF["vit_b_16" if name == "vit" else name]
    in_torch("_parts")  # the others import it
    theirs, size = in_torch(file), 64
    if name == "vit":
        args, size = (32, 8, 2, 4, 32, 64), 32
        pair = [
            lib.VisionTransformer(*args, num_classes=5)
            for lib in (importlib.import_module(f"wisp.models.{file}"), theirs)
        ]
    else:
        pair = [models.get_model(name, num_classes=5), getattr(theirs, name)(num_classes=5)]
    ours, other = (model.eval() for model in pair)
    state = {key: value.numpy() for key, value in ours.state_dict().items()}
    rng = np.random.default_rng(0)
    for key, value in list(state.items()):
        if key.startswith("heads") or key.endswith("running_mean"):
            state[key] = rng.normal(0, 0.1, value.shape).astype("float32")
    ours.load_state_dict({key: wisp.from_numpy(value) for key, value in state.items()})
    other.load_state_dict({key: torch.from_numpy(np.array(value)) for key, value in state.items()})
    x = rng.normal(size=(2, 3, size, size)).astype("float32")
    want = other(torch.from_numpy(x)).detach().numpy()
    assert np.abs(want).max() > 1e-4
    assert np.allclose(ours(wisp.from_numpy(x)).detach().numpy(), want, rtol=1e-3, atol=1e-4 * np.abs(want).max())
