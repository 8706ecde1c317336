"""The arithmetic of optimizers in operators, for steps that are to be differentiated: one function for each, which
updates one parameter and its state in place.

Settings are numbers, or tensors to be differentiated by; complex parameters are passed as views of their real and imaginary
parts. What a derivative reads is not written afterwards: states are cloned there, since the next step changes them.
"""

from math import sqrt

from wisp._C import Tensor


def _root(x):
    return x.sqrt() if isinstance(x, Tensor) else sqrt(x)


def _add_(target, x, factor):
    """Adds a multiple."""
    return target.add_(x.mul(factor)) if isinstance(factor, Tensor) else target.add_(x, alpha=factor)


def _add_quotient_(target, x, divisor, factor):
    """Adds a multiple of a quotient."""
    if isinstance(factor, Tensor):
        return target.add_(x.div(divisor).mul(factor))
    return target.addcdiv_(x, divisor, value=factor)


def _add_square_(target, x, factor):
    """Adds a multiple of a square."""
    return target.add_(x.square().mul(factor)) if isinstance(factor, Tensor) else target.addcmul_(x, x, value=factor)


def _approach_(target, x, part):
    """Goes a part of the way to another tensor."""
    return target.add_(x.sub(target).mul(part)) if isinstance(part, Tensor) else target.lerp_(x, part)


def _with_decay(grad, param, weight_decay):
    """The gradient with that of the decay of weights."""
    if isinstance(weight_decay, Tensor):
        return grad.add(param.clone().mul(weight_decay))
    return grad.add(param, alpha=weight_decay) if weight_decay else grad


def sgd(param, grad, buffer, lr, momentum, dampening, weight_decay, nesterov):
    """Gradient descent; returns the buffer of the momentum, which is None until there is some."""
    grad = _with_decay(grad, param, weight_decay)
    if momentum:
        if buffer is None:
            buffer = grad.detach().clone()
        else:
            _add_(buffer.mul_(momentum), grad, 1 - dampening)
        grad = _add_(grad.clone(), buffer.clone(), momentum) if nesterov else buffer.clone()
    _add_(param, grad, -lr)
    return buffer


def _decay(param, grad, lr, weight_decay, decoupled):
    """Shrinks the parameter if weight decay is decoupled from the gradient; returns the gradient, with it if not."""
    if not decoupled:
        return _with_decay(grad, param, weight_decay)
    param.mul_(1 - lr * weight_decay)
    return grad


def adam(param, grad, mean, square, largest, step, lr, beta1, beta2, weight_decay, eps, decoupled):
    """Adam, or AdamW if the weight decay is decoupled from the gradient; AMSGrad if there is a ``largest``."""
    grad = _decay(param, grad, lr, weight_decay, decoupled)
    _approach_(mean, grad, 1 - beta1)
    _add_square_(square.mul_(beta2), grad, 1 - beta2)
    if largest is not None:
        square = largest.clone().maximum(square.clone())
        largest.copy_(square)
    scale = square.sqrt().div(_root(1 - beta2**step)).add(eps)
    _add_quotient_(param, mean.clone(), scale, -lr / (1 - beta1**step))


def rmsprop(param, grad, square, mean, buffer, lr, alpha, eps, weight_decay, momentum):
    """RMSprop; centred if there is a ``mean`` of gradients."""
    grad = _with_decay(grad, param, weight_decay)
    _add_square_(square.mul_(alpha), grad, 1 - alpha)
    if mean is not None:
        _approach_(mean, grad, 1 - alpha)
        square = square.addcmul(mean.clone(), mean.clone(), value=-1)
    scale = square.sqrt().add(eps)
    if momentum:
        buffer.mul_(momentum).addcdiv_(grad, scale)
        _add_(param, buffer.clone(), -lr)
    else:
        _add_quotient_(param, grad, scale, -lr)


