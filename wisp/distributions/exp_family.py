"""Exponential families."""

import wisp
from wisp.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution with density ``exp(<t(x), theta> - F(theta) + k(x))``.

    A subclass gives the natural parameters theta (`_natural_params`, a tuple of tensors), the log-normaliser F
    (`_log_normalizer`) and the mean of k, the logarithm of the carrier measure (`_mean_carrier_measure`). Entropies and
    divergences between two members of a family follow from these by differentiating F.
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self):
        """The entropy ``F(theta) - <theta, grad F(theta)> - E[k(x)]``."""
        params, log_normalizer, gradients = self._log_normalizer_and_gradients()
        result = log_normalizer - self._mean_carrier_measure
        for param, gradient in zip(params, gradients):
            result = result - (param * gradient).reshape(self._batch_shape + (-1,)).sum(-1)
        return result

    def _log_normalizer_and_gradients(self):
        """The natural parameters, F at them, and its gradient; all differentiable where the parameters are."""
        from wisp.autograd import grad

        differentiable = wisp.is_grad_enabled() and any(p.requires_grad for p in self._natural_params)
        with wisp.enable_grad():
            params = [p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params]
            log_normalizer = self._log_normalizer(*params)
            gradients = grad(log_normalizer.sum(), params, create_graph=differentiable)
        if differentiable:
            return params, log_normalizer, gradients
        return [p.detach() for p in params], log_normalizer.detach(), gradients
