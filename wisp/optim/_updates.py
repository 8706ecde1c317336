"""The arithmetic of optimizers: one function for each, which updates one parameter and its state in place.

Settings are numbers; complex parameters are passed as views of their real and imaginary parts.
"""

from math import sqrt


def sgd(param, grad, buffer, lr, momentum, dampening, weight_decay, nesterov):
    """Gradient descent; returns the buffer of the momentum, which is None until there is some."""
    if weight_decay:
        grad = grad.add(param, alpha=weight_decay)
    if momentum:
        if buffer is None:
            buffer = grad.detach().clone()
        else:
            buffer.mul_(momentum).add_(grad, alpha=1 - dampening)
        grad = grad.add(buffer, alpha=momentum) if nesterov else buffer
    param.add_(grad, alpha=-lr)
    return buffer


def adam(param, grad, mean, square, largest, step, lr, beta1, beta2, weight_decay, eps, decoupled):
    """Adam, or AdamW if the weight decay is decoupled from the gradient; AMSGrad if there is a ``largest``."""
    if weight_decay and decoupled:
        param.mul_(1 - lr * weight_decay)
    elif weight_decay:
        grad = grad.add(param, alpha=weight_decay)
    mean.lerp_(grad, 1 - beta1)
    square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
    if largest is not None:
        largest.copy_(largest.maximum(square))
        square = largest
    scale = square.sqrt().div_(sqrt(1 - beta2**step)).add_(eps)
    param.addcdiv_(mean, scale, value=-lr / (1 - beta1**step))


def rmsprop(param, grad, square, mean, buffer, lr, alpha, eps, weight_decay, momentum):
    """RMSprop; centred if there is a ``mean`` of gradients."""
    if weight_decay:
        grad = grad.add(param, alpha=weight_decay)
    square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
    if mean is not None:
        mean.lerp_(grad, 1 - alpha)
        scale = square.addcmul(mean, mean, value=-1).sqrt_().add_(eps)
    else:
        scale = square.sqrt().add_(eps)
    if momentum:
        buffer.mul_(momentum).addcdiv_(grad, scale)
        param.add_(buffer, alpha=-lr)
    else:
        param.addcdiv_(grad, scale, value=-lr)


def adagrad(param, grad, total, step, lr, lr_decay, weight_decay, eps):
    """Adagrad: ``total`` sums the squares of all gradients so far."""
    if weight_decay:
        grad = grad.add(param, alpha=weight_decay)
    total.addcmul_(grad, grad, value=1)
    scale = total.sqrt().add_(eps)
    param.addcdiv_(grad, scale, value=-lr / (1 + (step - 1) * lr_decay))


def adadelta(param, grad, square, steps, lr, rho, eps, weight_decay):
    """Adadelta: ``square`` averages the squares of gradients, ``steps`` those of the steps taken."""
    if weight_decay:
        grad = grad.add(param, alpha=weight_decay)
    square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
    step = steps.add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
    steps.mul_(rho).addcmul_(step, step, value=1 - rho)
    param.add_(step, alpha=-lr)


def adamax(param, grad, mean, largest, step, lr, beta1, beta2, eps, weight_decay):
    """Adamax: Adam with a decaying maximum in place of the mean square."""
    if weight_decay:
        grad = grad.add(param, alpha=weight_decay)
    mean.lerp_(grad, 1 - beta1)
    largest.copy_(largest.mul_(beta2).maximum(grad.abs().add_(eps)))
    param.addcdiv_(mean, largest, value=-lr / (1 - beta1**step))
