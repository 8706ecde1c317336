"""Derivatives of functions, as functions."""

import functools
import threading

from wisp import _C
from wisp.utils._pytree import tree_flatten, tree_map, tree_unflatten

from ._vmap import vmap

# How many functions are being differentiated in reverse mode around the running one.
_nesting = threading.local()


class _Nested:
    """Inside, gradients are computed by the outer functions too, and so must be recorded."""

    def __enter__(self):
        self.outer = getattr(_nesting, "depth", 0)
        _nesting.depth = self.outer + 1
        self.grad = _C.is_grad_enabled()
        _C._set_grad_enabled(True)
        return self

    def __exit__(self, *exc):
        _nesting.depth = self.outer
        _C._set_grad_enabled(self.grad)


def _points(values):
    """Stand-ins for tensors, by which a function of them can be differentiated."""
    for value in values:
        if not isinstance(value, _C.Tensor):
            raise ValueError(f"Expected a Tensor to differentiate by, got {type(value).__name__}")
    return [_C._differentiable_point(value) for value in values]


def _keeps_graph(nested, originals, outputs, points):
    """Whether the derivative is itself to be differentiated: by an outer function, or by what the caller tracks."""
    if not nested.grad:
        return False
    return (
        nested.outer > 0 or any(value.requires_grad for value in originals) or _C._reaches_other_leaves(outputs, points)
    )


def _plain(tensor, keep):
    return tensor if keep or not isinstance(tensor, _C.Tensor) else _C._without_history(tensor)


def _pull(outputs, points, weights, keep):
    """Gradients by the points of the weighted sum of the outputs; zeros where there is none."""
    tracked = [(out, weight) for out, weight in zip(outputs, weights) if out.requires_grad]
    zeros = _C._functions["zeros_like"]
    if not tracked:
        return [zeros(point) for point in points]
    grads = _C._run_backward(
        tuple(out for out, _ in tracked), tuple(w for _, w in tracked), True, keep, tuple(points), False
    )
    return [zeros(point) if g is None else g for g, point in zip(grads, points)]


def _select(args, argnums, name):
    """The arguments to differentiate by, as one nest."""
    if isinstance(argnums, int):
        if not -len(args) <= argnums < len(args):
            raise RuntimeError(f"Got argnum={argnums}, but only {len(args)} positional inputs")
        return args[argnums]
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    return tuple(_select(args, i, name) for i in argnums)


def _replace(args, argnums, values):
    args = list(args)
    if isinstance(argnums, int):
        args[argnums] = values
    else:
        for i, value in zip(argnums, values):
            args[i] = value
    return args


def _split_aux(result, has_aux, name):
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise RuntimeError(f"{name}: output of function f should be a tuple: (output, aux) if has_aux is True")
    return result


