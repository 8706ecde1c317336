"""Samples of attention, bags of embeddings and sequence losses."""

import numpy as np

from tests.ops.samples_pool import declare
from tests.ops.sampling import FLOAT, A, B, E, S, T, errors, samples


@declare("scaled_dot_product_attention", dtypes=FLOAT)
def scaled_dot_product_attention():
    yield S(T(3, 2), T(4, 2), T(4, 2))
    yield S(T(1, 2, 2, 2), T(1, 2, 3, 2), T(1, 2, 3, 1))
    yield S(T(3, 2), T(3, 2), T(3, 2), is_causal=True)
    yield S(T(3, 2), T(4, 2), T(4, 2), A([[0, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 0]], "bool"))
    yield S(T(2, 3, 2), T(2, 4, 2), T(2, 4, 2), T(3, 4, grad=False), scale=0.3)
    yield S(T(2, 2), T(3, 2), T(3, 2), T(2, 3))  # the mask is learnt
    yield S(T(1, 2, 2, 2), T(1, 1, 3, 2), T(1, 1, 3, 2), enable_gqa=True)
    yield S(T(2, 1, 2, 2), T(3, 2), T(1, 2, 3, 2))
    yield S(T(2, 2, 150, 8, grad=False), T(2, 2, 530, 8, grad=False), T(2, 2, 530, 8, grad=False), _dtypes=FLOAT[:2])
    yield S(
        T(1, 600, 4, grad=False), T(1, 600, 4, grad=False), T(1, 600, 4, grad=False), is_causal=True, _dtypes=FLOAT[:2]
    )
    yield S(T(0, 2, 2), T(0, 3, 2), T(0, 3, 2))


@errors("scaled_dot_product_attention")
def bad_attention():
    yield E(RuntimeError, "at least 2 dimensional", T(2), T(2), T(2))
    yield E(RuntimeError, "should not be set when is_causal", T(2, 2), T(2, 2), T(2, 2), B(2, 2), is_causal=True)
    yield E(RuntimeError, "equal widths", T(2, 2), T(2, 3), T(2, 2))
    yield E(RuntimeError, "attn_mask dtype", T(2, 2), T(2, 2), T(2, 2), A([[1, 0], [0, 1]], "int64"))


BAGS = A([0, 2, 1, 1, 0], "int64")


@declare("embedding_bag", dtypes=FLOAT)
def embedding_bag():
    for mode in ("sum", "mean", "max"):
        yield S(BAGS, T(3, 2), A([0, 2, 2], "int64"), mode=mode)
        yield S(A([[0, 2], [1, 1]], "int64"), T(3, 2), mode=mode)
        yield S(BAGS, T(3, 2), A([0, 2], "int64"), mode=mode, padding_idx=0)
    yield S(BAGS, T(3, 2), A([0, 2, 5], "int64"), include_last_offset=True)
    yield S(BAGS, T(3, 2), A([0, 3], "int64"), mode="sum", per_sample_weights=T(5))
    yield S(BAGS, T(3, 2), A([0, 3], "int64"), mode="sum", per_sample_weights=T(5), padding_idx=1)
    yield S(BAGS, T(3, 2), A([0, 3], "int64"), scale_grad_by_freq=True, _grad=False)
    yield S(BAGS, T(3, 2, grad=False), A([0, 3], "int64"), 0.5)
    yield S(A([0, 1], "int32"), T(3, 2), A([0, 1], "int32"))


@errors("embedding_bag")
def bad_embedding_bag():
    yield E(ValueError, "mode has to be", A([0], "int64"), T(3, 2), A([0], "int64"), mode="min")
    yield E(ValueError, "got None", A([0], "int64"), T(3, 2))
    yield E(RuntimeError, "num_embeddings", A([3], "int64"), T(3, 2), A([0], "int64"))
    yield E(RuntimeError, r"offsets\[0\] has to be 0", A([0], "int64"), T(3, 2), A([1], "int64"))
    yield E(
        NotImplementedError, "per_sample_weights", A([0], "int64"), T(3, 2), A([0], "int64"), per_sample_weights=T(1)
    )


def ctc(lib, scores, *args, **kwargs):
    """Of log_softmax: the derivative of ctc_loss is meant for it."""
    return lib.nn.functional.ctc_loss(scores.log_softmax(-1), *args, **kwargs)


@samples("ctc_loss", dtypes=FLOAT[:2], call=ctc, second_order=False)
def ctc_loss():
    for how in ("mean", "sum", "none"):
        yield S(T(4, 1, 3), A([[1, 2]], "int64"), [4], [2], reduction=how)
        yield S(T(3, 2, 2), A([1, 1, 1], "int64"), [3, 2], (2, 1), reduction=how)
    yield S(T(4, 1, 3), A([[1, 1, 2]], "int64"), A([4], "int64"), A([3], "int64"), zero_infinity=True)
    yield S(T(2, 1, 3), A([[1, 1, 2]], "int64"), A([2], "int64"), A([3], "int64"), zero_infinity=True)
    yield S(T(2, 1, 3), A([[1, 1, 2]], "int64"), A([2], "int64"), A([3], "int64"), _grad=False)
    yield S(T(4, 3), A([2], "int64"), [4], [1], 1)
    yield S(T(4, 1, 3), A([[1]], "int32"), [3], [0])


