"""Products with Jacobians and Hessians, and these themselves, of functions of tensors."""

from wisp import _C

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


def _as_tuple(value, what):
    """(tuple of tensors, whether it was a tuple)."""
    given = isinstance(value, (tuple, list))
    values = tuple(value) if given else (value,)
    for i, item in enumerate(values):
        if not isinstance(item, _C.Tensor):
            where = f" at index {i}" if given else ""
            raise TypeError(f"The {what} must be either a Tensor or a tuple of Tensors, but the value{where} is of type "
                            f"{type(item)}.")  # fmt: skip
    return values, given


def _inputs(values, create_graph):
    """Stand-ins to differentiate by; derivatives of the result reach the originals only with create_graph."""
    if create_graph:
        return tuple(x.view_as(x) if x.requires_grad else x.clone().requires_grad_() for x in values)
    return tuple(x.detach().requires_grad_() for x in values)


def _call(func, values, what):
    return _as_tuple(func(*values), what)


def _checked_vector(v, like, name, default):
    """The tensors of a vector, of the shapes of ``like``; ones for a single number if none was given."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(default)
        return (_C._functions["ones_like"](like[0]),)
    values, _ = _as_tuple(v, name)
    if len(values) != len(like):
        raise RuntimeError(f"v is a tuple of invalid length: should be {len(like)} but got {len(values)}.")
    for i, (given, wanted) in enumerate(zip(values, like)):
        if given.shape != wanted.shape:
            raise RuntimeError(f"Entry {i} of v has size {tuple(given.shape)}, expected {tuple(wanted.shape)}: v must have the "
                               f"size of the corresponding {name}.")  # fmt: skip
    return values


def _grads(outputs, inputs, weights, create_graph, strict, what):
    """Gradients of the weighted outputs; zeros for what they do not depend on, an error if strict."""
    tracked = [(out, w) for out, w in zip(outputs, weights) if out.requires_grad]
    if strict and len(tracked) < len(outputs):
        raise RuntimeError(f"Output of the {what} is independent of the inputs. This is not allowed in strict mode.")
    found = (None,) * len(inputs)
    if tracked:
        outs, ws = zip(*tracked)
        found = _C._run_backward(outs, ws, True, create_graph, inputs, False)
    if strict and any(g is None for g in found):
        at = next(i for i, g in enumerate(found) if g is None)
        raise RuntimeError(
            f"The output of the {what} is independent of input {at}. This is not allowed in strict mode."
        )
    if strict and create_graph and not all(g.requires_grad for g in found):
        at = next(i for i, g in enumerate(found) if not g.requires_grad)
        raise RuntimeError(f"The jacobian of the {what} is independent of input {at}. This is not allowed in strict mode when "
                           "create_graph=True.")  # fmt: skip
    return tuple(_C._functions["zeros_like"](x) if g is None else g for g, x in zip(found, inputs))


def _finish(values, create_graph, as_tuple):
    values = values if create_graph else tuple(v.detach() for v in values)
    return values if as_tuple else values[0]


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)`` and the product of ``v`` with its Jacobian."""
    with _C.enable_grad():
        given, as_tuple = _as_tuple(inputs, "inputs given to vjp")
        points = _inputs(given, create_graph)
        outputs, outs_tuple = _call(func, points, "outputs of the user-provided function given to vjp")
        v = _checked_vector(v, outputs, "output of the user-provided function",
                            "The vector v can only be None if the user-provided function returns a single Tensor with a "
                            "single element.")  # fmt: skip
        grads = _grads(outputs, points, v, create_graph, strict, "user-provided function")
    return _finish(outputs, create_graph, outs_tuple), _finish(grads, create_graph, as_tuple)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)`` and the product of its Jacobian with ``v``."""
    with _C.enable_grad():
        given, _ = _as_tuple(inputs, "inputs given to jvp")
        points = _inputs(given, create_graph)
        v = _checked_vector(v, points, "input of the user-provided function",
                            "The vector v can only be None if the input to the user-provided function is a single Tensor "
                            "with a single element.")  # fmt: skip
        outputs, outs_tuple = _call(func, points, "outputs of the user-provided function given to jvp")
        # The gradient is linear in its weights; its derivative by them is the product wanted.
        weights = tuple(_C._functions["zeros_like"](out).requires_grad_() for out in outputs)
        pulled = _grads(outputs, points, weights, True, strict, "user-provided function")
        pushed = _grads(pulled, weights, v, create_graph, strict, "user-provided function")
    return _finish(outputs, create_graph, outs_tuple), _finish(pushed, create_graph, outs_tuple)


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian of ``func``: for each output (and each input, where these are tuples) a tensor of both shapes joined.

    With ``vectorize=True`` all rows are computed at once; ``strategy='forward-mode'`` goes by columns, all at once.
    """
    if strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode". Hint: If your function has '
                             'more outputs than inputs, "forward-mode" tends to be more performant. Otherwise, prefer to '
                             'use "reverse-mode".')  # fmt: skip
    if strategy == "forward-mode":
        return _jacobian_forward(func, inputs, create_graph, strict)
    if strict and vectorize:
        raise RuntimeError("jacobian: `strict=True` and `vectorized=True` are not supported "
                           "together. Please either set `strict=False` or `vectorize=False`.")  # fmt: skip
    with _C.enable_grad():
        given, as_tuple = _as_tuple(inputs, "inputs given to jacobian")
        points = _inputs(given, create_graph)
        outputs, outs_tuple = _call(func, points, "outputs of the user-provided function given to jacobian")
        rows = _rows_at_once if vectorize else _rows_one_by_one
        blocks = tuple(rows(out, points, create_graph, strict) for out in outputs)
    blocks = tuple(row if create_graph else tuple(b.detach() for b in row) for row in blocks)
    blocks = blocks if as_tuple else tuple(row[0] for row in blocks)
    return blocks if outs_tuple else blocks[0]


