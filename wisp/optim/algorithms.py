"""The optimizers. One native call updates the parameters of a group; a step that is to be differentiated is done by the
operators of _updates, parameter by parameter."""

from wisp import _C
from wisp._C import Tensor
from wisp.optim import _updates
from wisp.optim.optimizer import Optimizer

__all__ = ["SGD", "Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "RMSprop"]

_zeros_like, _full_like, _as_real, _fused_update = (
    _C._functions[name] for name in ("zeros_like", "full_like", "view_as_real", "_fused_update")
)


def _check(name, value, low=0.0, below=None):
    """Refuses a setting out of range."""
    if not (low <= value and (below is None or value < below)):
        raise ValueError(f"Invalid {name}: {value}")


def _check_lr(lr):
    if isinstance(lr, Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    _check("learning rate", lr)


def _check_betas(betas):
    for i, beta in enumerate(betas):
        _check(f"beta parameter at index {i}", beta, below=1.0)


def _number(value):
    return value.item() if isinstance(value, Tensor) else value


def _settings(group, *names):
    """Settings as numbers, "betas" as two; as tensors where the step is to be differentiated by them."""
    if not group["differentiable"]:
        return _C._settings(group, names)
    values = []
    for name in names:
        values += group[name] if name == "betas" else (group[name],)
    return [
        value.reshape(()) if isinstance(value, Tensor) and value.requires_grad else _number(value) for value in values
    ]


def _real(*tensors):
    """Complex tensors as views of their real and imaginary parts."""
    return [_as_real(t) if t is not None and t.is_complex() else t for t in tensors]


def _by_operators(group, columns):
    """Rows of a step that is to be differentiated: the number of the step, and parameter, gradient and states or None."""
    rows = zip(*(column or [None] * len(columns[0]) for column in columns))
    for param, grad, step, *states in rows:
        if step is not None:
            step += 1
        yield _number(step), (param, grad.neg() if group["maximize"] else grad, *states)


def _count_and(param, *names):
    """A state before the first step: a count of steps, and zeros."""
    return {"step": _C.tensor(0.0), **{name: _zeros_like(param) for name in names}}


class SGD(Optimizer):
    """Gradient descent, with momentum if asked for.

    Args:
        params: parameters, or groups of them.
        lr: the learning rate.
        momentum: how much of the last step is repeated.
        dampening: how much less the gradient counts when there is momentum.
        weight_decay: how much of the parameter is added to its gradient.
        nesterov: use the momentum of the next step.
        maximize: go uphill.
        foreach, fused: accepted and ignored.
        differentiable: record the step, to differentiate through it.
    """

    def __init__(self, params, lr=1e-3, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False,
                 foreach=None, differentiable=False, fused=None):  # fmt: skip
        _check_lr(lr)
        _check("momentum value", momentum)
        _check("weight_decay value", weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        })  # fmt: skip

    def _complete(self, param, group):
        self.state[param]["momentum_buffer"] = _zeros_like(param)

    def _starting(self, params, group):
        """Parameters whose momentum is the next gradient. Without dampening, that is what zeros become anyway."""
        if not (group["momentum"] and group["dampening"]):
            return []
        return [param for param in params if self.state[param].get("momentum_buffer") is None]

    def _update(self, group, params):
        settings = _settings(group, "lr", "momentum", "dampening", "weight_decay", "nesterov")
        if group["differentiable"]:
            return self._update_by_operators(group, params, settings)
        starting = self._starting(params, group)
        if starting and len(starting) < len(params):
            known = {id(param) for param in starting}
            self._update(group, [param for param in params if id(param) not in known])
            params = starting
        columns = self._columns(group, params, None, "momentum_buffer" if group["momentum"] else None, None, None)
        _fused_update(*columns, "sgd", [*settings, bool(starting), group["maximize"]])

    def _update_by_operators(self, group, params, settings):
        for param in params:
            buffer = self.state[param].get("momentum_buffer") if group["momentum"] else None
            grad = param.grad.neg() if group["maximize"] else param.grad
            made = _updates.sgd(*_real(param, grad, buffer), *settings)
            if group["momentum"] and buffer is None:
                self.state[param]["momentum_buffer"] = (
                    _C._functions["view_as_complex"](made) if param.is_complex() else made
                )


class Adam(Optimizer):
    """Adam: steps by the mean of recent gradients, divided by the root of their mean square.

    Args:
        params: parameters, or groups of them.
        lr: the learning rate.
        betas: how slowly the two means forget.
        eps: added to the divisor.
        weight_decay: how much of the parameter is added to its gradient.
        amsgrad: divide by the largest mean square so far.
        maximize: go uphill.
        foreach, capturable, fused: accepted and ignored.
        differentiable: record the step, to differentiate through it.
        decoupled_weight_decay: shrink parameters directly instead, as AdamW does.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None,
                 maximize=False, capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):  # fmt: skip
        _check_lr(lr)
        _check("epsilon value", eps)
        _check_betas(betas)
        _check("weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        })  # fmt: skip

    def _first_state(self, param, group):
        return _count_and(param, "exp_avg", "exp_avg_sq", *["max_exp_avg_sq"] * group["amsgrad"])

    def _update(self, group, params):
        settings = _settings(group, "lr", "betas", "weight_decay", "eps", "decoupled_weight_decay")
        largest = "max_exp_avg_sq" if group["amsgrad"] else None
        columns = self._columns(group, params, "step", "exp_avg", "exp_avg_sq", largest)
        if not group["differentiable"]:
            return _fused_update(*columns, "adam", [*settings, group["maximize"]])
        for step, tensors in _by_operators(group, columns):
            _updates.adam(*tensors, step, *settings)


class AdamW(Adam):
    """Adam with weight decay that shrinks parameters directly instead of adding to gradients; arguments as of Adam."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
                 foreach=None, capturable=False, differentiable=False, fused=None):  # fmt: skip
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize,
                         capturable=capturable, differentiable=differentiable, fused=fused, decoupled_weight_decay=True)  # fmt: skip

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:  # whatever the file is of: Adam's and older ones say otherwise or nothing
            group["decoupled_weight_decay"] = True


