"""Modules: members, traversal, state, hooks, copies. What they print and say is compared with PyTorch."""

import copy
import gc
import pickle
import re
import warnings
import weakref
from collections import OrderedDict

import pytest

import wisp
from tests import oracle
from wisp import nn


def ours(text):
    """PyTorch's words with our name."""
    return re.sub(r"\btorch\b", "wisp", str(text))


def make_net(lib):
    """A network with all kinds of members."""

    class Block(lib.nn.Module):
        def __init__(self, size):
            super().__init__()
            self.first = lib.nn.Linear(size, size)
            self.second = lib.nn.Linear(size, size, bias=False)
            self.register_buffer("running", lib.zeros(size))
            self.register_buffer("scratch", lib.ones(1), persistent=False)
            self.register_parameter("nothing", None)

        def forward(self, x):
            return self.second(self.first(x).relu()) + self.running

    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.scale = lib.nn.Parameter(lib.ones(3))
            self.blocks = lib.nn.ModuleList([Block(3), Block(3)])
            self.table = lib.nn.ModuleDict({"a": lib.nn.ReLU(), "b": lib.nn.Identity()})
            self.shared = self.blocks[0]
            self.extras = lib.nn.ParameterList([lib.ones(2), lib.zeros(1, 2)])
            self.named = lib.nn.ParameterDict({"w": lib.ones(2, 2)})
            self.absent = None

        def forward(self, x):
            for block in self.blocks:
                x = self.table["a"](block(x * self.scale))
            return x

    return Net()


# --- what it prints


def reprs(lib):
    layers = lib.nn
    made = {
        "net": make_net(lib),
        "empty module": layers.Module(),
        "empty sequential": layers.Sequential(),
        "sequential": layers.Sequential(layers.Linear(2, 3), layers.ReLU(), layers.Sequential(layers.Tanh())),
        "named": layers.Sequential(OrderedDict(a=layers.Identity(), b=layers.Linear(1, 1, bias=False))),
        "list": layers.ModuleList([layers.Linear(1, 1), layers.Linear(1, 1), layers.ReLU(), layers.Linear(1, 1)]),
        "list of one": layers.ModuleList([layers.ReLU()]),
        "empty list": layers.ModuleList(),
        "nested lists": layers.ModuleList([layers.ModuleList([layers.ReLU()] * 2)] * 3),
        "parameter list": layers.ParameterList([lib.ones(1), 3, "x", layers.Parameter(lib.ones(2, 2))]),
        "parameter list of one": layers.ParameterList([lib.ones(2)]),
        "parameter dict": layers.ParameterDict({"a": lib.ones(2, 3), "b": 1}),
        "dict": layers.ModuleDict(),
        "parameter": layers.Parameter(lib.ones(2)),
        "frozen": layers.Parameter(lib.ones(2), requires_grad=False),
    }
    return {name: ours(repr(module)) for name, module in made.items()}


# --- what is in it


def names(lib):
    net = make_net(lib)
    return {
        "parameters": [name for name, _ in net.named_parameters()],
        "own parameters": [name for name, _ in net.named_parameters(recurse=False)],
        "all parameters": [name for name, _ in net.named_parameters(prefix="p", remove_duplicate=False)],
        "buffers": [name for name, _ in net.named_buffers()],
        "modules": [name for name, _ in net.named_modules()],
        "all modules": [name for name, _ in net.named_modules(prefix="m", remove_duplicate=False)],
        "children": [name for name, _ in net.named_children()],
        "state": list(net.state_dict()),
        "state with prefix": list(net.blocks.state_dict(prefix="x.")),
        "counts": [len(list(f())) for f in (net.parameters, net.buffers, net.modules, net.children)],
        "metadata": {name: dict(value) for name, value in net.state_dict()._metadata.items()},
    }


def said(act):
    """The kind and text of the error, or what is returned."""
    try:
        return ours(act())
    except Exception as error:
        return f"{type(error).__name__}: {ours(error)}"


