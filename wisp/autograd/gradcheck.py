"""Comparing derivatives with finite differences.

All comparisons are between lists of real numbers: a tensor is its elements in order, a complex element two of them.
A Jacobian is a list of columns, one per number of the input; a column has one entry per number of the output.
"""

import random
import warnings

import wisp

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """A derivative disagrees with finite differences."""


def gradcheck(
    func, inputs, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, nondet_tol=0.0, check_undefined_grad=True,
    check_grad_dtypes=False, check_batched_grad=False, check_batched_forward_grad=False, check_forward_ad=False,
    check_backward_ad=True, fast_mode=False, masked=None,
):  # fmt: skip
    """Whether backward() through ``func`` agrees with central differences.

    Compares the whole Jacobian of every output with respect to every input that requires grad; such inputs should be
    float64 or complex128, as differences lose half the digits. Inputs are moved in place while ``func`` runs and put
    back, so ``func`` may also refer to them directly. Each output is differentiated alone, so derivatives have to cope
    with absent gradients of the others (``check_undefined_grad``).

    Args:
        func: takes ``inputs``, returns a tensor or a tuple of tensors.
        inputs: a tensor or a tuple of arguments.
        eps: how far inputs are moved.
        atol, rtol: absolute and relative tolerance.
        raise_exception: raise GradcheckError (True) or return False.
        nondet_tol: how far two runs of backward may differ.
        check_grad_dtypes: also require gradients to have the dtype of their input.
        check_batched_grad: also compare with gradients for a batch of output gradients at once.
        check_forward_ad: also compare the derivatives of forward mode; ``func`` then has to use its arguments.
        check_batched_forward_grad: also compare with forward derivatives for a batch of directions at once.
        fast_mode: compare one random combination of each Jacobian's entries instead of all of them.
    """
    if check_batched_forward_grad and not check_forward_ad:
        raise ValueError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    check = _Check(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol)
    try:
        if check_backward_ad:
            check.backward(fast_mode)
        if check_forward_ad:
            check.forward(check_batched_forward_grad)
        if check_grad_dtypes:
            check.dtypes()
        if check_batched_grad:
            check.batched()
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, gen_non_contig_grad_outputs=False,
    raise_exception=True, nondet_tol=0.0, check_undefined_grad=True, check_grad_dtypes=False, check_batched_grad=False,
    check_fwd_over_rev=False, check_rev_over_rev=True, fast_mode=False, masked=False,
):  # fmt: skip
    """gradcheck() of the gradients of ``func``, as functions of the inputs and of the gradients of the outputs.

    ``grad_outputs`` are the gradients to start from (random ones if None, not contiguous if
    ``gen_non_contig_grad_outputs``); the other arguments are those of gradcheck().
    """
    inputs = _as_tuple(inputs)
    if grad_outputs is None:
        grad_outputs = [_random_like(o, gen_non_contig_grad_outputs) for o in _outputs(func, inputs)]
    count = len(inputs)

    def gradients(*args):
        wanted = [x for x in args[:count] if _wants_grad(x)]
        pairs = [(o, g) for o, g in zip(_outputs(func, args[:count]), args[count:]) if o.requires_grad]
        if not pairs:
            return ()
        outputs, starts = zip(*pairs)
        grads = wisp.autograd.grad(outputs, wanted, starts, create_graph=True, allow_unused=True)
        return tuple(g for g in grads if g is not None)

    return gradcheck(
        gradients, (*inputs, *_as_tuple(grad_outputs)), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception,
        nondet_tol=nondet_tol, check_grad_dtypes=check_grad_dtypes, check_batched_grad=check_batched_grad,
        check_backward_ad=check_rev_over_rev, check_forward_ad=check_fwd_over_rev, fast_mode=fast_mode,
    )  # fmt: skip


def _as_tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _wants_grad(x):
    return isinstance(x, wisp.Tensor) and x.requires_grad


def _outputs(func, inputs):
    """The results of func that have derivatives; views, so that an input passed through is not itself the output."""
    results = [o for o in _as_tuple(func(*inputs)) if isinstance(o, wisp.Tensor)]
    return [o.view(o.shape) for o in results if o.is_floating_point() or o.is_complex()]


