"""Functions that the top level has in a form of its own: losses whose reduction is a number (0: none, 1: the mean,
2: the sum), norms with all their arguments in order, and dropout in place."""

from wisp.nn import functional as F

_REDUCTIONS = ("none", "mean", "sum")


def _named(reduction):
    if reduction not in (0, 1, 2):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return _REDUCTIONS[reduction]


def binary_cross_entropy_with_logits(input, target, weight=None, pos_weight=None, reduction=1):
    """See wisp.nn.functional.binary_cross_entropy_with_logits()."""
    return F.binary_cross_entropy_with_logits(input, target, weight, pos_weight=pos_weight, reduction=_named(reduction))


def cosine_embedding_loss(input1, input2, target, margin=0.0, reduction=1):
    """See wisp.nn.functional.cosine_embedding_loss()."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_named(reduction))


def hinge_embedding_loss(input, target, margin=1.0, reduction=1):
    """See wisp.nn.functional.hinge_embedding_loss()."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_named(reduction))


def kl_div(input, target, reduction=1, *, log_target=False):
    """See wisp.nn.functional.kl_div()."""
    loss, name = F.kl_div(input, target, reduction="none", log_target=log_target), _named(reduction)
    return loss if name == "none" else getattr(loss, name)()


def margin_ranking_loss(input1, input2, target, margin=0.0, reduction=1):
    """See wisp.nn.functional.margin_ranking_loss()."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_named(reduction))


def poisson_nll_loss(input, target, log_input, full, eps, reduction):
    """See wisp.nn.functional.poisson_nll_loss()."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_named(reduction))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, reduction=1):
    """See wisp.nn.functional.triplet_margin_loss()."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_named(reduction))


def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled):
    """See wisp.nn.functional.batch_norm()."""
    return F.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, cudnn_enabled):
    """See wisp.nn.functional.instance_norm()."""
    return F.instance_norm(input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps)


def frobenius_norm(input, dim, keepdim=False):
    """The square root of the sum of squares over dimensions."""
    from wisp.linalg import vector_norm

    return vector_norm(input, 2, dim, keepdim)


def norm_except_dim(v, pow=2, dim=0):
    """The norm over all dimensions but one, which stays; those become 1.

    >>> wisp.norm_except_dim(wisp.ones(2, 4))
    tensor([[2.],
            [2.]])
    """
    if dim == -1:
        return v.norm(pow)
    others = [d for d in range(v.dim()) if d != dim % v.dim()]
    return v.norm(pow, others, keepdim=True) if others else v.abs()


def dropout_(input, p, train):
    """See wisp.nn.functional.dropout(); in place."""
    return F.dropout(input, p, train, inplace=True)


def alpha_dropout_(input, p, train):
    """See wisp.nn.functional.alpha_dropout(); in place."""
    return F.alpha_dropout(input, p, train, inplace=True)


def feature_dropout(input, p, train):
    """dropout of whole channels."""
    return _feature_dropout(input, p, train, False)


def feature_dropout_(input, p, train):
    """dropout of whole channels, in place."""
    return _feature_dropout(input, p, train, True)


def _feature_dropout(input, p, train, inplace):
    if input.dim() < 2:
        raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
    if not train:
        return input
    kept = F.dropout(input.new_ones(input.shape[:2] + (1,) * (input.dim() - 2)), p, True)
    return input.mul_(kept) if inplace else input * kept


def feature_alpha_dropout(input, p, train):
    """See wisp.nn.functional.feature_alpha_dropout()."""
    return F.feature_alpha_dropout(input, p, train)


def feature_alpha_dropout_(input, p, train):
    """See wisp.nn.functional.feature_alpha_dropout(); in place."""
    return F.feature_alpha_dropout(input, p, train, inplace=True)
