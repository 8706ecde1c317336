"""Attention with dropout and with learnt masks: block by block, forward and backward."""

import numpy as np
import pytest

import wisp
from wisp.nn import functional as F

SHAPES = [(2, 3, 5, 7), (1, 1, 700, 1100), (1, 9, 130, 513), (2, 2, 16, 16)]


def inputs(batch, heads, queries, keys, dtype=wisp.float64, width=4):
    wisp.manual_seed(0)
    return [wisp.randn(batch, heads, n, width, dtype=dtype).requires_grad_() for n in (queries, keys, keys)]


def attend(qkv, seed=3, **options):
    wisp.manual_seed(seed)
    return F.scaled_dot_product_attention(*qkv, **options)


def kept_of(qkv, **options):
    """What probabilities are multiplied by: with unit vectors as values, results are probabilities."""
    q, k = (t.detach() for t in qkv[:2])
    units = wisp.eye(k.shape[-2], dtype=q.dtype).expand(*k.shape[:-1], k.shape[-2])
    plain = {name: value for name, value in options.items() if name != "dropout_p"}
    return attend((q, k, units), **options) / attend((q, k, units), **plain)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mask", [None, "row", "heads", "causal"])
def test_dropout_and_its_gradients(shape, mask):
    heads, queries, keys = shape[1:]
    qkv = inputs(*shape)
    options = {"dropout_p": 0.3}
    if mask == "causal":
        options["is_causal"] = True
    elif mask:
        size = (keys,) if mask == "row" else (heads, 1, keys)
        options["attn_mask"] = wisp.randn(*size, dtype=wisp.float64).requires_grad_()
    leaves = [*qkv, options["attn_mask"]] if "attn_mask" in options else qkv
    kept = kept_of(qkv, **options).nan_to_num(0)
    share = float((kept != 0).double().mean()) / (
        float((kept_of(qkv, **options | {"dropout_p": 0.0}) == 1).double().mean())
    )
    assert abs(share - 0.7) < 4 / kept.numel() ** 0.5
    scores = qkv[0] @ qkv[1].mT / 2
    if mask == "causal":
        scores = scores.masked_fill(~wisp.ones(queries, keys, dtype=wisp.bool).tril(), -np.inf)
    elif mask:
        scores = scores + options["attn_mask"]
    wanted = (scores.softmax(-1) * kept) @ qkv[2]
    found = attend(qkv, **options)
    assert wisp.allclose(found, wanted, rtol=1e-9)
    weight = wisp.randn_like(wanted)
    for a, b in zip(wisp.autograd.grad(found, leaves, weight), wisp.autograd.grad(wanted, leaves, weight), strict=True):
        assert wisp.allclose(a, b, rtol=1e-8, atol=1e-10)


def test_what_is_dropped_is_scaled_exactly_and_depends_on_the_seed():
    qkv = inputs(1, 2, 40, 30)
    kept = kept_of(qkv, dropout_p=0.25)
    assert wisp.allclose(kept[kept != 0], wisp.tensor(1 / 0.75, dtype=wisp.float64))
    assert wisp.equal(attend(qkv, dropout_p=0.25), attend(qkv, dropout_p=0.25))
    assert not wisp.equal(attend(qkv, dropout_p=0.25), attend(qkv, seed=4, dropout_p=0.25))
    wisp.manual_seed(3)
    first, second = (F.scaled_dot_product_attention(*qkv, dropout_p=0.25) for _ in range(2))
    assert not wisp.equal(first, second)
    assert not attend(qkv, dropout_p=1.0).any()


def test_second_derivatives_with_dropout_and_a_learnt_mask():
    qkv = inputs(1, 2, 3, 4, width=2)
    mask = wisp.randn(3, 4, dtype=wisp.float64).requires_grad_()
    assert wisp.autograd.gradcheck(lambda *t: attend(t[:3], attn_mask=t[3], dropout_p=0.4), (*qkv, mask))
    assert wisp.autograd.gradgradcheck(lambda *t: attend(t[:3], attn_mask=t[3], dropout_p=0.4), (*qkv, mask))