def complaints(lib):
    net, state = make_net(lib), make_net(lib).state_dict()
    bad = OrderedDict(state)
    bad["scale"] = lib.ones(4)
    odd = OrderedDict(state)
    odd["scale"] = 5
    assign = lib.nn.Module.__setattr__
    return {
        "wrong shape": said(lambda: net.load_state_dict(bad)),
        "no tensor": said(lambda: net.load_state_dict(odd)).split(" or Tensor-like")[0],
        "no dict": said(lambda: net.load_state_dict([1])),
        "matched": said(lambda: net.load_state_dict(state)),
        "lenient": said(lambda: net.load_state_dict({}, strict=False).missing_keys),
        "unexpected": said(lambda: net.load_state_dict({**state, "zzz": state["scale"]}, strict=False)),
        "parameter by number": said(lambda: assign(net, "scale", 3)),
        "module by tensor": said(lambda: assign(net, "table", lib.ones(1))),
        "buffer by number": said(lambda: assign(net.blocks[0], "running", 3)),
        "attribute": said(lambda: net.missing),
        "register twice": said(lambda: net.register_parameter("forward", None)),
        "dotted": said(lambda: net.register_buffer("a.b", None)).split(", got")[0].rstrip("'"),
        "empty name": said(lambda: net.add_module("", None)),
        "number as name": said(lambda: net.register_parameter(3, None)),
        "no parameter": said(lambda: net.register_parameter("n", lib.ones(1))),
        "no leaf": said(lambda: net.register_parameter("n", lib.nn.Parameter(lib.ones(1)) * 2)).split("Cannot assign")[
            0
        ],
        "no module": said(lambda: net.add_module("n", 3)),
        "no buffer": said(lambda: net.register_buffer("n", 3)),
        "integers": said(lambda: net.to(lib.int64)),
        "train what": said(lambda: net.train("yes")),
        "submodule": said(lambda: net.get_submodule("blocks.7")),
        "not a module": said(lambda: net.get_submodule("scale")),
        "parameter": said(lambda: net.get_parameter("blocks.0.first.nope")),
        "no forward": said(lambda: lib.nn.Module()(1)),
        "sequential": said(lambda: lib.nn.Sequential(lib.nn.ReLU())[1]),
        "list": said(lambda: lib.nn.ModuleList([lib.nn.ReLU()])[-2]),
        "dict": said(lambda: lib.nn.ModuleDict({"a": lib.nn.ReLU()})["b"]),
        "taken": said(lambda: lib.nn.ModuleDict({"keys": lib.nn.ReLU()})),
        "list of what": said(lambda: lib.nn.ModuleList([3])),
        "extend": said(lambda: lib.nn.ModuleList().extend(3)),
        "dict of what": said(lambda: lib.nn.ModuleDict([1])),
        "pairs": said(lambda: lib.nn.ModuleDict([(1, 2, 3)])),
        "call": said(lambda: lib.nn.ParameterList()()),
    }


# --- hooks


def hook_calls(lib):
    """Which hooks see what, in which order."""
    seen = []

    def note(name, result=None):
        def hook(module, *values):
            kinds = [
                [None if x is None else x.tolist() for x in v] if isinstance(v, tuple) else type(v).__name__
                for v in values
            ]
            seen.append([name, type(module).__name__, kinds])
            return result

        return hook

    def run(setup):
        seen.clear()
        module = lib.nn.Linear(2, 1)
        with lib.no_grad():
            module.weight.copy_(lib.tensor([[1.0, 2.0]]))
            module.bias.zero_()
        handles = setup(module)
        x = lib.tensor([[3.0, 4.0]], requires_grad=True)
        y = module(x)
        y.sum().backward()
        found = [list(seen), y.tolist(), x.grad.tolist(), module.weight.grad.tolist()]
        seen.clear()
        for handle in handles:
            handle.remove()
        module(x).sum().backward()
        return [*found, list(seen)]

    return {
        "pre": run(lambda m: [m.register_forward_pre_hook(note("a")), m.register_forward_pre_hook(note("b"), prepend=True)]),
        "pre replaces": run(lambda m: [m.register_forward_pre_hook(lambda m, args: args[0] * 2)]),
        "pre with keywords": run(
            lambda m: [m.register_forward_pre_hook(lambda m, a, k: ((a[0] + 1,), k), with_kwargs=True)]
        ),
        "forward": run(lambda m: [m.register_forward_hook(note("f")), m.register_forward_hook(lambda m, a, out: out * 3)]),
        "backward": run(lambda m: [m.register_full_backward_hook(note("g"))]),
        "backward replaces": run(lambda m: [m.register_full_backward_hook(lambda m, gi, go: (gi[0] * 10,))]),
        "backward pre": run(lambda m: [m.register_full_backward_pre_hook(note("p")), m.register_full_backward_hook(note("q"))]),
        "backward pre replaces": run(lambda m: [m.register_full_backward_pre_hook(lambda m, go: (go[0] * 5,))]),
        "everywhere": run(lambda m: [lib.nn.modules.module.register_module_forward_hook(note("e")),
                                     m.register_forward_hook(note("own"))]),
    }  # fmt: skip