class RMSprop(Optimizer):
    """RMSprop: gradients divided by the root of their mean square.

    Args:
        params: parameters, or groups of them.
        lr: the learning rate.
        alpha: how slowly the mean forgets.
        eps: added to the divisor.
        weight_decay: how much of the parameter is added to its gradient.
        momentum: how much of the last step is repeated.
        centered: divide by the standard deviation instead.
        maximize: go uphill.
        foreach, capturable: accepted and ignored.
        differentiable: record the step, to differentiate through it.
    """

    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False,
                 foreach=None, maximize=False, differentiable=False):  # fmt: skip
        _check_lr(lr)
        _check("epsilon value", eps)
        _check("momentum value", momentum)
        _check("weight_decay value", weight_decay)
        _check("alpha value", alpha)
        super().__init__(params, {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay,
            "capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
        })  # fmt: skip

    def _first_state(self, param, group):
        names = ["momentum_buffer"] * bool(group["momentum"]) + ["grad_avg"] * bool(group["centered"])
        return _count_and(param, "square_avg", *names)

    def _update(self, group, params):
        settings = _settings(group, "lr", "alpha", "eps", "weight_decay", "momentum")
        mean, buffer = "grad_avg" if group["centered"] else None, "momentum_buffer" if group["momentum"] else None
        columns = self._columns(group, params, "step", "square_avg", mean, buffer)
        if not group["differentiable"]:
            return _fused_update(*columns, "rmsprop", [*settings, group["maximize"]])
        for _, tensors in _by_operators(group, columns):
            _updates.rmsprop(*tensors, *settings)


