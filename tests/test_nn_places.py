"""Where names of nn live, and hooks on what modules are made of."""

import importlib

import pytest

import wisp
from tests import fresh
from wisp import nn
from wisp.nn.modules import module as modules

PLACES = {
    "nn.modules.activation": ("ReLU", "MultiheadAttention", "Softmax"),
    "nn.modules.batchnorm": ("BatchNorm1d", "SyncBatchNorm"),
    "nn.modules.container": ("Sequential", "ModuleList"),
    "nn.modules.conv": ("Conv2d", "LazyConvTranspose3d"),
    "nn.modules.dropout": ("Dropout", "AlphaDropout"),
    "nn.modules.instancenorm": ("InstanceNorm1d", "LazyInstanceNorm3d"),
    "nn.modules.linear": ("Linear", "Identity", "NonDynamicallyQuantizableLinear"),
    "nn.modules.loss": ("MSELoss", "CTCLoss"),
    "nn.modules.normalization": ("LayerNorm", "LocalResponseNorm", "CrossMapLRN2d"),
    "nn.modules.rnn": ("LSTM", "GRUCell"),
    "nn.modules.sparse": ("Embedding",),
    "nn.modules.transformer": ("Transformer", "TransformerEncoderLayer"),
    "nn.parallel.data_parallel": ("DataParallel", "data_parallel"),
    "nn.common_types": ("_size_any_t", "_size_1_t", "_size_2_t", "_size_3_opt_t", "_ratio_2_t"),
    "functional": ("einsum", "meshgrid", "stft", "norm"),
    "optim.lr_scheduler": ("LRScheduler", "_LRScheduler"),
    "optim.optimizer": ("Optimizer", "ParamsT"),
    "nn.init": ("_no_grad_trunc_normal_", "_no_grad_zero_", "_calculate_fan_in_and_fan_out"),
}
# Base classes and helpers that libraries use although their names are private.
PRIVATE = {
    "batchnorm": ("_BatchNorm", "_NormBase"),
    "conv": ("_ConvNd", "_ConvTransposeNd"),
    "dropout": ("_DropoutNd",),
    "instancenorm": ("_InstanceNorm",),
    "loss": ("_Loss", "_WeightedLoss"),
    "module": ("_addindent", "_IncompatibleKeys"),
    "padding": ("_ConstantPadNd", "_ReflectionPadNd", "_ReplicationPadNd"),
    "pooling": ("_MaxPoolNd", "_AvgPoolNd", "_AdaptiveAvgPoolNd", "_AdaptiveMaxPoolNd"),
    "transformer": ("_get_activation_fn", "_get_clones"),
    "utils": ("_pair", "_ntuple", "_reverse_repeat_tuple"),
}


@pytest.mark.parametrize("place", PLACES)
def test_names_are_where_programs_look_for_them(place):
    module = importlib.import_module(f"wisp.{place}")
    for name in PLACES[place]:
        assert getattr(module, name) is getattr(nn, name, getattr(module, name))


@pytest.mark.parametrize("place", PRIVATE)
def test_base_classes_and_helpers_are_where_libraries_look_for_them(place):
    module = importlib.import_module(f"wisp.nn.modules.{place}")
    assert all(hasattr(module, name) for name in PRIVATE[place])


def test_base_classes_are_those_of_the_layers():
    assert isinstance(nn.ReflectionPad2d(1), nn.modules.padding._ReflectionPadNd)
    assert isinstance(nn.ReplicationPad3d(1), nn.modules.padding._ReplicationPadNd)
    assert isinstance(nn.AlphaDropout(), nn.modules.dropout._DropoutNd)
    layers = nn.modules.transformer._get_clones(nn.Linear(1, 1), 2)
    assert len(layers) == 2 and layers[0].weight is not layers[1].weight
    assert modules._addindent("a\nb", 3) == "a\n   b"


def test_tensors_as_one_vector_and_back():
    from wisp._utils import _flatten_dense_tensors, _unflatten_dense_tensors

    tensors = [wisp.ones(2, 2), wisp.arange(3.0), wisp.zeros(())]
    flat = _flatten_dense_tensors(tensors)
    assert flat.tolist() == [1, 1, 1, 1, 0, 1, 2, 0]
    assert all(wisp.equal(*pair) for pair in zip(_unflatten_dense_tensors(flat, tensors), tensors))


def test_names_that_functional_lacks():
    with pytest.raises(AttributeError, match=r"module 'wisp.functional' has no attribute 'nothing'"):
        wisp.functional.nothing  # noqa: B018


def test_public_modules_of_nn_are_where_pytorch_has_them():
    theirs = pytest.importorskip("torch").nn
    for name in nn.modules.__all__:
        place = getattr(theirs, name).__module__
        if "linear_cross_entropy" not in place:
            ours = importlib.import_module(place.replace("torch", "wisp", 1))
            assert getattr(ours, name) is getattr(nn, name), place


def seen_by(register, make):
    seen = []
    handle = register(lambda module, name, value: seen.append((type(module).__name__, name, type(value).__name__)))
    try:
        made = make()
    finally:
        handle.remove()
    make()
    return seen, made


def test_hooks_on_parameters():
    def make():
        net = nn.Linear(1, 2)
        net.scale = nn.Parameter(wisp.ones(1))
        net.register_parameter("none", None)
        return net

    seen, _ = seen_by(modules.register_module_parameter_registration_hook, make)
    assert seen == [("Linear", name, "Parameter") for name in ("weight", "bias", "scale")]