# --- containers behave like lists and dicts


def containers(lib):
    layers = lib.nn

    def kinds(modules):
        return [type(m).__name__ for m in modules]

    def sequential():
        return layers.Sequential(layers.ReLU(), layers.Tanh(), layers.Sigmoid(), layers.Identity())

    def changed(act, make=sequential):
        made = make()
        result = act(made)
        return [
            list(made._modules),
            kinds(made),
            kinds(result) if hasattr(result, "__iter__") else type(result).__name__,
        ]

    def module_list():
        return layers.ModuleList(sequential())

    values = layers.ParameterList([lib.ones(1), 2])
    values += [3]
    values.append(lib.zeros(1))
    table = layers.ParameterDict({"a": lib.ones(1)})
    table.update({"c": lib.ones(2), "b": 2})
    table.update([("y", 3), ("x", 4)])
    values.extend(lib.ones(1) for _ in range(2))
    return {
        "del": changed(lambda s: s.__delitem__(1)),
        "del slice": changed(lambda s: s.__delitem__(slice(0, 2))),
        "insert": changed(lambda s: s.insert(1, layers.Flatten())),
        "append": changed(lambda s: s.append(layers.Flatten())),
        "extend": changed(lambda s: s.extend([layers.Flatten()])),
        "pop": changed(lambda s: s.pop(0)),
        "add": changed(lambda s: s + layers.Sequential(layers.Flatten())),
        "mul": changed(lambda s: s * 2),
        "slice": changed(lambda s: s[1:3]),
        "set": changed(lambda s: s.__setitem__(-1, layers.Flatten())),
        "list del": changed(lambda s: s.__delitem__(-1), module_list),
        "list insert": changed(lambda s: s.insert(1, layers.Flatten()), module_list),
        "list slice": changed(lambda s: s[::2], module_list),
        "list add": changed(lambda s: s + [layers.Flatten()], module_list),
        "list pop": changed(lambda s: s.pop(-1), module_list),
        "parameter list": [type(v).__name__ for v in values]
        + [len(values), len(values[1:3]), len(list(values.parameters()))],
        "parameter dict": [
            list(table),
            len(table),
            "b" in table,
            table.get("z"),
            [k for k, _ in table.named_parameters()],
        ],
        "parameters by name": [list(layers.ParameterDict({"d": 1, "a": 2})), len(layers.ParameterList(iter([1, 2])))],
        "popitem": [table.popitem()[0], list(table.keys()), len(list((table | {"q": lib.ones(1)}).values()))],
    }


PARTS = (reprs, names, complaints, hook_calls, containers)
ORACLES = {"nn": lambda lib: {part.__name__: part(lib) for part in PARTS}}


@pytest.mark.parametrize("part", PARTS, ids=lambda f: f.__name__)
def test_like_pytorch(part, request):
    if part is complaints:
        request.getfixturevalue("notes_apart")
    want, got = oracle.answers("nn", ORACLES["nn"])[part.__name__], part(wisp)
    assert got.keys() == want.keys()
    for key in got:
        assert got[key] == want[key], key


