"""Comparing derivatives with finite differences."""

from __future__ import annotations

import wisp
from wisp import autograd


class GradcheckError(RuntimeError):
    """A derivative disagrees with finite differences."""


def _as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _differentiable(x):
    return isinstance(x, wisp.Tensor) and (x.is_floating_point() or x.is_complex())


def _outputs(fn, inputs):
    """The differentiable results of fn, as fresh views."""
    return tuple(o.view_as(o) if o.requires_grad else o for o in _as_tuple(fn(*inputs)) if _differentiable(o))


def _numerical(fn, inputs, index, eps):
    """Per output, a list over the input's real components of d(output)/d(component)."""
    x = inputs[index]
    steps = (eps, eps * 1j) if x.is_complex() else (eps,)
    columns = []
    with wisp.no_grad():
        flat = x.data
        for i in range(x.numel()):
            place = _unravel(i, x.shape)
            kept = flat[place].clone()
            per_step = []
            for step in steps:
                flat[place] = kept + step
                plus = [o.detach().clone() for o in _outputs(fn, inputs)]
                flat[place] = kept - step
                minus = [o.detach().clone() for o in _outputs(fn, inputs)]
                flat[place] = kept
                per_step.append([(p - m) / (2 * eps) for p, m in zip(plus, minus)])
            columns.append(per_step)
    return columns


def _unravel(i, shape):
    place = []
    for n in reversed(shape):
        place.append(i % n)
        i //= n
    return tuple(reversed(place))


def _weights(output, seed):
    """Fixed, irregular numbers to weight an output with."""
    n = output.numel()
    values = [((seed + 1) * 0.37 + 0.61 * k) % 1.7 - 0.8 for k in range(n)]
    w = wisp.tensor(values, dtype=wisp.float64).reshape(output.shape).to(output.dtype)
    if output.is_complex():
        w = w + 0.5j * wisp.tensor(values[::-1], dtype=wisp.float64).reshape(output.shape).to(output.dtype)
    return w


def _dot(a, b):
    """Real inner product of two tensors seen as real vectors."""
    if a.is_complex():
        return ((a.conj() * b).real).sum().item()
    return (a * b).sum().item()


def gradcheck(func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0,
              check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
              check_batched_forward_grad=False, check_forward_ad=False, check_backward_ad=True, fast_mode=False,
              masked=None):
    """Whether backward() through ``func`` agrees with central differences in every element of every input.

    Inputs that require grad should be float64. Each output is weighted with fixed irregular numbers, so one backward per
    output checks its whole Jacobian column by column. Returns True, or raises GradcheckError (returns False if
    ``raise_exception`` is False).
    """
    try:
        return _gradcheck(func, _as_tuple(inputs), eps, atol, rtol)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def _gradcheck(func, inputs, eps, atol, rtol):
    wanted = [i for i, x in enumerate(inputs) if isinstance(x, wisp.Tensor) and x.requires_grad]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of them have requires_grad=True.")
    outputs = _outputs(func, inputs)
    if not outputs:
        return True
    if not any(o.requires_grad for o in outputs):
        raise ValueError("gradcheck: no output requires grad")
    for index in wanted:
        numerical = _numerical(func, inputs, index, eps)
        for k, output in enumerate(outputs):
            weight = _weights(output, k)
            grad = None
            if output.requires_grad:
                grad, = autograd.grad([output], [inputs[index]], [weight], retain_graph=True, allow_unused=True)
            _compare(inputs[index], index, k, grad, weight, numerical, atol, rtol)
    return True


def _compare(x, index, k, grad, weight, numerical, atol, rtol):
    for i, per_step in enumerate(numerical):
        for part, columns in enumerate(per_step):
            want = _dot(weight, columns[k])
            if grad is None:
                got = 0.0
            else:
                value = grad.detach()[_unravel(i, x.shape)].item()
                got = (value.imag if part else value.real) if x.is_complex() else value
            if not abs(got - want) <= atol + rtol * abs(want):
                raise GradcheckError(f"Jacobian mismatch for output {k} with respect to input {index}, element "
                                     f"{_unravel(i, x.shape)}{' (imaginary part)' if part else ''}: finite differences "
                                     f"give {want!r}, backward gives {got!r}")


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3,
                  gen_non_contig_grad_outputs=False, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
                  check_grad_dtypes=False, check_batched_grad=False, check_fwd_over_rev=False, check_rev_over_rev=True,
                  fast_mode=False, masked=False):
    """gradcheck of the gradients of ``func``."""
    inputs = _as_tuple(inputs)
    outputs = _outputs(func, inputs)
    if grad_outputs is None:
        grad_outputs = tuple(_weights(o, k).requires_grad_() for k, o in enumerate(outputs))
    else:
        grad_outputs = _as_tuple(grad_outputs)
    count = len(inputs)

    def first_order(*args):
        args, weights = args[:count], args[count:]
        results = _outputs(func, args)
        pairs = [(r, w) for r, w in zip(results, weights) if r.requires_grad]
        wanted = [x for x in args if isinstance(x, wisp.Tensor) and x.requires_grad]
        grads = autograd.grad([r for r, _ in pairs], wanted, [w for _, w in pairs], create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None and g.requires_grad)

    if not first_order(*inputs, *grad_outputs):
        return True
    return gradcheck(first_order, inputs + grad_outputs, eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception)
