"""What a loop computes anew though it is the same in every round: once, where nobody can tell."""

import pytest

import wisp
from tests.lazy_runs import counts_of


def kernels_of(f, *args):
    """How many kernels a call runs."""
    with wisp.lazy(least=0):
        return counts_of(lambda: f(*args))[1]["kernels"]


def check(f, *args, kernels=None):
    script = wisp.jit.script(f)
    got, expected = script(*args), f(*args)
    if not isinstance(got, (tuple, list)):
        got, expected = [got], [expected]
    assert all(wisp.equal(a, b) for a, b in zip(got, expected, strict=True))
    if kernels is not None:
        assert kernels_of(script, *args) == kernels
    return script


def test_computed_once():
    def f(x, w, h):
        for _ in range(10):
            h = (wisp.mm(x, w.t()) + h).tanh()
        return h

    check(f, wisp.randn(3, 4), wisp.randn(3, 4), wisp.randn(3, 3), kernels=1 + 2 * 10)


def test_calls_that_follow_from_such_calls():
    def f(x, h, n: int):
        for _ in range(n):
            y = wisp.mm(x, x)
            h = h + wisp.mm(y, y)
        return h

    script = check(f, wisp.randn(3, 3), wisp.randn(3, 3), 7, kernels=2 + 7)
    x = wisp.ones(2, 3)  # cannot be multiplied by itself: nothing is computed in no rounds
    assert script(x, x, 0) is not None
    with pytest.raises(RuntimeError, match=r"(?s)cannot be multiplied.*wisp.mm\(x, x\)\n *~~~~~~~~~~~~~ <--- HERE"):
        script(x, x, 1)


def test_loops_in_loops():
    def f(x, n: int):
        total = wisp.zeros(2, 2)
        for i in range(n):
            y = x * float(i)
            j = 0
            while j < 3:
                total = total + wisp.mm(y, x) * wisp.mm(x, x)
                j += 1
                if j == 2 and i == 1:
                    break
        return total

    check(f, wisp.randn(2, 2), 4)


def test_what_is_written_in_the_loop_is_computed_again():
    def written(x, n: int):
        total = wisp.zeros(2, 2)
        for _ in range(n):
            total = total + wisp.mm(x, x)
            x.add_(1)
        return total

    def result_written(x, n: int):
        total = wisp.zeros(2, 2)
        for i in range(n):
            y = wisp.mm(x, x)
            y.add_(float(i))
            total = total + y
        return total

    x = wisp.randn(2, 2)
    for f in (written, result_written):
        assert wisp.equal(wisp.jit.script(f)(x.clone(), 4), f(x.clone(), 4))


def test_results_that_others_see_stay_different_tensors():
    def f(x, n: int):
        made = [x]
        for _ in range(n):
            made.append(wisp.mm(x, x))
        return made

    made = check(f, wisp.randn(2, 2), 3)(wisp.ones(2, 2), 3)
    made[1].zero_()
    assert made[2].tolist() == [[2, 2], [2, 2]]


def test_random_numbers_are_drawn_in_every_round():
    def f(x, n: int):
        total = wisp.zeros(3)
        for _ in range(n):
            total = total + wisp.rand_like(x)
        return total

    script = wisp.jit.script(f)
    wisp.manual_seed(1)
    got = script(wisp.ones(3), 5)
    wisp.manual_seed(1)
    assert wisp.equal(got, f(wisp.ones(3), 5))


def test_gradients_and_transforms_see_every_call():
    def f(x, w):
        h = x
        for _ in range(4):
            h = (wisp.mm(x, w) + h).tanh()
        return h.sum()

    script = wisp.jit.script(f)
    x, grads = wisp.randn(3, 3), []
    for g in (f, script):
        w = wisp.ones(3, 3, requires_grad=True)
        g(x, w).backward()
        grads.append(w.grad)
    assert wisp.equal(*grads)
    batch = wisp.randn(5, 3, 3)
    one, other = (wisp.vmap(g, in_dims=(None, 0))(x, batch) for g in (f, script))
    assert wisp.equal(one, other)


def test_grad_mode_that_changes_between_rounds():
    def f(x, w):
        total = wisp.zeros(2, 2)
        for i in range(2):
            with wisp.set_grad_enabled(i == 1):
                total = total + wisp.mm(x, w)
        return total

    w = wisp.ones(2, 2, requires_grad=True)
    assert wisp.jit.script(f)(wisp.ones(2, 2), w).requires_grad