@pytest.mark.skipif(not oracle.HAS_TORCH, reason="compares PyTorch with its recorded answers")
def test_recorded_answers_are_current():
    assert oracle.recorded("nn") == oracle.answers("nn", ORACLES["nn"])


# --- what needs no comparison


def test_members_are_attributes():
    net = nn.Linear(2, 3)
    assert net.weight is net._parameters["weight"]
    net.bias = None
    assert net.bias is None
    assert net._parameters["bias"] is None
    net._parameters["weight"] = fresh = nn.Parameter(wisp.zeros(3, 2))
    assert net.weight is fresh
    del net.weight
    assert not hasattr(net, "weight")
    assert list(net.parameters()) == []


def test_a_name_is_one_kind_of_member():
    net = nn.Module()
    net.x = 3
    net.x = nn.Parameter(wisp.ones(1))
    assert list(net._parameters) == ["x"]
    del net.x
    net.x = nn.ReLU()
    assert list(net._parameters) == []
    assert list(net._modules) == ["x"]
    net.y = nn.Buffer(wisp.ones(2), persistent=False)
    assert list(net._buffers) == ["y"]
    assert list(net.state_dict()) == []
    net.y = wisp.zeros(2)
    assert net._buffers["y"].tolist() == [0, 0]
    assert isinstance(nn.Buffer(wisp.ones(1)), nn.Buffer)
    assert not isinstance(wisp.ones(1), nn.Buffer)


def test_members_before_init_are_refused():
    class Early(nn.Module):
        def __init__(self):
            self.w = nn.Parameter(wisp.ones(1))

    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
        Early()


def test_missing_and_unexpected_keys_come_with_what_they_may_have_been():
    net = nn.Sequential(OrderedDict(embedding=nn.Linear(1, 1), head=nn.Linear(1, 1)))
    state = net.state_dict()
    renamed = {name.replace("embedding", "embeding"): value for name, value in state.items()}
    with pytest.raises(RuntimeError, match=r'"embeding.weight" looks like "embedding.weight"'):
        net.load_state_dict(renamed)
    wrapped = {f"module.{name}": value for name, value in state.items()}
    with pytest.raises(RuntimeError, match=r'All unexpected keys begin with "module."'):
        net.load_state_dict(wrapped)
    with pytest.raises(RuntimeError, match=r'Missing key\(s\) in state_dict: "head.bias". '):
        net.load_state_dict({name: value for name, value in state.items() if name != "head.bias"})


def test_loading_copies_or_assigns():
    source, target = nn.Linear(2, 2), nn.Linear(2, 2)
    before = target.weight
    assert str(target.load_state_dict(source.state_dict())) == "<All keys matched successfully>"
    assert target.weight is before
    assert wisp.equal(target.weight, source.weight)
    state = {name: value.double() for name, value in source.state_dict().items()}
    target.load_state_dict(state, assign=True)
    assert target.weight.dtype is wisp.float64
    assert target.weight.data_ptr() == state["weight"].data_ptr()
    assert isinstance(target.weight, nn.Parameter)


def test_extra_state_and_state_hooks():
    class Counter(nn.Module):
        count = 3

        def get_extra_state(self):
            return self.count

        def set_extra_state(self, state):
            self.count = state

    net, other = Counter(), Counter()
    net.count = 8
    net.register_state_dict_post_hook(lambda m, state, prefix, meta: state.__setitem__(prefix + "more", wisp.ones(1)))
    state = net.state_dict()
    assert state[nn.modules.module._EXTRA_STATE_KEY_SUFFIX] == state["_extra_state"] == 8
    assert "more" in state
    other.register_load_state_dict_pre_hook(lambda m, state, prefix, *rest: state.pop(prefix + "more"))
    other.load_state_dict(state)
    assert other.count == 8