def _random_like(t, scattered):
    """A leaf of the same shape and dtype; every second element of something larger if scattered."""
    rng = random.Random(t.numel())
    values = [rng.uniform(-1, 1) for _ in range(t.numel() * (2 if scattered else 1))]
    if t.is_complex():
        values = [complex(v, rng.uniform(-1, 1)) for v in values]
    made = wisp.tensor(values, dtype=t.dtype)
    return (made[::2] if scattered else made).reshape(t.shape).detach().requires_grad_()


def _numbers(t):
    """The elements as real numbers."""
    elements = t.detach().reshape(-1).tolist()
    return [part for z in elements for part in (z.real, z.imag)] if t.is_complex() else elements


def _units(t):
    """For each number of t, a tensor of its shape that is zero but for that number, which is one."""
    for i in range(t.numel()):
        for unit in (1, 1j) if t.is_complex() else (1,):
            flat = wisp.zeros(t.numel(), dtype=t.dtype)
            flat[i] = unit
            yield flat.reshape(t.shape)


def _indices(t):
    """The index of each element."""
    places = [()]
    for n in t.shape:
        places = [(*place, i) for place in places for i in range(n)]
    return places


def _aliases(t):
    """For each element, the positions of all elements in the same memory (those of expanded tensors coincide)."""
    offsets = [sum(i * s for i, s in zip(place, t.stride())) for place in _indices(t)]
    found = {}
    for position, offset in enumerate(offsets):
        found.setdefault(offset, []).append(position)
    return [found[offset] for offset in offsets]


def _directions(t):
    """For each number of t, the direction in which it moves, with all that share its memory."""
    for same in _aliases(t):
        for unit in (1, 1j) if t.is_complex() else (1,):
            flat = wisp.zeros(t.numel(), dtype=t.dtype)
            flat[same] = unit
            yield flat.reshape(t.shape)