def _rows_one_by_one(out, points, create_graph, strict):
    rows = []
    for i in range(out.numel()):
        weight = _C._functions["zeros"]((out.numel(),), dtype=out.dtype)
        weight[i] = 1
        rows.append(_grads((out,), points, (weight.view_as(out),), create_graph, strict, "user-provided function"))
    return _blocks(rows, out, points)


def _rows_at_once(out, points, create_graph, strict):
    from wisp.func import vmap

    def pull(weight):
        return _grads((out,), points, (weight,), create_graph, strict, "user-provided function")

    if out.numel() == 0:
        return _blocks([], out, points)
    basis = _C._functions["eye"](out.numel(), dtype=out.dtype).view((out.numel(), *out.shape))
    rows = vmap(pull)(basis)
    return tuple(row.view((*out.shape, *x.shape)) for row, x in zip(rows, points))


def _blocks(rows, out, points):
    if not rows:
        return tuple(x.new_zeros((*out.shape, *x.shape)) for x in points)
    stack = _C._functions["stack"]
    return tuple(stack(column).view((*out.shape, *x.shape)) for column, x in zip(zip(*rows), points))


def _jacobian_forward(func, inputs, create_graph, strict):
    from wisp.func import jacfwd

    if strict:
        raise RuntimeError('jacobian: `strict=True` and `strategy="forward-mode"` are not '
                           'supported together (yet). Please either set `strict=False` or `strategy="reverse-mode"`.')  # fmt: skip
    given, as_tuple = _as_tuple(inputs, "inputs given to jacobian")
    points = given if create_graph else tuple(x.detach() for x in given)
    result = jacfwd(func, argnums=tuple(range(len(points))))(*points)
    if isinstance(result[0], tuple):
        return result if as_tuple else tuple(row[0] for row in result)
    return result if as_tuple else result[0]


def _scalar(func, name):
    def wrapper(*args):
        out = func(*args)
        values, given = _as_tuple(out, f"outputs of the user-provided function given to {name}")
        if given:
            raise RuntimeError(f"The function given to {name} should return a single Tensor")
        if values[0].numel() != 1:
            raise RuntimeError(f"The Tensor returned by the function given to {name} should contain a single element")
        return values[0].squeeze()

    return wrapper


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of a function of one number: for each pair of inputs a tensor of both shapes joined."""
    given, as_tuple = _as_tuple(inputs, "inputs given to hessian")
    if outer_jacobian_strategy not in ("forward-mode", "reverse-mode"):
        raise AssertionError('Expected strategy to be either "forward-mode" or "reverse-mode".')
    single = _scalar(func, "hessian")

    def gradient(*points):
        points = tuple(x if x.requires_grad else x.detach().requires_grad_() for x in points)
        return jacobian(single, points, create_graph=True, strict=strict)

    if outer_jacobian_strategy == "forward-mode":
        from wisp import func as transforms

        nums = tuple(range(len(given)))
        points = given if create_graph else tuple(x.detach() for x in given)
        result = transforms.jacfwd(transforms.grad(single, nums), nums)(*points)
    else:
        result = jacobian(gradient, given, create_graph=create_graph, strict=strict, vectorize=vectorize)
    return result if as_tuple else result[0][0]


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)``, a single number, and the product of ``v`` with its Hessian."""
    with _C.enable_grad():
        given, as_tuple = _as_tuple(inputs, "inputs given to vhp")
        points = _inputs(given, create_graph)
        v = _hessian_vector(v, points)
        output = _scalar(func, "vhp")(*points)
        grads = _first_gradient(output, points, strict)
        product = _grads(grads, points, v, create_graph, strict, "gradient")
    return _finish((output,), create_graph, False), _finish(product, create_graph, as_tuple)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """``func(*inputs)``, a single number, and the product of its Hessian with ``v``."""
    with _C.enable_grad():
        given, as_tuple = _as_tuple(inputs, "inputs given to hvp")
        points = _inputs(given, create_graph)
        v = _hessian_vector(v, points)
        output = _scalar(func, "hvp")(*points)
        grads = _first_gradient(output, points, strict)
        weights = tuple(_C._functions["zeros_like"](g).requires_grad_() for g in grads)
        pulled = _grads(grads, points, weights, True, strict, "gradient")
        product = _grads(pulled, weights, v, create_graph, False, "derivative")
    return _finish((output,), create_graph, False), _finish(product, create_graph, as_tuple)


def _hessian_vector(v, points):
    return _checked_vector(v, points, "input of the user-provided function",
                           "The vector v can only be None if the input to the user-provided function is a single Tensor "
                           "with a single element.")  # fmt: skip


def _first_gradient(output, points, strict):
    one = _C._functions["ones_like"](output)
    return _grads((output,), points, (one,), True, strict, "user-provided function")
