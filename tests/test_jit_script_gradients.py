"""Gradients that scripts ask for themselves."""

import io

import pytest

import wisp
from wisp import Tensor
from wisp.jit import script


def energy(positions: Tensor) -> Tensor:
    between = positions.unsqueeze(0) - positions.unsqueeze(1)
    squared = (between * between).sum(-1)
    return (wisp.exp(-squared) * squared).sum()


def forces(positions: Tensor) -> tuple[Tensor, Tensor]:
    positions = positions.detach().requires_grad_(True)
    total = energy(positions)
    found = wisp.autograd.grad([total], [positions], create_graph=True)[0]
    assert found is not None
    return total, -found


def test_a_script_differentiates_what_it_computed():
    positions = wisp.randn(4, 3)
    compiled = script(forces)
    for each in (compiled, wisp.jit.load(io.BytesIO(compiled.save_to_buffer()))):
        for _ in range(3):  # also as the calls of later rounds are made
            total, found = each(positions)
            wisp.testing.assert_close((total, found), forces(positions))
            assert found.requires_grad


def test_gradients_of_what_lies_between():
    def parts(x: Tensor, y: Tensor):
        a = x * 2
        b = a.sin()
        c = (b * y).sum()
        return wisp.autograd.grad(c, (a, b), retain_graph=True)

    x, y = wisp.randn(3, requires_grad=True), wisp.randn(3, requires_grad=True)
    compiled = script(parts)
    for _ in range(3):
        wisp.testing.assert_close(compiled(x, y), list(parts(x, y)))


def test_backward_adds_to_the_gradients_of_leaves():
    def step(x: Tensor, w: Tensor):
        before = w.grad
        (x * w).sum().backward()
        wisp.autograd.backward([x * w], [wisp.ones(2)])
        return before, w.grad

    w = wisp.ones(2, requires_grad=True)
    before, after = script(step)(wisp.tensor([1.0, 2.0]), w)
    assert before is None
    assert after.tolist() == w.grad.tolist() == [2.0, 4.0]


def test_weights_and_whether_the_graph_is_kept_may_be_optional():
    def weighted(x: Tensor, weights: list[Tensor | None] | None = None, keep: bool | None = None):
        return wisp.autograd.grad([x * x], [x], grad_outputs=weights, retain_graph=keep)

    x, compiled = wisp.ones(2, requires_grad=True), script(weighted)
    assert compiled(x, [wisp.tensor([1.0, 3.0])])[0].tolist() == [2.0, 6.0]
    assert compiled(x, [wisp.ones(2)], True)[0].tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        compiled(x)


def test_inputs_that_nothing_depends_on():
    def allowed(x: Tensor, y: Tensor):
        return wisp.autograd.grad((x * 2).sum(), [x, y], allow_unused=True)

    def refused(x: Tensor, y: Tensor):
        return wisp.autograd.grad((x * 2).sum(), [x, y])

    x, y = (wisp.ones(1, requires_grad=True) for _ in range(2))
    found = script(allowed)(x, y)
    assert found[0].item() == 2
    assert found[1] is None
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph(.|\n)*<--- HERE"):
        script(refused)(x, y)


def test_what_grad_does_not_take_in_scripts():
    def batched(x: Tensor):
        return wisp.autograd.grad(x.sum(), x, is_grads_batched=True)

    with pytest.raises(wisp.jit.FrontendError, match="It takes outputs, inputs"):
        script(batched)


def test_the_code_says_so():
    compiled = script(forces)
    assert "wisp.autograd.grad([total], [positions_1]" in compiled.code
    assert "x.grad" in script(grad_of).code


def grad_of(x: Tensor):
    return x.grad
