"""Derivatives of attention's derivatives, in either mode: right, and never with whole scores in memory."""

import numpy as np
import pytest

import wisp
from wisp.func import grad, jvp, vjp, vmap
from wisp.nn import functional as F

VARIANTS = ["plain", "causal", "excluded", "added", "learnt", "grouped", "dropout", "wide", "learnt dropout"]


class Case:
    """One kind of attention: its arguments, and what they give."""

    def __init__(self, variant, queries=3, keys=4, batch=1, dtype=wisp.float64, width=2):
        wisp.manual_seed(0)
        heads, value_width = 2, width + ("wide" in variant)
        key_heads = 1 if "grouped" in variant else heads
        sizes = [(heads, queries, width), (key_heads, keys, width), (key_heads, keys, value_width)]
        self.leaves = [wisp.randn(batch, *size, dtype=dtype) for size in sizes]
        self.mask = None
        self.options = {"scale": 0.7} if "wide" in variant else {}
        if "excluded" in variant:
            self.mask = wisp.rand(queries, keys) < 0.6
            self.mask[queries // 2] = False  # one that sees nothing
        if "added" in variant:
            self.mask = wisp.randn(batch, 1, queries, keys, dtype=dtype)
        if "learnt" in variant:
            self.leaves.append(wisp.randn(heads, 1, keys, dtype=dtype))
        if "causal" in variant:
            self.options["is_causal"] = True
        if "grouped" in variant:
            self.options["enable_gqa"] = True
        self.p = 0.4 if "dropout" in variant else 0.0
        self.sums = [wisp.randn_like(t) for t in self.leaves]

    def mask_of(self, leaves):
        return leaves[3] if len(leaves) > 3 else self.mask

    def attend(self, *leaves):
        wisp.manual_seed(3)
        q, k, v = leaves[:3]
        return F.scaled_dot_product_attention(q, k, v, self.mask_of(leaves), self.p, **self.options)

    def by_scores(self, *leaves):
        """The same in simple operators."""
        q, k, v = leaves[:3]
        mask = self.mask_of(leaves)
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
        scores = q @ k.mT * self.options.get("scale", q.shape[-1] ** -0.5)
        if "is_causal" in self.options:
            mask = wisp.ones(scores.shape[-2:], dtype=wisp.bool).tril()
        if mask is not None and mask.dtype != wisp.bool:
            scores = scores + mask
        elif mask is not None:
            blind = ~mask.any(-1, keepdim=True)
            scores = scores.masked_fill(~(mask | blind), -np.inf)
            return scores.softmax(-1).masked_fill(blind, 0) @ v
        return (scores.softmax(-1) * self.kept()) @ v

    def kept(self):
        if not self.p:
            return 1
        q, k = (t.detach() for t in self.leaves[:2])
        units = wisp.eye(k.shape[-2], dtype=q.dtype).expand(*k.shape[:-1], k.shape[-2])
        dropped = self.attend(q, k, units)
        wisp.manual_seed(3)
        return dropped / F.scaled_dot_product_attention(q, k, units)


def close(found, wanted):
    for a, b in zip(found, wanted, strict=True):
        assert wisp.allclose(a, b, rtol=1e-8, atol=1e-9)


def derivatives(function, leaves, sums, order):
    """The last of so many gradients, each of the last one's sum with weights."""
    leaves = [t.clone().requires_grad_() for t in leaves]
    found = [function(*leaves).sin().sum()]
    for done in range(order):
        value = sum((a * b).sum() for a, b in zip(found, sums, strict=True)) if len(found) > 1 else found[0]
        found = wisp.autograd.grad(value, leaves, create_graph=done + 1 < order)
    return found


@pytest.mark.parametrize("variant", VARIANTS)
def test_second_derivatives_by_differences(variant):
    case = Case(variant)
    leaves = [t.requires_grad_() for t in case.leaves]
    assert wisp.autograd.gradcheck(case.attend, leaves)
    assert wisp.autograd.gradgradcheck(case.attend, leaves)


@pytest.mark.parametrize("order", [2, 3, 4])
@pytest.mark.parametrize("variant", VARIANTS)
def test_higher_derivatives_are_those_of_the_formulas(variant, order):
    case = Case(variant)
    close(*(derivatives(f, case.leaves, case.sums, order) for f in (case.attend, case.by_scores)))


@pytest.mark.parametrize("order", [2, 3])
@pytest.mark.parametrize("variant", VARIANTS)
def test_several_blocks_of_queries_and_keys(variant, order):
    case = Case(variant, 150, 530)
    found = derivatives(case.attend, case.leaves, case.sums, order)
    wanted = derivatives(case.by_scores, case.leaves, case.sums, order)
    for a, b in zip(found, wanted, strict=True):
        assert wisp.allclose(a, b, rtol=1e-7, atol=1e-9 * float(b.abs().max()))


@pytest.mark.parametrize("missing", [0, 1, 2, 3])
def test_second_derivatives_of_some_of_the_gradients(missing):
    case = Case("learnt dropout")
    found = []
    for function in (case.attend, case.by_scores):
        leaves = [t.clone().requires_grad_() for t in case.leaves]
        some = leaves[:missing] + leaves[missing + 1 :]
        first = wisp.autograd.grad(function(*leaves).sin().sum(), some, create_graph=True)
        found.append([])
        for gradient in first:
            found[-1] += wisp.autograd.grad(gradient.cos().sum(), leaves, retain_graph=True)
    close(*found)


WAYS = {
    "jvp": lambda f, x, t: jvp(f, x, t),
    "jvp of jvp": lambda f, x, t: jvp(lambda *x: jvp(f, x, t)[1], x, t),
    "jvp of grad": lambda f, x, t: jvp(grad(lambda *x: f(*x).sin().sum(), tuple(range(len(x)))), x, t)[1],
    "grad of jvp": lambda f, x, t: grad(lambda *x: jvp(f, x, t)[1].sin().sum(), tuple(range(len(x))))(*x),
    "grad of grad": lambda f, x, t: grad(
        lambda *x: sum(g.cos().sum() for g in grad(lambda *x: f(*x).sin().sum(), tuple(range(len(x))))(*x)),
        tuple(range(len(x))),
    )(*x),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_transforms(variant, way):
    case = Case(variant)
    close(*(WAYS[way](f, tuple(case.leaves), tuple(case.sums)) for f in (case.attend, case.by_scores)))


@pytest.mark.parametrize("variant", [v for v in VARIANTS if "dropout" not in v])
@pytest.mark.parametrize("shared", range(4))
def test_batches(variant, shared):
    """Each of the arguments the same in all samples, in turn; gradients are of each sample."""
    case = Case(variant)
    count = len(case.leaves)
    dims = tuple(None if i == shared else i % 2 for i in range(count))
    batch = [t if d is None else wisp.stack([t, 2 * t, t.flip(-2)], d) for t, d in zip(case.leaves, dims, strict=True)]

    def call(function):
        made = [vmap(function, in_dims=dims)(*batch)]
        made += vmap(grad(lambda *x: function(*x).sin().sum(), tuple(range(count))), in_dims=dims)(*batch)
        return [*made, vmap(lambda *x: jvp(function, x, x)[1], in_dims=dims)(*batch)]

    close(call(case.attend), call(case.by_scores))


def test_batches_of_learnt_masks_for_samples_of_few_dimensions():
    q, k, v, mask = (wisp.randn(3, n, 4, dtype=wisp.float64) for n in (5, 4, 4, 5))

    def call(q, k, v, mask):
        return F.scaled_dot_product_attention(q, k, v, mask).sin().sum()

    rows = wisp.randn(3, 4, dtype=wisp.float64)
    for bias in (mask, rows):
        found = vmap(grad(call, (0, 1, 2, 3)))(q, k, v, bias)
        for i in range(3):
            wanted = grad(call, (0, 1, 2, 3))(q[i], k[i], v[i], bias[i])
            close([t[i] for t in found], wanted)


def peak_of(call):
    wisp.memory.reset_peak()
    before = wisp.memory.current()
    call()
    return wisp.memory.peak() - before


LENGTH = 2500
MEASURED = {
    "double backward": lambda f, x: derivatives(f, x, x, 2),
    "third derivatives": lambda f, x: derivatives(f, x, x, 3),
    **{name: lambda f, x, way=way: way(f, x, x) for name, way in WAYS.items()},
    "vmap": lambda f, x: vmap(f, randomness="different")(*(t.unsqueeze(0) for t in x)),
    "vmap of grad": lambda f, x: vmap(grad(lambda *x: f(*x).sin().sum(), tuple(range(len(x)))), randomness="different")(
        *(t.unsqueeze(0) for t in x)
    ),
    "vmap of vjp": lambda f, x: vmap(vjp(f, *x)[1])(f(*x).unsqueeze(0)),
}


@pytest.mark.parametrize("way", MEASURED)
@pytest.mark.parametrize("variant", ["plain", "causal", "learnt", "dropout"])
def test_scores_are_never_whole(variant, way):
    case = Case(variant, LENGTH, LENGTH, dtype=wisp.float32, width=8)
    leaves = tuple(t[:, :1] if t.dim() == 4 else t[:1] for t in case.leaves)
    assert peak_of(lambda: MEASURED[way](case.attend, leaves)) < 4 * LENGTH * LENGTH  # one head's scores


def test_modules_hold_as_few_scores_as_they_are_asked_for():
    length, scores = 1500, 4 * 1500 * 1500
    layer = wisp.nn.MultiheadAttention(16, 4, batch_first=True).eval()
    x = wisp.randn(1, length, 16)
    late, padded = wisp.ones(length, length, dtype=wisp.bool).triu(1), wisp.zeros(1, length, dtype=wisp.bool)
    padded[:, -3:] = True
    masks = {"attn_mask": late, "key_padding_mask": padded}
    assert peak_of(lambda: layer(x, x, x, need_weights=False, **masks)[0].sum().backward()) < scores
    with wisp.no_grad():
        found = []
        assert peak_of(lambda: found.extend(layer(x, x, x))) < 2.5 * scores  # 1 of them is the result
        wanted = layer(x, x, x, average_attn_weights=False)
        for mask in ({"attn_mask": late}, masks, {"attn_mask": wisp.randn(length, length)}):
            mean, apart = layer(x, x, x, **mask), layer(x, x, x, average_attn_weights=False, **mask)
            assert wisp.allclose(mean[0], apart[0], atol=1e-5) and wisp.allclose(mean[1], apart[1].mean(1), atol=1e-5)
    assert wisp.allclose(found[0], wanted[0], atol=1e-5) and wisp.allclose(found[1], wanted[1].mean(1), atol=1e-5)


def test_samples_of_a_batch_are_one_call():
    x = wisp.randn(5, 2, 3, 4)
    traced = wisp.jit.trace(vmap(lambda x: F.scaled_dot_product_attention(x, x, x)), x)
    assert str(traced.graph).count("_attention(") == 1
