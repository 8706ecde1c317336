"""Random numbers. The default generator is used (`wisp.manual_seed`), or one of the node's own if it has a seed."""

import wisp
from wisp.onnx._values import DTYPES, Element
from wisp.onnx.ops._common import of_type


def _dtype(node, like=None):
    if node["dtype"] is not None:
        return DTYPES[Element(node["dtype"])]
    return wisp.float32 if like is None else like.dtype


def _normal(node, shape, dtype):
    return wisp.randn(shape, dtype=dtype, generator=node.generator()) * node["scale"] + node["mean"]


def _uniform(node, shape, dtype):
    return wisp.rand(shape, dtype=dtype, generator=node.generator()) * (node["high"] - node["low"]) + node["low"]


def _of_shape(draw):
    return lambda node: draw(node, node["shape"], _dtype(node))


def _like(draw):
    return lambda node, x: draw(node, x.shape, _dtype(node, x))


def _bernoulli(node, probabilities):
    drawn = wisp.rand(probabilities.shape, generator=node.generator()) < probabilities
    return drawn.to(_dtype(node, probabilities)) if node["dtype"] is None else of_type(drawn, node["dtype"])


def _multinomial(node, log_probabilities):
    probabilities = wisp.softmax(log_probabilities.to(wisp.float32), 1)
    drawn = wisp.multinomial(probabilities, node["sample_size"], True, generator=node.generator())
    return drawn.to(_dtype(node))


OPERATORS = {
    "Bernoulli": [(15, _bernoulli)],
    "Multinomial": [(7, _multinomial)],
    "RandomNormal": [(1, _of_shape(_normal))],
    "RandomNormalLike": [(1, _like(_normal))],
    "RandomUniform": [(1, _of_shape(_uniform))],
    "RandomUniformLike": [(1, _like(_uniform))],
}