def test_hooks_on_buffers():
    def make():
        net = nn.Module()
        net.register_buffer("a", wisp.ones(1))
        net.register_buffer("b", None)
        net.a = wisp.zeros(1)
        return net

    seen, net = seen_by(modules.register_module_buffer_registration_hook, make)
    assert seen == [("Module", "a", "Tensor"), ("Module", "b", "NoneType"), ("Module", "a", "Tensor")]
    assert net.a.item() == 0


def test_hooks_on_children():
    def make():
        net = nn.Sequential(nn.ReLU())
        net.more = nn.Tanh()
        net.add_module("none", None)
        return net

    seen, _ = seen_by(modules.register_module_module_registration_hook, make)
    assert seen == [("Sequential", "0", "ReLU"), ("Sequential", "more", "Tanh"), ("Sequential", "none", "NoneType")]


def test_hooks_can_replace_what_is_registered():
    handles = [
        modules.register_module_parameter_registration_hook(lambda m, name, p: nn.Parameter(p.data * 0 + 2)),
        modules.register_module_buffer_registration_hook(lambda m, name, b: b + 1),
        modules.register_module_module_registration_hook(lambda m, name, child: nn.Identity()),
    ]
    try:
        net = nn.Sequential(nn.BatchNorm1d(2))
        norm = nn.BatchNorm1d(2)
    finally:
        for handle in handles:
            handle.remove()
    assert type(net[0]) is nn.Identity
    assert norm.weight.tolist() == [2, 2]
    assert norm.running_var.tolist() == [2, 2]
    assert nn.BatchNorm1d(2).running_var.tolist() == [1, 1]


def test_backward_hook_on_all_modules():
    seen = []
    handle = modules.register_module_backward_hook(lambda module, gave, got: seen.append(type(module).__name__))
    try:
        nn.Sequential(nn.Linear(2, 2), nn.Tanh())(wisp.ones(1, 2)).sum().backward()
    finally:
        handle.remove()
    assert seen[0] in ("Tanh", "Sequential")
    assert set(seen) == {"Linear", "Tanh", "Sequential"}


def test_slices_of_storages_share_memory():
    x = wisp.arange(10.0)
    whole = x.untyped_storage()
    part = whole[4:16]
    assert (len(part), part.data_ptr() - whole.data_ptr()) == (12, 4)
    view = wisp.empty(0).set_(part)
    view[0] = 7
    assert x.tolist()[:3] == [0, 7, 2]
    del x, whole
    assert view.tolist() == [7, 2, 3]
    assert len(part[5:5]) == 0
    with pytest.raises(RuntimeError, match="step of 2"):
        part[::2]
    with pytest.raises(RuntimeError, match="slices are only supported in UntypedStorage"):
        wisp.ones(2).storage()[:1]


def test_storages_of_files(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(16)))
    private = wisp.UntypedStorage.from_file(str(path), False, 16)
    private[0] = 9
    assert private.tolist()[:3] == [9, 1, 2]
    assert path.read_bytes()[0] == 0
    shared = wisp.UntypedStorage.from_file(path, True, 32)
    shared[1] = 77
    assert len(shared) == 32
    assert path.read_bytes()[:3] == b"\x00\x4d\x02"
    assert len(wisp.UntypedStorage.from_file(path)) == 0
    with pytest.raises(RuntimeError, match="smaller than the required mapping size <64>"):
        wisp.UntypedStorage.from_file(path, False, 64)
    with pytest.raises(RuntimeError, match="unable to open file"):
        wisp.UntypedStorage.from_file(tmp_path / "nothing", False, 4)
    assert len(wisp.UntypedStorage.from_file(tmp_path / "new", True, 4)) == 4


def test_tensors_of_storages_and_files(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(bytes(range(16)))
    storage = wisp.UntypedStorage.from_file(path, False, 16)
    view = wisp.asarray(storage[4:8], dtype=wisp.uint8)
    assert view.tolist() == [4, 5, 6, 7]
    view[0] = 50
    assert storage[4] == 50
    assert wisp.asarray(storage[:4], dtype=wisp.int16).tolist() == [256, 770]
    assert wisp.asarray(storage[:0], dtype=wisp.int16).shape == (0,)
    assert wisp.from_file(path, size=3, dtype=wisp.uint8).tolist() == [0, 1, 2]
    wisp.from_file(path, shared=True, size=2, dtype=wisp.uint8).fill_(7)
    assert path.read_bytes()[:3] == b"\x07\x07\x02"
    assert wisp.from_file(path).shape == (0,)


def test_submodules_come_by_name_without_being_imported():
    printed = fresh.python("""
import wisp
for name in ("activation", "channelshuffle", "fold", "instancenorm", "pixelshuffle", "upsampling", "utils"):
    print(getattr(wisp.nn.modules, name).__name__)
print(wisp.nn.utils.rnn.__name__, wisp.optim.lr_scheduler.__name__, wisp.utils.data.dataloader.__name__)
""").split()
    assert printed[1] == "wisp.nn.modules.channelshuffle"
    assert printed[-1] == "wisp.utils.data.dataloader"
    with pytest.raises(AttributeError, match=r"module 'wisp.nn.modules' has no attribute 'nothing'"):
        nn.modules.nothing  # noqa: B018


@pytest.mark.parametrize("first", ["import wisp.nn.utils.weight_norm", "wisp.nn.utils.remove_weight_norm", "pass"])
def test_functions_are_not_hidden_by_their_modules(first):
    printed = fresh.python(
        f"import wisp\n{first}\nprint(callable(wisp.nn.utils.weight_norm), callable(wisp.nn.utils.spectral_norm))"
    )
    assert printed.split() == ["True", "True"]
