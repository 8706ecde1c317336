"""Attention with functions of places: wisp.nn.attention.flex_attention."""

import doctest
import math

import pytest

import wisp
from wisp.nn.attention import flex_attention as module
from wisp.nn.attention.flex_attention import (
    AuxRequest,
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)
from wisp.nn.functional import scaled_dot_product_attention


def causal(b, h, q, kv):
    return q >= kv


def near(b, h, q, kv):
    return q - kv <= 2


def draw(*lengths, heads=(4, 4), dtype=wisp.float64):
    query, key = (wisp.randn(2, h, n, 8, dtype=dtype, requires_grad=True) for h, n in zip(heads, lengths))
    return query, key, wisp.randn(2, heads[1], lengths[1], 6, dtype=dtype, requires_grad=True)


def test_without_functions_it_is_attention():
    q, k, v = draw(5, 7)
    assert wisp.allclose(flex_attention(q, k, v), scaled_dot_product_attention(q, k, v))
    assert wisp.allclose(flex_attention(q, k, v, scale=0.1), scaled_dot_product_attention(q, k, v, scale=0.1))


@pytest.mark.parametrize("mask_mod", [causal, near, and_masks(causal, near), or_masks(causal, near)])
def test_masks_and_their_gradients(mask_mod):
    inputs = draw(6, 6)
    places = wisp.arange(6)
    dense = mask_mod(places, None, places[:, None], places)
    found = flex_attention(*inputs, block_mask=create_block_mask(mask_mod, None, None, 6, 6))
    wanted = scaled_dot_product_attention(*inputs, attn_mask=dense)
    assert wisp.allclose(found, wanted)
    weight = wisp.randn(found.shape, dtype=found.dtype)
    given, expected = (wisp.autograd.grad((t * weight).sum(), inputs) for t in (found, wanted))
    assert all(wisp.allclose(*pair) for pair in zip(given, expected))


def test_scores_are_functions_of_sample_head_and_places():
    q, k, v = draw(5, 7)
    slopes = wisp.rand(4, dtype=wisp.float64)
    found = flex_attention(q, k, v, score_mod=lambda score, b, h, i, j: score + slopes[h] * (j - i) - b)
    i, j = wisp.arange(5)[:, None], wisp.arange(7)
    bias = slopes[:, None, None] * (j - i)
    assert wisp.allclose(found, scaled_dot_product_attention(q, k, v, attn_mask=bias))


def test_masks_may_look_into_tensors():
    """At places of a sample, which inside a function of places are one of many."""
    q, k, v = draw(6, 6)
    documents = wisp.tensor([[0, 0, 1, 1, 1, 2], [0, 1, 1, 1, 2, 2]])
    block_mask = create_block_mask(lambda b, h, i, j: documents[b, i] == documents[b, j], 2, None, 6, 6)
    dense = (documents[:, :, None] == documents[:, None, :]).unsqueeze(1)
    assert wisp.allclose(
        flex_attention(q, k, v, block_mask=block_mask), scaled_dot_product_attention(q, k, v, attn_mask=dense)
    )


def test_shared_heads_and_other_results():
    q, k, v = draw(5, 7, heads=(4, 2))
    wanted = scaled_dot_product_attention(q, k.repeat_interleave(2, 1), v.repeat_interleave(2, 1))
    found, aux = flex_attention(q, k, v, enable_gqa=True, return_aux=AuxRequest(lse=True, max_scores=True))
    scores = q @ k.repeat_interleave(2, 1).transpose(-2, -1) / math.sqrt(8)
    assert wisp.allclose(found, wanted)
    assert wisp.allclose(aux.lse, scores.logsumexp(-1)) and wisp.allclose(aux.max_scores, scores.amax(-1))
    assert wisp.allclose(flex_attention(q, k, v, enable_gqa=True, return_lse=True)[1], aux.lse)


def test_queries_that_see_nothing_become_zeros():
    inputs = draw(3, 3)
    found = flex_attention(*inputs, block_mask=create_block_mask(lambda b, h, q, kv: q > kv, None, None, 3, 3))
    assert not found[:, :, 0].any() and found[:, :, 1].any()
    found.sum().backward()
    assert all(t.grad.isfinite().all() for t in inputs)


def test_half_precision_is_computed_in_float32():
    inputs = [t.detach() for t in draw(5, 5, dtype=wisp.bfloat16)]
    found = flex_attention(*inputs)
    assert found.dtype is wisp.bfloat16
    assert wisp.equal(found, flex_attention(*(t.float() for t in inputs)).bfloat16())


def test_blocks_are_counted():
    mask = create_block_mask(causal, 1, 1, 512, 512)
    assert mask.shape == (1, 1, 512, 512) and mask.numel() == 512 * 512
    assert mask.to_dense().tolist() == [[wisp.ones(4, 4, dtype=wisp.int32).tril().tolist()]]
    assert mask.kv_num_blocks.tolist() == [[[1, 1, 1, 1]]] and mask.full_kv_num_blocks.tolist() == [[[0, 1, 2, 3]]]
    assert mask.kv_indices[0, 0, :, 0].tolist() == [0, 1, 2, 3] and mask.q_num_blocks.tolist() == [[[1, 1, 1, 1]]]
    assert mask.sparsity() == 37.5 and repr(mask) == "BlockMask(shape=(1, 1, 512, 512), sparsity=37.50%)"
    together = create_block_mask(causal, 1, 1, 512, 512, separate_full_blocks=False)
    assert together.kv_num_blocks.tolist() == [[[1, 2, 3, 4]]] and together.full_kv_num_blocks is None
    again = BlockMask.from_kv_blocks(together.kv_num_blocks, together.kv_indices, mask_mod=causal)
    assert again.shape == mask.shape and wisp.equal(again.to_dense(), mask.to_dense())


def test_masks_as_tensors():
    assert create_mask(causal, None, None, 3, 3).tolist() == [[wisp.ones(3, 3).tril().bool().tolist()]]
    assert create_mask(lambda score, b, h, q, kv: score + q, 1, 2, 2, 2).tolist() == [[[[0, 0], [1, 1]]] * 2]


def test_arguments():
    q, k, v = draw(3, 3)
    with pytest.raises(NotImplementedError):
        flex_attention(q[0], k[0], v[0])
    for wrong in ((q.float(), k, v), (q[..., :3], k, v), (q, k[:, :2], v[:, :2])):
        with pytest.raises(ValueError):
            flex_attention(*wrong)
    with pytest.raises(ValueError, match="q_len=3"):
        flex_attention(q, k, v, block_mask=create_block_mask(causal, None, None, 4, 4))
    with pytest.raises(RuntimeError, match="callable"):
        and_masks(causal, 3)
    assert doctest.testmod(module, extraglobs={"wisp": wisp}).failed == 0