@errors("ctc_loss")
def bad_ctc():
    yield E(RuntimeError, "blank must be in label range", T(2, 1, 3), A([[1]], "int64"), [2], [1], 3)
    yield E(RuntimeError, "batch_size", T(2, 1, 3), A([[1]], "int64"), [2, 2], [1])
    yield E(RuntimeError, "at most", T(2, 1, 3), A([[1]], "int64"), [3], [1])
    yield E(ValueError, "not a valid value", T(2, 1, 3), A([[1]], "int64"), [2], [1], reduction="all")


@declare("triplet_margin_with_distance_loss", dtypes=FLOAT)
def triplet_margin_with_distance_loss():
    yield S(T(2, 3), T(2, 3), T(2, 3))
    yield S(T(2, 3), T(2, 3), T(2, 3), margin=2.0, swap=True, reduction="none")


@declare("linear_cross_entropy", dtypes=FLOAT)
def linear_cross_entropy():
    yield S(T(2, 3), T(4, 3), A([1, 3], "int64"))
    yield S(T(3), T(4, 3), A(2, "int64"), linear_bias=T(4), reduction="sum")
    yield S(T(2, 3), T(2, 2, 3), A([[0, 1], [1, 1]], "int64"), linear_bias=T(2, 2), label_smoothing=0.1)
    yield S(T(2, 3), T(4, 3), A([1, 3], "int64"), weight=T(4, low=0.5, grad=False), ignore_index=1)


@declare("multi_head_attention_forward", dtypes=FLOAT[:2], second_order=False)
def multi_head_attention_forward():
    w, b, o, ob = T(12, 4), T(12), T(4, 4), T(4)
    for weights in (True, False):
        yield S(T(2, 1, 4), T(3, 1, 4), T(3, 1, 4), 4, 2, w, b, None, None, False, 0.0, o, ob, need_weights=weights,
                _tol=1e-4)  # fmt: skip
        yield S(T(2, 4), T(3, 4), T(3, 4), 4, 2, w, None, None, None, True, 0.0, o, None, need_weights=weights,
                average_attn_weights=False, _tol=1e-4, _grad=False)  # fmt: skip
        yield S(T(2, 1, 4), T(3, 1, 4), T(3, 1, 4), 4, 2, w, b, T(1, 1, 4), T(1, 1, 4), True, 0.0, o, ob,
                need_weights=weights, key_padding_mask=A([[False, True, False]], "bool"),
                attn_mask=A([[False, False, True], [False, True, False]], "bool"), _tol=1e-4, _grad=False)  # fmt: skip
        yield S(T(2, 1, 4), T(3, 1, 2), T(3, 1, 3), 4, 2, None, b, None, None, False, 0.0, o, ob, need_weights=weights,
                use_separate_proj_weight=True, q_proj_weight=T(4, 4), k_proj_weight=T(4, 2), v_proj_weight=T(4, 3),
                _tol=1e-4, _grad=False)  # fmt: skip
        yield S(T(3, 1, 4), T(3, 1, 4), T(3, 1, 4), 4, 2, w, b, None, None, False, 0.0, o, ob, need_weights=weights,
                is_causal=True, attn_mask=A(np.triu(np.ones((3, 3), bool), 1), "bool"), _tol=1e-4, _grad=False)  # fmt: skip
        yield S(T(2, 2, 4), T(3, 2, 4), T(3, 2, 4), 4, 2, w, b, None, None, False, 0.0, o, ob, need_weights=weights,
                static_k=T(4, 5, 2), static_v=T(4, 5, 2), _tol=1e-4,
                _grad=False)  # fmt: skip


@errors("multi_head_attention_forward")
def bad_mha():
    yield E(AssertionError, "was expecting embedding dimension", T(2, 1, 4), T(3, 1, 4), T(3, 1, 4), 5, 2, T(12, 4), None, None,
            None, False, 0.0, T(4, 4), None)  # fmt: skip
    yield E(AssertionError, "unbatched 2D or batched 3D", T(4), T(4), T(4), 4, 2, T(12, 4), None, None, None, False, 0.0,
            T(4, 4), None)  # fmt: skip


@samples("pdist", dtypes=FLOAT[:2])
def pdist():
    yield S(T(4, 3))
    yield S(T(3, 2), 1.0)
    yield S(T(3, 2), p=float("inf"))
    yield S(T(1, 2))
    yield S(T(0, 2))


@errors("pdist")
def bad_pdist():
    yield E(RuntimeError, "only supports 2D", T(3))
    yield E(RuntimeError, "non-negative", T(3, 2), -1.0)