def grad_and_value(func, argnums=0, has_aux=False):
    """The function that returns the gradient of ``func`` and its value (and aux, as ``(gradient, (value, aux))``)."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        chosen, spec = tree_flatten(_select(args, argnums, "grad"))
        with _Nested() as nested:
            points = _points(chosen)
            moved = _replace(args, argnums, tree_unflatten(points, spec))
            value, aux = _split_aux(func(*moved, **kwargs), has_aux, "grad_and_value(f)(*args)")
            if not isinstance(value, _C.Tensor):
                raise RuntimeError(
                    f"Expected f(*args) to return a Tensor, got {type(value).__name__} in grad_and_value(f)(*args)"
                )
            if value.dim() != 0:
                raise RuntimeError(
                    "Expected f(*args) to return a scalar tensor, got tensor with "
                    f"{value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?"
                )
            keep = _keeps_graph(nested, chosen, [value], points)
            grads = _pull([value], points, [_C._functions["ones_like"](value)], keep)
        value, aux = _plain(value, keep), tree_map(lambda x: _plain(x, keep), aux)
        grads = tree_unflatten([_plain(g, keep) for g in grads], spec)
        return (grads, (value, aux)) if has_aux else (grads, value)

    return wrapper


def value_and_grad(func, argnums=0, has_aux=False):
    """The function that returns the value of ``func`` (or ``(value, aux)``) and its gradient."""
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return value, grads

    return wrapper


def grad(func, argnums=0, has_aux=False):
    """The function that returns the gradient of ``func``, which must return a tensor of one element and no dimension.

    Args:
        func: the function to differentiate.
        argnums: by which argument(s).
        has_aux: ``func`` returns ``(value, aux)``, and the result is ``(gradient, aux)``.

    >>> import wisp
    >>> wisp.func.grad(lambda x: (x ** 3).sum())(wisp.tensor([1., 2.]))
    tensor([ 3., 12.])
    """
    both = grad_and_value(func, argnums, has_aux)

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        grads, value = both(*args, **kwargs)
        return (grads, value[1]) if has_aux else grads

    return wrapper


def _tensors_of(tree, what):
    leaves, spec = tree_flatten(tree)
    if not leaves:
        raise RuntimeError(f"{what} to be a non-empty tree of Tensors")
    for leaf in leaves:
        if not isinstance(leaf, _C.Tensor):
            raise RuntimeError(f"{what} to be only Tensors, got unsupported type {type(leaf).__name__}")
    return leaves, spec


def vjp(func, *primals, has_aux=False):
    """``func(*primals)`` and the function that pulls gradients of it back to gradients of ``primals``.

    Returns ``(output, vjp_fn)``, or ``(output, vjp_fn, aux)`` if ``func`` returns ``(output, aux)``.
    """
    flat, spec = _tensors_of(primals, "vjp(f, *primals): Expected primals")
    with _Nested() as nested:
        points = _points(flat)
        output, aux = _split_aux(func(*tree_unflatten(points, spec)), has_aux, "vjp(f, *primals)")
        outs, out_spec = _tensors_of(output, "vjp(f, *primals): Expected the output of f")
        keep = _keeps_graph(nested, flat, outs, points)

    def vjp_fn(*cotangents, retain_graph=True, create_graph=None):
        weights, weight_spec = tree_flatten(cotangents[0] if len(cotangents) == 1 else cotangents)
        if weight_spec != out_spec:
            raise RuntimeError(
                f"Expected pytree structure of cotangents to be the same as pytree structure of outputs to the function. "
                f"cotangents: {weight_spec}, primal output: {out_spec}"
            )
        for out, weight in zip(outs, weights):
            if out.shape != weight.shape:
                raise RuntimeError(
                    f"Expected a cotangent of shape {tuple(out.shape)}, got one of shape {tuple(weight.shape)}"
                )
        again = _C.is_grad_enabled() and (
            keep or getattr(_nesting, "depth", 0) > 0 or any(w.requires_grad for w in weights)
        )
        grads = _pull(outs, points, weights, again if create_graph is None else create_graph)
        return tree_unflatten([_plain(g, again) for g in grads], spec)

    shown = tree_unflatten([_plain(out, keep) for out in outs], out_spec)
    if has_aux:
        return shown, vjp_fn, tree_map(lambda x: _plain(x, keep), aux)
    return shown, vjp_fn


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    """``func(*primals)`` and its derivative in the direction of ``tangents``, computed together (forward mode).

    Returns ``(output, jvp_out)``, or ``(output, jvp_out, aux)`` if ``func`` returns ``(output, aux)``.

    >>> import wisp
    >>> wisp.func.jvp(wisp.sin, (wisp.tensor(0.),), (wisp.tensor(2.),))
    (tensor(0.), tensor(2.))
    """
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals), got "
            f"{type(primals).__name__}"
        )
    flat, spec = _tensors_of(primals, "jvp(f, primals, tangents): Expected primals")
    directions, direction_spec = _tensors_of(tangents, "jvp(f, primals, tangents): Expected tangents")
    if spec != direction_spec:
        raise RuntimeError(
            "jvp(f, primals, tangents): Expected primals and tangents to have the same python structure. For example, if "
            f"primals is a tuple of 3 tensors, tangents also must be. Got primals with structure {spec} and tangents with "
            f"structure {direction_spec}"
        )
    level = _C._enter_jvp()
    try:
        duals = [_C._make_dual(x, t, level) for x, t in zip(flat, directions)]
        output, aux = _split_aux(func(*tree_unflatten(duals, spec)), has_aux, "jvp(f, primals, tangents)")
        outs, out_spec = _tensors_of(output, "jvp(f, primals, tangents): Expected the output of f")
        pushed = [_push(out, level, strict) for out in outs]
        values = [_C._primal(out, level) for out in outs]
        if has_aux:
            aux = tree_map(lambda x: _C._primal(x, level) if isinstance(x, _C.Tensor) else x, aux)
    finally:
        _C._leave_level(level)
    result = tree_unflatten(values, out_spec), tree_unflatten(pushed, out_spec)
    return (*result, aux) if has_aux else result


def _push(out, level, strict):
    tangent = _C._tangent(out, level)
    if tangent is None:
        if strict:
            raise RuntimeError(
                "jvp(f, primals, tangents, strict=True): The output of f is independent of the inputs. This is not "
                "allowed with strict=True."
            )
        return _C._functions["zeros_like"](_C._primal(out, level))
    return tangent


def linearize(func, *primals):
    """``func(*primals)`` and its derivative at ``primals``, as a linear function of tangents."""
    output = func(*primals)

    def jvp_fn(*tangents):
        return jvp(func, primals, tangents)[1]

    return output, jvp_fn


def _basis(tensors):
    """For each tensor a batch of its shape; together the rows of the identity over all their elements."""
    zeros, total = _C._functions["zeros"], sum(t.numel() for t in tensors)
    parts, start = [], 0
    for t in tensors:
        part = zeros((total, t.numel()), dtype=t.dtype)
        part.diagonal(-start).fill_(1)
        parts.append(part.view((total, *t.shape)))
        start += t.numel()
    return parts


def jacrev(func, argnums=0, has_aux=False, *, chunk_size=None, _preallocate_and_copy=False):
    """The function that returns the Jacobian of ``func`` by reverse mode: one backward for all outputs at once.

    >>> import wisp
    >>> wisp.func.jacrev(lambda x: x * x)(wisp.tensor([1., 2.]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        chosen, spec = tree_flatten(_select(args, argnums, "jacrev"))

        def of_chosen(*values):
            return func(*_replace(args, argnums, tree_unflatten(values, spec)), **kwargs)

        found = vjp(of_chosen, *chosen, has_aux=has_aux)
        output, pull = found[:2]
        outs, out_spec = tree_flatten(output)
        rows = vmap(lambda *weights: pull(tree_unflatten(weights, out_spec)), chunk_size=chunk_size)(*_basis(outs))
        columns = [_split_rows(row, outs, point) for row, point in zip(rows, chosen)]
        jacobian = [tree_unflatten(list(parts), spec) for parts in zip(*columns)]
        result = tree_unflatten(jacobian, out_spec)
        return (result, found[2]) if has_aux else result

    return wrapper


def _split_rows(rows, outs, point):
    """The block of rows that belongs to each output, in the shape of output and input."""
    parts = rows.split([out.numel() for out in outs])
    return [part.reshape((*out.shape, *point.shape)) for part, out in zip(parts, outs)]


def jacfwd(func, argnums=0, has_aux=False, *, chunk_size=None, randomness="error"):
    """The function that returns the Jacobian of ``func`` by forward mode: all inputs at once."""

    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        chosen, spec = tree_flatten(_select(args, argnums, "jacfwd"))

        def of_chosen(*values):
            return func(*_replace(args, argnums, tree_unflatten(values, spec)), **kwargs)

        def push(*directions):
            found = jvp(of_chosen, tuple(chosen), directions, has_aux=has_aux)
            return found[1:]

        found = vmap(push, randomness=randomness, chunk_size=chunk_size)(*_basis(chosen))
        outs, out_spec = tree_flatten(found[0])
        sizes = [point.numel() for point in chosen]
        jacobian = []
        for out in outs:
            parts = out.movedim(0, -1).split(sizes, -1)
            blocks = [part.reshape((*part.shape[:-1], *x.shape)) for part, x in zip(parts, chosen)]
            jacobian.append(tree_unflatten(blocks, spec))
        result = tree_unflatten(jacobian, out_spec)
        return (result, tree_map(lambda x: x[0], found[1])) if has_aux else result

    return wrapper


def hessian(func, argnums=0):
    """The function that returns the matrix of second derivatives of ``func``: forward mode over reverse mode."""
    return jacfwd(jacrev(func, argnums), argnums)