class Adagrad(Optimizer):
    """Adagrad: gradients divided by the root of the sum of all their squares so far.

    Args:
        params: parameters, or groups of them.
        lr: the learning rate.
        lr_decay: how fast the learning rate goes down with the number of steps.
        weight_decay: how much of the parameter is added to its gradient.
        initial_accumulator_value: what the sums start from.
        eps: added to the divisor.
        maximize: go uphill.
        foreach, fused: accepted and ignored.
        differentiable: record the step, to differentiate through it.
    """

    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *,
                 maximize=False, differentiable=False, fused=None):  # fmt: skip
        _check_lr(lr)
        _check("lr_decay value", lr_decay)
        _check("weight_decay value", weight_decay)
        _check("initial_accumulator_value value", initial_accumulator_value)
        _check("epsilon value", eps)
        super().__init__(params, {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        })  # fmt: skip
        for group in self.param_groups:
            for param in group["params"]:
                start = initial_accumulator_value * (1 + 1j) if param.is_complex() else initial_accumulator_value
                with _C.no_grad():
                    self.state[param] = {"step": _C.tensor(0.0), "sum": _full_like(param, start)}

    def share_memory(self):
        """Moves the sums to where other processes can see them; see Tensor.share_memory_()."""
        for state in self.state.values():
            state["sum"].share_memory_()

    def _update(self, group, params):
        settings = _settings(group, "lr", "lr_decay", "weight_decay", "eps")
        columns = self._columns(group, params, "step", "sum", None, None)
        if not group["differentiable"]:
            return _fused_update(*columns, "adagrad", [*settings, group["maximize"]])
        for step, (param, grad, total, *_) in _by_operators(group, columns):
            _updates.adagrad(param, grad, total, step, *settings)


class Adadelta(Optimizer):
    """Adadelta: steps scaled by the root of the mean square of recent steps over that of recent gradients.

    Args:
        params: parameters, or groups of them.
        lr: the learning rate.
        rho: how slowly the means forget.
        eps: added to the mean squares.
        weight_decay: how much of the parameter is added to its gradient.
        maximize: go uphill.
        foreach, capturable: accepted and ignored.
        differentiable: record the step, to differentiate through it.
    """

    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False,
                 differentiable=False):  # fmt: skip
        _check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        _check("epsilon value", eps)
        _check("weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "capturable": capturable,
            "foreach": foreach, "differentiable": differentiable,
        })  # fmt: skip

    def _first_state(self, param, group):
        return _count_and(param, "square_avg", "acc_delta")

    def _update(self, group, params):
        settings = _settings(group, "lr", "rho", "eps", "weight_decay")
        columns = self._columns(group, params, "step", "square_avg", "acc_delta", None)
        if not group["differentiable"]:
            return _fused_update(*columns, "adadelta", [*settings, group["maximize"]])
        for _, (*tensors, _) in _by_operators(group, columns):
            _updates.adadelta(*tensors, *settings)


class Adamax(Optimizer):
    """Adamax: Adam with a decaying maximum of gradients in place of their mean square; arguments as of Adam."""

    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False,
                 differentiable=False, capturable=False):  # fmt: skip
        _check_lr(lr)
        _check("epsilon value", eps)
        _check_betas(betas)
        _check("weight_decay value", weight_decay)
        super().__init__(params, {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        })  # fmt: skip

    def _first_state(self, param, group):
        return _count_and(param, "exp_avg", "exp_inf")

    def _update(self, group, params):
        settings = _settings(group, "lr", "betas", "weight_decay", "eps")
        columns = self._columns(group, params, "step", "exp_avg", "exp_inf", None)
        if not group["differentiable"]:
            return _fused_update(*columns, "adamax", [*settings, False, group["maximize"]])
        for step, (*tensors, _) in _by_operators(group, columns):
            _updates.adamax(*tensors, step, *settings)
