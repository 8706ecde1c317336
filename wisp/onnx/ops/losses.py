"""Losses."""

import wisp
from wisp.nn import functional as F


def _nll(node, log_probabilities, target, weight=None):
    """The negative log likelihood. A target that is left out may be any number."""
    ignored = node["ignore_index"]
    target = target.to(wisp.int64)
    if ignored is None:
        return F.nll_loss(log_probabilities, target, weight, reduction=node["reduction"])
    return F.nll_loss(log_probabilities, target, weight, ignore_index=ignored, reduction=node["reduction"])


def _softmax_cross_entropy(node, scores, target, weight=None):
    log_probabilities = wisp.log_softmax(scores, 1)
    return _nll(node, log_probabilities, target, weight), log_probabilities


OPERATORS = {
    "NegativeLogLikelihoodLoss": [(12, _nll)],
    "SoftmaxCrossEntropyLoss": [(12, _softmax_cross_entropy)],
}
