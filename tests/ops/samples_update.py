"""The step of an optimiser as one operator. Its rules are tested with the optimisers."""

from tests.ops.sampling import S, T, samples


def step(lib, param, grad):
    """Gradient descent on a copy."""
    param = param.clone()
    if hasattr(lib, "_fused_update"):
        lib._fused_update([param], [grad], [], [], [], [], "sgd", [0.5, 0, 0, 0.25, 0, 0, 0])
        return param
    return param - 0.5 * (grad + 0.25 * param)


@samples("_fused_update", dtypes=("float32", "float64"), call=step)
def fused_update():
    yield S(T(2, 3, grad=False), T(2, 3, grad=False))
    yield S(T(2, 3, layout="transposed", grad=False), T(2, 3, grad=False))
    yield S(T(0, grad=False), T(0, grad=False))
    yield S(T(grad=False), T(grad=False))
