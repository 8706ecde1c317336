"""L-BFGS: steps that take the curvature into account, as far as the last gradients show it."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable

from wisp import _C
from wisp._C import Tensor
from wisp.optim.optimizer import Optimizer

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes time
    from typing import Any

__all__ = ["LBFGS"]

_cat, _as_real = (_C._functions[name] for name in ("cat", "view_as_real"))


def _real(tensor):
    return _as_real(tensor) if tensor.is_complex() else tensor


def _vector(tensors):
    """All elements one after the other."""
    return _cat([_real(t).reshape(-1) for t in tensors])


# A point on the line that is searched: how far along, the loss there, its gradient, and its slope along the line.
_Point = namedtuple("_Point", "t loss grad slope")


def _cubic_minimum(a: _Point, b: _Point, low: float, high: float) -> float:
    """Where the cubic through both points with their slopes has its minimum, within limits; their middle if nowhere."""
    if a.t > b.t:
        a, b = b, a
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1**2 - a.slope * b.slope
    if square < 0:
        return (low + high) / 2.0
    d2 = square.sqrt()
    best = b.t - (b.t - a.t) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2))
    return min(max(best, low), high)


class _LineSearch:
    """Looks along a direction for a step that lowers the loss enough and the slope as well (strong Wolfe conditions).

    Args:
        evaluate: gives the point at a distance.
        start: the point at distance 0.
        size: the largest element of the direction.
        tolerance_change: the search ends when the step is known up to this.
        max_steps: it ends after this many evaluations besides the first.
    """

    enough_loss, enough_slope = 1e-4, 0.9

    def __init__(
        self, evaluate: Callable[[float], _Point], start: _Point, size: Tensor, tolerance_change: float, max_steps: int
    ) -> None:
        self.evaluate_at, self.start, self.size, self.tolerance_change = evaluate, start, size, tolerance_change
        self.max_steps = max_steps
        self.steps = self.evaluations = 0

    def _evaluate(self, t):
        self.evaluations += 1
        return self.evaluate_at(t)

    def _is_too_high(self, point):
        return point.loss > self.start.loss + self.enough_loss * point.t * self.start.slope

    def _is_flat(self, point):
        return abs(point.slope) <= -self.enough_slope * self.start.slope

    def run(self, t: float) -> _Point:
        """The point to go to, when t is the first to try."""
        low, high = self._bracket(t)
        if high is not None:
            if low.loss > high.loss:
                low, high = high, low
            low = self._zoom(low, high)
        return low

    def _bracket(self, t):
        """Two points with a good one between them, or a good one and None."""
        last, point = self.start, self._evaluate(t)
        while self.steps < self.max_steps:
            if self._is_too_high(point) or (self.steps > 1 and point.loss >= last.loss):
                return last, point
            if self._is_flat(point):
                return point, None
            if point.slope >= 0:
                return last, point
            t = _cubic_minimum(last, point, point.t + 0.01 * (point.t - last.t), point.t * 10)
            last, point = point, self._evaluate(t)
            self.steps += 1
        return self.start, point

    def _zoom(self, low, high):
        """Narrows a bracket down; ``low`` is its end with the lower loss."""
        crept = False  # the last try was close to an end of the bracket
        while self.steps < self.max_steps and abs(high.t - low.t) * self.size >= self.tolerance_change:
            left, right = min(low.t, high.t), max(low.t, high.t)
            t, margin = _cubic_minimum(low, high, left, right), 0.1 * (right - left)
            close = min(right - t, t - left) < margin
            if close and (crept or t >= right or t <= left):
                t, close = (right - margin if abs(t - right) < abs(t - left) else left + margin), False
            crept = close
            point = self._evaluate(t)
            self.steps += 1
            if self._is_too_high(point) or point.loss >= low.loss:
                high = point
                if low.loss > high.loss:
                    low, high = high, low
                continue
            if self._is_flat(point):
                return point
            if point.slope * (high.t - low.t) >= 0:
                high = low
            low = point
        return low


class LBFGS(Optimizer):
    """L-BFGS, which may evaluate the loss several times per step: step() has to be given a closure.

    Args:
        params: parameters; groups of them are not supported.
        lr: the length of steps, relative to what the curvature suggests.
        max_iter: how many iterations a step() makes at most.
        max_eval: how many evaluations of the loss; 5/4 of max_iter unless given.
        tolerance_grad: iterations end when no element of the gradient is larger.
        tolerance_change: iterations end when loss or parameters change by less.
        history_size: how many changes of the gradient are remembered.
        line_search_fn: None, or "strong_wolfe" to look for the best length of each step.
    """

    def __init__(self, params: Any, lr: float | Tensor = 1, max_iter: int = 20, max_eval: int | None = None,
                 tolerance_grad: float = 1e-7, tolerance_change: float = 1e-9, history_size: int = 100,
                 line_search_fn: str | None = None) -> None:  # fmt: skip
        if isinstance(lr, Tensor) and lr.numel() != 1:
            raise ValueError("Tensor lr must be 1-element")
        if not lr >= 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter, "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change, "history_size": history_size,
            "line_search_fn": line_search_fn,
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    # --- all parameters as one vector

    def _gradient(self):
        return _vector(p.new_zeros(p.shape) if p.grad is None else p.grad for p in self._params)

    def _move(self, t, direction, origin=None):
        """Moves all parameters along a direction, from where they are or from an origin."""
        direction._lbfgs_move([_real(p) for p in self._params], float(t), origin)

    def _evaluate(self, closure):
        with _C.enable_grad():
            loss = float(closure())
        return loss, self._gradient()

    # --- one step

    def step(self, closure: Callable[[], Any]) -> Any:
        """Makes up to ``max_iter`` iterations.

        Args:
            closure: clears the gradients, computes the loss, calls backward() on it and returns it.

        Returns what the closure returned at first.
        """
        with _C.no_grad():
            return self._step(closure)

    def _step(self, closure):
        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        with _C.enable_grad():
            first = closure()
        loss, grad, evaluations = float(first), self._gradient(), 1
        state["func_evals"] += 1
        iterations, converged = 0, grad.abs().max() <= group["tolerance_grad"]
        while iterations < group["max_iter"] and not converged:
            iterations += 1
            state["n_iter"] += 1
            direction = self._direction(state, grad, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), loss
            state["d"], state["t"] = direction, self._first_length(group, state, grad)
            slope = grad.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            last = iterations == group["max_iter"]
            left = group["max_eval"] - evaluations
            loss, grad, count = self._go(closure, group, state, _Point(0, loss, grad, slope), last, left)
            evaluations += count
            state["func_evals"] += count
            converged = count > 0 and grad.abs().max() <= group["tolerance_grad"]
            if last or evaluations >= group["max_eval"] or self._stands_still(group, state, loss):
                break
        return first

    @staticmethod
    def _stands_still(group, state, loss):
        limit = group["tolerance_change"]
        return state["d"].mul(state["t"]).abs().max() <= limit or abs(loss - state["prev_loss"]) < limit

    @staticmethod
    def _first_length(group, state, grad):
        lr = group["lr"].item() if isinstance(group["lr"], Tensor) else group["lr"]
        total = grad.abs().sum().item() if state["n_iter"] == 1 else 1.0
        return 1.0 / total * lr if total > 1.0 else lr

    def _go(self, closure, group, state, start, last, left):
        """Makes a step along the direction, with ``left`` evaluations to spend on its length: the loss and gradient after it,
        and how often they were evaluated."""
        direction = state["d"]
        if group["line_search_fn"] is None:
            self._move(state["t"], direction)
            if last:  # nobody wants to know
                return start.loss, start.grad, 0
            return *self._evaluate(closure), 1
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        origin = _vector(self._params)

        def evaluate(t):
            self._move(t, direction, origin)
            loss, grad = self._evaluate(closure)
            return _Point(t, loss, grad, grad.dot(direction))

        search = _LineSearch(evaluate, start, direction.abs().max(), group["tolerance_change"], left)
        found = search.run(state["t"])
        state["t"] = found.t
        self._move(found.t, direction, origin)
        return found.loss, found.grad, search.evaluations

    @staticmethod
    def _direction(state, grad, history_size):
        """The gradient times an estimate of the inverse Hessian, negated."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
            return grad.neg()
        changes, steps, ro = state["old_dirs"], state["old_stps"], state["ro"]
        change, step, curvature, square = grad._lbfgs_change(state["prev_flat_grad"], state["d"], float(state["t"]))
        if curvature > 1e-10:
            if len(changes) == history_size:
                for kept in (changes, steps, ro):
                    kept.pop(0)
            changes.append(change)
            steps.append(step)
            ro.append(1.0 / curvature)
            state["H_diag"] = curvature / square
        found, weights = grad._lbfgs_direction(changes, steps, ro, float(state["H_diag"]))
        state["al"] = [*weights.unbind(), *[None] * (history_size - len(changes))]
        return found