class _Check:
    """One function at one point."""

    def __init__(self, func, inputs, eps, atol, rtol, nondet_tol):
        self.func, self.inputs = func, inputs
        self.eps, self.atol, self.rtol, self.nondet_tol = eps, atol, rtol, nondet_tol
        self.wanted = {i: x for i, x in enumerate(inputs) if _wants_grad(x)}
        if not self.wanted:
            raise ValueError("gradcheck expects at least one input tensor to require gradient, but none of the them have "
                             "requires_grad=True.")  # fmt: skip
        for i, x in self.wanted.items():
            if x.dtype not in (wisp.float64, wisp.complex128):
                warnings.warn(f"Input #{i} requires gradient and is not a double precision floating point or complex. This "
                              "check will likely fail if all the inputs are not of double precision floating point or "
                              "complex.", stacklevel=3)  # fmt: skip

    def outputs(self):
        return _outputs(self.func, self.inputs)

    def gradients(self, output, start):
        """The gradients of the wanted inputs; zero where backward() has none. Twice, to see that they are the same."""
        if not output.requires_grad:
            return [wisp.zeros_like(x) for x in self.wanted.values()]
        first, second = (
            wisp.autograd.grad([output], list(self.wanted.values()), [start], retain_graph=True, allow_unused=True)
            for _ in range(2)
        )
        for a, b in zip(first, second):
            if a is not None and any(abs(p - q) > self.nondet_tol for p, q in zip(_numbers(a), _numbers(b))):
                raise GradcheckError(
                    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple times gives "
                    f"different values. The tolerance for nondeterminism was {self.nondet_tol}."
                )
        return [wisp.zeros_like(x) if g is None else g for g, x in zip(first, self.wanted.values())]

    # --- the whole Jacobian

    def backward(self, fast):
        if fast:
            return self.combined()
        outputs = self.outputs()
        analytical = [self.analytical(o) for o in outputs]
        for n, (i, x) in enumerate(self.wanted.items()):
            numerical = self.numerical(x, len(outputs))
            for k in range(len(outputs)):
                self.compare(k, i, numerical[k], analytical[k][n])

    def numerical(self, x, count):
        """Per output, the Jacobian with respect to x."""
        jacobians = [[] for _ in range(count)]
        memory = x.data
        for place in _indices(x):
            for step in (self.eps, self.eps * 1j) if x.is_complex() else (self.eps,):
                kept = memory[place].clone()
                ends = []
                for moved in (kept + step, kept - step):
                    memory[place] = moved
                    ends.append([_numbers(o) for o in self.outputs()])
                memory[place] = kept
                for jacobian, plus, minus in zip(jacobians, *ends):
                    jacobian.append([(p - m) / (2 * self.eps) for p, m in zip(plus, minus)])
        return jacobians

    def analytical(self, output):
        """Per wanted input, the Jacobian of the output."""
        rows = [[_numbers(g) for g in self.gradients(output, unit)] for unit in _units(output)]
        jacobians = []
        for n, x in enumerate(self.wanted.values()):
            parts = 2 if x.is_complex() else 1
            jacobians.append([
                [sum(row[n][parts * p + part] for p in same) for row in rows]
                for same in _aliases(x) for part in range(parts)
            ])  # fmt: skip
        return jacobians

    def compare(self, output, index, numerical, analytical):
        for want, got in zip(numerical, analytical):
            if not all(abs(g - w) <= self.atol + self.rtol * abs(w) for g, w in zip(got, want)):
                raise GradcheckError(
                    f"Jacobian mismatch for output {output} with respect to input {index},\n"
                    f"numerical:{wisp.tensor(numerical)}\nanalytical:{wisp.tensor(analytical)}\n"
                )

    # --- forward mode

    def forward(self, batched):
        count = len(self.outputs())
        for i, x in self.wanted.items() if count else ():
            numerical, units = self.numerical(x, count), list(_directions(x))
            columns = [self.pushed(i, unit) for unit in units]
            for k in range(count):
                self.compare(k, i, numerical[k], [_numbers(column[k]) for column in columns])
            if batched and units:
                self.compare_batch(i, units, columns)

    def pushed(self, i, direction):
        """The derivatives of all outputs as input i moves in a direction."""

        def moving(x):
            return tuple(_outputs(self.func, (*self.inputs[:i], x, *self.inputs[i + 1 :])))

        return wisp.func.jvp(moving, (self.inputs[i],), (direction,))[1]

    def compare_batch(self, i, units, columns):
        at_once = wisp.func.vmap(lambda unit: self.pushed(i, unit))(wisp.stack(units))
        for k, together in enumerate(at_once):
            one_by_one = [_numbers(column[k]) for column in columns]
            self.compare(k, i, one_by_one, [_numbers(row) for row in together])

    # --- one number of each Jacobian: a random row times it times a random column

    def combined(self):
        rng = random.Random(0)
        for n, (i, x) in enumerate(self.wanted.items()):
            direction = _random_like(x, False).detach()
            memory, kept, ends = x.data, x.detach().clone(), []
            for step in (self.eps, -self.eps):
                memory.copy_(kept + direction * step)
                ends.append([_numbers(o) for o in self.outputs()])
            memory.copy_(kept)
            for k, output in enumerate(self.outputs()):
                start = _random_like(output, False).detach() * rng.uniform(0.5, 1)
                along = zip(_numbers(start), *(end[k] for end in ends))
                want = sum(w * (p - m) for w, p, m in along) / (2 * self.eps)
                grad = self.gradients(output, start)[n]
                got = sum(a * b for a, b in zip(_numbers(grad), _numbers(direction)))
                self.compare(k, i, [[want]], [[got]])

    # --- further properties

    def dtypes(self):
        for output in self.outputs():
            for i, grad in zip(self.wanted, self.gradients(output, wisp.ones_like(output))):
                if grad.dtype is not self.inputs[i].dtype:
                    raise GradcheckError(
                        f"Expected the gradient of input {i} to have dtype {self.inputs[i].dtype}, got {grad.dtype}"
                    )

    def batched(self):
        for k, output in enumerate(self.outputs()):
            if not output.requires_grad:
                continue
            starts = [_random_like(output, False).detach() * (n + 1) for n in range(2)]
            together = wisp.autograd.grad([output], list(self.wanted.values()), [wisp.stack(starts)], retain_graph=True,
                                          allow_unused=True, is_grads_batched=True)  # fmt: skip
            alone = [self.gradients(output, start) for start in starts]
            for n, (i, batch) in enumerate(zip(self.wanted, together)):
                want = [_numbers(grads[n]) for grads in alone]
                self.compare(k, i, want, want if batch is None else [_numbers(g) for g in batch])