def adagrad(param, grad, total, step, lr, lr_decay, weight_decay, eps):
    """Adagrad: ``total`` sums the squares of all gradients so far."""
    grad = _with_decay(grad, param, weight_decay)
    total.addcmul_(grad, grad, value=1)
    scale = total.sqrt().add(eps)
    _add_quotient_(param, grad, scale, -lr / (1 + (step - 1) * lr_decay))


def adadelta(param, grad, square, steps, lr, rho, eps, weight_decay):
    """Adadelta: ``square`` averages the squares of gradients, ``steps`` those of the steps taken."""
    grad = _with_decay(grad, param, weight_decay)
    _add_square_(square.mul_(rho), grad, 1 - rho)
    step = steps.add(eps).sqrt().div(square.add(eps).sqrt()).mul(grad)
    _add_square_(steps.mul_(rho), step, 1 - rho)
    _add_(param, step, -lr)


def adamax(param, grad, mean, largest, step, lr, beta1, beta2, weight_decay, eps):
    """Adamax: Adam with a decaying maximum in place of the mean square."""
    grad = _with_decay(grad, param, weight_decay)
    _approach_(mean, grad, 1 - beta1)
    scale = largest.clone().mul(beta2).maximum(grad.abs().add(eps))
    largest.copy_(scale)
    _add_quotient_(param, mean.clone(), scale, -lr / (1 - beta1**step))


def nadam(param, grad, mean, square, product, step, lr, beta1, beta2, weight_decay, eps, decoupled, momentum_decay):
    """NAdam: ``product`` multiplies the momenta of all steps so far."""
    grad = _decay(param, grad, lr, weight_decay, decoupled)
    now, then = (beta1 * (1.0 - 0.5 * 0.96 ** (t * momentum_decay)) for t in (step, step + 1))
    product.mul_(now)
    _approach_(mean, grad, 1 - beta1)
    _add_square_(square.mul_(beta2), grad, 1 - beta2)
    scale = square.div(1 - beta2**step).sqrt().add(eps)
    so_far = product.clone()
    _add_quotient_(param, grad, scale, -lr * (1.0 - now) / (1.0 - so_far))
    _add_quotient_(param, mean.clone(), scale, -lr * then / (1.0 - so_far * then))


def radam(param, grad, mean, square, step, lr, beta1, beta2, weight_decay, eps, decoupled):
    """RAdam: like Adam once enough steps have been averaged, like momentum before."""
    grad = _decay(param, grad, lr, weight_decay, decoupled)
    _approach_(mean, grad, 1 - beta1)
    _add_square_(square.mul_(beta2), grad, 1 - beta2)
    rate, left = lr / (1 - beta1**step), 1 - beta2**step
    most = 2 / (1 - beta2) - 1
    averaged = most - 2 * step * beta2**step / left  # how many steps the mean square is worth
    if averaged <= 5.0:
        _add_(param, mean.clone(), -rate)
        return
    trust = _root((averaged - 4) * (averaged - 2) * most / ((most - 4) * (most - 2) * averaged))
    _add_quotient_(param, mean.clone(), square.sqrt().add(eps), -rate * trust * _root(left))


def asgd(param, grad, average, rate, share, lambd, weight_decay):
    """ASGD: a decaying step, and ``share`` of the way from the average so far to the new parameter."""
    grad = _with_decay(grad, param, weight_decay)
    param.mul_(1 - lambd * rate).add_(grad, alpha=-rate)
    if share == 1:
        average.copy_(param)
    else:
        average.add_(param.sub(average).mul_(share))


def rprop(param, grad, last, size, shrink, grow, smallest, largest):
    """Rprop: where the sign of the gradient changed there is no step, and the next will be smaller."""
    product = grad.detach().mul(last.detach())
    turned = product.lt(0)
    factor = turned.to(size.dtype).mul_(shrink - 1).add_(1).masked_fill_(product.gt(0), grow)
    size.mul_(factor).clamp_(smallest, largest)
    grad = grad.masked_fill(turned, 0)
    param.addcmul_(grad.sign(), size.clone(), value=-1)
    last.copy_(grad)
