"""Layers on images, attention and bags: like PyTorch's where it is installed, and by their own properties everywhere."""

import numpy as np
import pytest

import wisp

nn = wisp.nn


def assert_same(got, want, tol):
    """A tensor of ours and one of theirs."""
    np.testing.assert_allclose(got.detach().numpy(), want.detach().numpy(), rtol=tol, atol=tol)


POOLS = [
    ("MaxPool1d", (3, 2, 1), 1), ("MaxPool2d", ((2, 3),), 2), ("MaxPool3d", (2, 1, 0, 1, False, True), 3),
    ("AvgPool1d", (2,), 1), ("AvgPool2d", (3, 2, 1, True, False), 2), ("AvgPool3d", (2,), 3),
    ("AdaptiveAvgPool1d", (3,), 1), ("AdaptiveAvgPool2d", ((2, None),), 2), ("AdaptiveAvgPool3d", (2,), 3),
    ("AdaptiveMaxPool1d", (3,), 1), ("AdaptiveMaxPool2d", ((2, 3),), 2), ("AdaptiveMaxPool3d", (2,), 3),
    ("LPPool1d", (2, 3), 1), ("LPPool2d", (2, 2), 2), ("LPPool3d", (2, 2), 3),
    ("Upsample", (None, 2), 1), ("UpsamplingNearest2d", (None, 2), 2), ("UpsamplingBilinear2d", ((7, 3),), 2),
    ("PixelShuffle", (2,), 2), ("PixelUnshuffle", (2,), 2), ("ChannelShuffle", (2,), 2), ("Unfold", (2,), 2),
    ("LocalResponseNorm", (2,), 2), ("CrossMapLRN2d", (3, 0.5), 2),
]  # fmt: skip
PADS = [(f"{kind}Pad{n}d", ((1, 2) * n, *value), n)
        for kind, value in (("Constant", (3.5,)), ("Reflection", ()), ("Replication", ()), ("Zero", ()), ("Circular", ()))
        for n in (1, 2, 3)]  # fmt: skip


def image(dims, low=0.1):
    return wisp.linspace(low, 1, 2 * 4 * 4**dims).reshape(2, 4, *(4,) * dims).sin()


@pytest.mark.parametrize("name, args, dims", POOLS + PADS, ids=lambda v: v if isinstance(v, str) else None)
def test_like_pytorch(name, args, dims):
    """Values, printed form and state are PyTorch's, with a batch and (where there may be none) without."""
    torch = pytest.importorskip("torch")
    ours, theirs = getattr(nn, name)(*args), getattr(torch.nn, name)(*args)
    assert repr(ours) == repr(theirs)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    x = image(dims)
    assert_same(ours(x), theirs(torch.tensor(x.tolist())), 1e-5)


@pytest.mark.parametrize("name, args, dims", POOLS[:18], ids=lambda v: v if isinstance(v, str) else None)
def test_channels_last(name, args, dims):
    """The order of dimensions in memory changes no result, and is kept by pooling."""
    if dims == 1:
        pytest.skip("lines have no such order")
    format = wisp.channels_last if dims == 2 else wisp.channels_last_3d
    layer, x = getattr(nn, name)(*args), image(dims)
    plain, other = layer(x), layer(x.to(memory_format=format))
    assert (plain - other).abs().max() < 1e-6
    if not name.startswith("LP"):
        assert other.is_contiguous(memory_format=format)
    grads = []
    for start in (x, x.to(memory_format=format)):
        leaf = start.detach().requires_grad_()
        layer(leaf).square().sum().backward()
        grads.append(leaf.grad)
    assert (grads[0] - grads[1]).abs().max() < 1e-5


def test_max_unpool_undoes_max_pool():
    x = image(2)
    pooled, indices = nn.MaxPool2d(2, return_indices=True)(x)
    back = nn.MaxUnpool2d(2)(pooled, indices)
    assert back.shape == x.shape
    assert (back.sum() - pooled.sum()).abs() < 1e-5
    assert nn.MaxPool2d(2)(back).equal(pooled)


def test_fold_counts_patches():
    """What unfold takes apart, fold adds up again: every pixel as often as it was in a patch."""
    x = wisp.ones(1, 1, 3, 3)
    twice = nn.Fold((3, 3), 2)(nn.Unfold(2)(x))
    assert twice.tolist() == [[[[1, 2, 1], [2, 4, 2], [1, 2, 1]]]]