def test_causal_results_drop_what_full_ones_would():
    qkv = inputs(1, 1, 600, 600, wisp.float32)
    full, causal = kept_of(qkv, dropout_p=0.5), kept_of(qkv, dropout_p=0.5, is_causal=True)
    seen = wisp.ones(600, 600, dtype=wisp.bool).tril()
    assert wisp.equal((full != 0)[0, 0][seen], (causal != 0)[0, 0][seen])


@pytest.mark.parametrize("shape", [(1, 1, 1100, 600), (3, 1, 300, 300), (2, 8, 64, 64)])
def test_the_number_of_threads_changes_no_bit(shape):
    qkv = inputs(*shape, wisp.float32, 16)
    mask = wisp.randn(shape[3]).requires_grad_()
    found, threads = [], wisp.get_num_threads()
    try:
        for n in (1, 2, 3):
            wisp.set_num_threads(n)
            out = attend(qkv, attn_mask=mask, dropout_p=0.1)
            found.append([out, *wisp.autograd.grad(out.sin().sum(), [*qkv, mask])])
    finally:
        wisp.set_num_threads(threads)
    for other in found[1:]:
        assert all(wisp.equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("dtype", [wisp.float16, wisp.bfloat16])
def test_learnt_masks_and_dropout_of_16_bits(dtype):
    qkv = inputs(1, 2, 20, 30, dtype)
    mask = wisp.randn(2, 1, 30, dtype=dtype).requires_grad_()
    wide = [t.detach().float().requires_grad_() for t in (*qkv, mask)]
    found = attend(qkv, attn_mask=mask, dropout_p=0.2)
    wanted = attend(wide[:3], attn_mask=wide[3], dropout_p=0.2)
    assert wisp.allclose(found.float(), wanted, rtol=3e-2, atol=3e-2)
    grads = wisp.autograd.grad(found.float().sum(), [*qkv, mask])
    for a, b in zip(grads, wisp.autograd.grad(wanted.sum(), wide), strict=True):
        assert a.dtype == dtype and wisp.allclose(a.float(), b, rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize("options", [{}, {"dropout_p": 0.1}, {"learnt": True}, {"learnt": True, "dropout_p": 0.1}])
def test_scores_are_never_whole(options):
    length = 3000
    qkv = inputs(1, 4, length, length, wisp.float32, 16)
    mask = wisp.zeros(length, requires_grad=True) if options.get("learnt") else None
    wisp.memory.reset_peak()
    before = wisp.memory.current()
    attend(qkv, attn_mask=mask, dropout_p=options.get("dropout_p", 0.0)).sum().backward()
    assert wisp.memory.peak() - before < 4 * length * length  # the scores of one head in float32


def test_layers_in_training_hold_no_scores():
    layer = wisp.nn.TransformerEncoderLayer(32, 2, 32, dropout=0.1, batch_first=True)
    x = wisp.randn(1, 3000, 32)
    wisp.memory.reset_peak()
    before = wisp.memory.current()
    layer(x).sum().backward()
    assert wisp.memory.peak() - before < 4 * 3000 * 3000


def test_scripts_drop_what_eager_calls_do():
    qkv = [t.detach() for t in inputs(1, 2, 9, 9, wisp.float32)]

    def call(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.5)

    compiled = wisp.jit.script(call)
    for _ in range(3):
        wisp.manual_seed(1)
        wanted = call(*qkv)
        wisp.manual_seed(1)
        assert wisp.equal(compiled(*qkv), wanted)


def test_vmap_asks_how_to_draw():
    x = wisp.randn(3, 2, 4, 4)

    def call(x):
        return F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)

    with pytest.raises(RuntimeError, match="randomness error mode"):
        wisp.func.vmap(call)(x)
    one = wisp.func.vmap(call, randomness="same")(x[:1].expand(3, 2, 4, 4))
    assert wisp.equal(one[0], one[1])
    two = wisp.func.vmap(call, randomness="different")(x[:1].expand(3, 2, 4, 4))
    assert not wisp.equal(two[0], two[1])
