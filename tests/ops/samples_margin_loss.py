"""Samples of similarities, and of losses made of other operators."""

import numpy as np

from tests.ops.samples_softmax import functional
from tests.ops.sampling import FLOAT, A, E, I, S, T, errors, samples

HOW = ("mean", "sum", "none")


def declare(name, **options):
    return samples(name, call=functional(name), **options)


def signs(*shape):
    """1 and -1, in turns."""
    return A(np.where(np.arange(np.prod(shape)) % 2, -1.0, 1.0).reshape(shape), grad=False)


@samples("cosine_similarity", dtypes=FLOAT)
def cosine_similarity():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3), dim=-1)
    yield S(T(3), T(3), 0, 1e-3)


@samples("pairwise_distance", dtypes=FLOAT)
def pairwise_distance():
    yield S(T(2, 3), T(2, 3))
    yield S(T(2, 3), T(3), 1.0)
    yield S(T(3), T(3), 3.0, keepdim=True)


@declare("normalize", dtypes=FLOAT)
def normalize():
    yield S(T(2, 3))
    yield S(T(2, 3), 1.0, 0)
    yield S(T(3), dim=0, eps=10.0)


@declare("kl_div", dtypes=FLOAT)
def kl_div():
    for how in HOW + ("batchmean",):
        yield S(T(2, 3), T(2, 3, low=0.1, high=1), reduction=how)
        yield S(T(2, 3), T(2, 3), reduction=how, log_target=True)


@declare("poisson_nll_loss", dtypes=FLOAT)
def poisson_nll_loss():
    for how in HOW:
        yield S(T(2, 3), T(2, 3, low=0.1, high=3, grad=False), reduction=how)
    yield S(T(2, 3, low=0.1), T(2, 3, low=0.1, high=3, grad=False), log_input=False)
    yield S(T(2, 3), T(2, 3, low=0.1, high=3, grad=False), full=True)


@declare("gaussian_nll_loss", dtypes=FLOAT)
def gaussian_nll_loss():
    for how in HOW:
        yield S(T(2, 3), T(2, 3), T(2, 3, low=0.5), reduction=how)
    yield S(T(2, 3), T(2, 3), T(2, low=0.5), full=True)
    yield S(T(2, 3), T(2, 3), T(2, 1, low=0.5))
    yield S(T(2, 3), T(2, 3), 0.5)


@declare("soft_margin_loss", dtypes=FLOAT)
def soft_margin_loss():
    for how in HOW:
        yield S(T(2, 3), signs(2, 3), reduction=how)


@declare("hinge_embedding_loss", dtypes=FLOAT)
def hinge_embedding_loss():
    for how in HOW:
        yield S(T(2, 3), signs(2, 3), reduction=how)
    yield S(T(2, 3), signs(2, 3), 0.3)


@declare("margin_ranking_loss", dtypes=FLOAT)
def margin_ranking_loss():
    for how in HOW:
        yield S(T(4), T(4), signs(4), 0.3, reduction=how)


@declare("cosine_embedding_loss", dtypes=FLOAT)
def cosine_embedding_loss():
    for how in HOW:
        yield S(T(2, 3), T(2, 3), signs(2), reduction=how)
    yield S(T(3), T(3), A(-1.0, grad=False), 0.2)


@declare("triplet_margin_loss", dtypes=FLOAT)
def triplet_margin_loss():
    for how in HOW:
        yield S(T(2, 3), T(2, 3), T(2, 3), reduction=how)
    yield S(T(2, 3), T(2, 3), T(2, 3), 2.0, 1.0, swap=True)


@declare("multi_margin_loss", dtypes=FLOAT[:2])
def multi_margin_loss():
    for how in HOW:
        yield S(T(2, 3), I(2, high=2), reduction=how)
        yield S(T(2, 3), I(2, high=2), 2, 0.7, T(3, low=0.5, grad=False), reduction=how)
    yield S(T(3), I(1, high=2))


@declare("multilabel_margin_loss", dtypes=FLOAT[:2])
def multilabel_margin_loss():
    for how in HOW:
        yield S(T(2, 3), A([[2, 0, -1], [1, -1, 0]], "int64"), reduction=how)
    yield S(T(3), A([1, -1, 2], "int64"))


@declare("multilabel_soft_margin_loss", dtypes=FLOAT)
def multilabel_soft_margin_loss():
    for how in HOW:
        yield S(T(2, 3), T(2, 3, low=0, high=1), reduction=how)
    yield S(T(2, 3), T(2, 3, low=0, high=1), T(3, low=0.5, grad=False))


@errors("gaussian_nll_loss")
def bad_gaussian():
    yield E(ValueError, "negative entry", T(2), T(2), A([1.0, -1.0]))
    yield E(ValueError, "incorrect size", T(2, 3), T(2, 3), T(3, low=0.5))


@errors("multi_margin_loss")
def bad_multi_margin():
    yield E(ValueError, "only p == 1 and p == 2", T(2, 3), I(2, high=2), 3)


@errors("triplet_margin_loss")
def bad_triplet():
    yield E(ValueError, "margin must be greater than 0", T(2, 3), T(2, 3), T(2, 3), 0.0)