@pytest.mark.parametrize("options", [{}, {"kdim": 3, "vdim": 5}, {"add_bias_kv": True, "add_zero_attn": True},
                                     {"batch_first": True}, {"bias": False}], ids=str)  # fmt: skip
def test_multihead_attention(options):
    """With PyTorch's weights: its results, with and without weights, and its gradients."""
    torch = pytest.importorskip("torch")
    theirs, ours = torch.nn.MultiheadAttention(8, 2, **options), nn.MultiheadAttention(8, 2, **options)
    assert repr(ours) == repr(theirs)
    ours.load_state_dict({k: wisp.tensor(v.tolist()) for k, v in theirs.state_dict().items()})
    inputs = [wisp.randn(3, 3, width) for width in (8, options.get("kdim", 8), options.get("vdim", 8))]
    copies = [torch.tensor(x.tolist()) for x in inputs]
    for need in (True, False):
        got, want = ours(*inputs, need_weights=need), theirs(*copies, need_weights=need)
        assert_same(got[0], want[0], 1e-5)
        assert (got[1] is None) == (want[1] is None)
        if need:
            assert_same(got[1], want[1], 1e-5)
        got[0].square().sum().backward()
        want[0].square().sum().backward()
    for mine, other in zip(ours.parameters(), theirs.parameters()):
        assert_same(mine.grad, other.grad, 1e-3)


def test_attention_blocks_agree_with_the_whole():
    """Longer than a block of keys and of queries, the kernel gives what the formula does, and so do its gradients."""
    q, k, v = (wisp.randn(2, 700, 16, dtype=wisp.float64, requires_grad=True) for _ in range(3))
    mask = wisp.rand(700, 700) < 0.7
    out = nn.functional.scaled_dot_product_attention(q, k, v, mask)
    scores = (q @ k.transpose(1, 2) / 4).masked_fill(~mask, float("-inf"))
    whole = scores.softmax(-1) @ v
    assert (out - whole).abs().max() < 1e-10
    grad = wisp.randn_like(out)
    for a, b in zip(wisp.autograd.grad(out, (q, k, v), grad), wisp.autograd.grad(whole, (q, k, v), grad)):
        assert (a - b).abs().max() < 1e-9


def test_attention_needs_no_matrix_of_scores():
    """Without a mask to learn, memory grows with the length, not with its square."""
    q = wisp.randn(1, 1, 20000, 8)
    assert nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True).isfinite().all()


def test_attention_dropout_keeps_the_mean():
    wisp.manual_seed(0)
    ones = wisp.ones(1, 200, 4)
    out = nn.functional.scaled_dot_product_attention(ones, ones, ones, dropout_p=0.5)
    assert abs(out.mean().item() - 1) < 0.1


def test_embedding_bag_module():
    bag = nn.EmbeddingBag(5, 3, mode="sum", padding_idx=1)
    assert bag.weight[1].tolist() == [0, 0, 0]
    assert repr(bag) == "EmbeddingBag(5, 3, mode='sum', padding_idx=1)"
    out = bag(wisp.tensor([0, 1, 4]), wisp.tensor([0, 2]))
    assert out.equal(wisp.stack([bag.weight[0], bag.weight[4]]))
    out.sum().backward()
    assert bag.weight.grad.sum(1).tolist() == [3, 0, 0, 0, 3]


def test_bags_may_end_before_the_indices():
    """Indices behind the last offset belong to no bag; PyTorch's answer depends on the dtype there."""
    weight = wisp.arange(6.0).reshape(3, 2).requires_grad_()
    offsets = wisp.tensor([0, 2])
    out = nn.functional.embedding_bag(wisp.tensor([0, 1, 2]), weight, offsets, mode="mean", include_last_offset=True)
    assert out.tolist() == [[1, 2]]
    out.sum().backward()
    assert weight.grad.tolist() == [[0.5, 0.5], [0.5, 0.5], [0, 0]]


def test_ctc_loss_has_no_second_derivative():
    scores = wisp.randn(4, 1, 3, requires_grad=True)
    loss = nn.CTCLoss()(scores.log_softmax(-1), wisp.tensor([[1, 2]]), [4], [2])
    (grad,) = wisp.autograd.grad(loss, scores, create_graph=True)
    with pytest.raises(RuntimeError, match="not implemented"):
        grad.sum().backward()


def test_nearest_takes_whole_bytes():
    x = wisp.arange(12, dtype=wisp.uint8).reshape(1, 1, 3, 4)
    assert nn.functional.interpolate(x, scale_factor=2).sum() == 4 * x.sum()