def test_deepcopy_and_pickle_keep_structure():
    net = make_net(wisp)
    net.shared.running.fill_(2)
    for made in (copy.deepcopy(net), copy.copy(net)):
        assert repr(made) == repr(net)
        assert made.shared is made.blocks[0]
    deep = copy.deepcopy(net)
    assert deep.scale is not net.scale
    assert deep.scale.data_ptr() != net.scale.data_ptr()
    assert deep.blocks[0].first.weight is deep.get_parameter("blocks.0.first.weight")
    x = wisp.ones(2, 3)
    assert wisp.equal(deep(x), net(x))
    layer = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    loaded = pickle.loads(pickle.dumps(layer))
    assert wisp.equal(loaded(wisp.ones(1, 2)), layer(wisp.ones(1, 2)))
    assert loaded[0].weight is loaded._modules["0"]._parameters["weight"]
    assert isinstance(loaded[0].weight, nn.Parameter)


def test_conversions():
    net = make_net(wisp)
    assert net.double() is net
    assert {p.dtype for p in net.parameters()} == {wisp.float64}
    assert net.blocks[0].running.dtype is wisp.float64
    weight = net.blocks[0].first.weight
    net.to(dtype=wisp.float16).to("cpu").to(wisp.ones(1))
    assert net.blocks[0].first.weight is weight
    assert weight.dtype is wisp.float32
    net.half().bfloat16().float()
    counter = nn.Module()
    counter.register_buffer("n", wisp.tensor(3))
    assert counter.double().n.dtype is wisp.int64
    assert counter.type(wisp.float32).n.dtype is wisp.float32


def test_training_mode_gradients_and_apply():
    net = make_net(wisp)
    assert net.eval().training is False
    assert not any(m.training for m in net.modules())
    net.train()
    assert all(m.training for m in net.modules())
    net(wisp.ones(1, 3)).sum().backward()
    assert net.scale.grad is not None
    net.zero_grad(set_to_none=False)
    assert net.scale.grad.tolist() == [0, 0, 0]
    net.zero_grad()
    assert net.scale.grad is None
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen[-1] == "Net"
    assert seen.count("Block") == 2 + 1  # children() leaves out repeats, not grandchildren


def test_forward_hook_may_run_after_failure():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    net, seen = Fails(), []
    net.register_forward_hook(lambda m, args, out: seen.append(out), always_call=True)
    net.register_forward_hook(lambda m, args, out: seen.append("never"))
    with pytest.raises(ValueError, match="no"):
        net(1)
    assert seen == [None]


def test_modules_die_with_their_last_reference():
    net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    net(wisp.ones(1, 2)).sum().backward()
    gone = weakref.ref(net[0])
    gc.disable()
    try:
        del net
        assert gone() is None
    finally:
        gc.enable()


def test_dir_has_members_but_no_numbers():
    found = dir(nn.Sequential(OrderedDict([("a", nn.ReLU()), ("1", nn.ReLU())])))
    assert "a" in found
    assert "1" not in found
    assert "parameters" in found


def test_parameters_are_tensors():
    p = nn.Parameter(wisp.ones(2))
    assert p.requires_grad
    assert p.is_leaf
    assert isinstance(p, wisp.Tensor)
    assert type(p * 2) is wisp.Tensor
    q = copy.deepcopy(p)
    assert type(q) is nn.Parameter
    r = pickle.loads(pickle.dumps(p))
    assert type(r) is nn.Parameter
    assert r.requires_grad
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nn.Parameter().numel() == 0


def test_batch_norm_loads_files_from_before_batches_were_counted():
    norm = nn.BatchNorm1d(2)
    norm.num_batches_tracked.fill_(5)
    state = {name: value for name, value in nn.BatchNorm1d(2).state_dict().items() if name != "num_batches_tracked"}
    norm.load_state_dict(state)
    assert norm.num_batches_tracked == 5 and "num_batches_tracked" not in state
    newer = nn.BatchNorm1d(2).state_dict()
    del newer["num_batches_tracked"]
    with pytest.raises(RuntimeError, match="Missing key"):
        norm.load_state_dict(newer)


def test_batch_norm_without_a_count_of_batches():
    norm = nn.BatchNorm1d(2)
    norm.num_batches_tracked = None
    norm(wisp.full((4, 2), 2.0))
    assert wisp.allclose(norm.running_mean, wisp.tensor([0.2, 0.2]))
    norm.load_state_dict({name: value.clone() for name, value in norm.state_dict().items()})
