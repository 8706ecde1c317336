"""The base of all distributions."""

import warnings

import wisp
from wisp import Size, Tensor
from wisp.distributions import constraints
from wisp.distributions.utils import as_tensors, broadcast_all, lazy_property

__all__ = ["Distribution"]

EMPTY = Size()  # the shape of one draw


class Distribution:
    """A probability distribution, or a batch of independent ones of the same kind.

    A subclass says its parameters once, in ``arg_constraints``: names, allowed values and, by the constraint's
    ``event_dim``, how many trailing dimensions one parameter has. Broadcasting in the constructor (`_keep`),
    validation, ``expand`` and ``repr`` follow from that.

    Args:
        batch_shape: the shape of the batch of distributions.
        event_shape: the shape of one draw from one of them.
        validate_args: whether parameters and the arguments of ``log_prob`` and ``cdf`` are checked.
    """

    has_rsample = False
    has_enumerate_support = False
    _validate_args = __debug__
    # What `arg_constraints` does not say of the parameters kept: how many dimensions one of them has.
    _event_dims = {}

    @staticmethod
    def set_default_validate_args(value):
        """Whether distributions check their arguments unless told otherwise; they do at first, except under -O."""
        if value not in (True, False):
            raise ValueError
        Distribution._validate_args = value

    def __init__(self, batch_shape=EMPTY, event_shape=EMPTY, validate_args=None):
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()

    # --- parameters

    def _keep(self, **values):
        """Keeps parameters, broadcast over their batch dimensions, as attributes; returns the batch's shape."""
        self._event_dims = {**self._event_dims, **{name: self._event_dim(name) for name in values}}
        if not any(self._event_dims[name] for name in values):
            tensors = broadcast_all(*values.values())
            self.__dict__.update(zip(values, tensors))
            return tensors[0].shape
        tensors = dict(zip(values, as_tensors(*values.values())))
        batches = [t.shape[: t.dim() - self._event_dims[name]] for name, t in tensors.items()]
        batch_shape = wisp.broadcast_shapes(*batches)
        for name, tensor in tensors.items():
            setattr(self, name, self._expanded(name, tensor, batch_shape))
        return batch_shape

    def _event_dim(self, name):
        """How many trailing dimensions one value of a parameter has."""
        if name in self._event_dims:
            return self._event_dims[name]
        return self.arg_constraints[name].event_dim if name in self.arg_constraints else 0

    def _expanded(self, name, value, batch_shape):
        return value.expand(batch_shape + value.shape[value.dim() - self._event_dim(name) :])

    def _validate_parameters(self):
        try:
            arg_constraints = self.arg_constraints
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `arg_constraints`. Please set `arg_constraints = {{}}` or initialize "
                "the distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        for name, constraint in arg_constraints.items():
            computed = name not in self.__dict__ and isinstance(getattr(type(self), name, None), lazy_property)
            if not computed and not constraints.is_dependent(constraint):
                self._validate_parameter(name, constraint)

    def _validate_parameter(self, name, constraint):
        value = getattr(self, name)
        if not constraint.check(value).all():
            raise ValueError(
                f"Expected parameter {name} ({type(value).__name__} of shape {tuple(value.shape)}) of distribution "
                f"{self!r} to satisfy the constraint {constraint!r}, but found invalid values:\n{value}"
            )

    def expand(self, batch_shape, _instance=None):
        """The distributions of this batch expanded to a larger batch; no memory is taken for it.

        Args:
            batch_shape: the larger shape.
            _instance: a new object to fill, which subclasses with a constructor of their own pass on.
        """
        # The class of this package whose constructor the object has, or would have without one of its own.
        home = next(c for c in type(self).__mro__ if "__init__" in vars(c) and c.__module__.startswith(__package__))
        if home is Distribution:
            raise NotImplementedError
        new = self._get_checked_instance(home, _instance)
        self._expand_into(new, Size(batch_shape))
        new._batch_shape, new._event_shape = Size(batch_shape), self._event_shape
        new._validate_args = self._validate_args
        return new

    def _expand_into(self, new, batch_shape):
        """Gives a new object the parameters of this one, expanded; also those that were computed on demand."""
        for name in [name for name in self.__dict__ if name in self._event_dims or name in self.arg_constraints]:
            setattr(new, name, self._expanded(name, self.__dict__[name], batch_shape))
        new._event_dims = self._event_dims

    def _get_checked_instance(self, cls, _instance=None):
        if _instance is None and type(self).__init__ != cls.__init__:
            raise NotImplementedError(
                f"Subclass {type(self).__name__} of {cls.__name__} that defines a custom __init__ method must also "
                "define a custom .expand() method."
            )
        return self.__new__(type(self)) if _instance is None else _instance

    # --- what a distribution is

    @property
    def batch_shape(self):
        """The shape of the batch of distributions."""
        return self._batch_shape

    @property
    def event_shape(self):
        """The shape of one draw from one distribution."""
        return self._event_shape

    @property
    def arg_constraints(self):
        """The constraint of every parameter, by name."""
        raise NotImplementedError

    @property
    def support(self):
        """The constraint that every draw satisfies."""
        raise NotImplementedError

    @property
    def mean(self):
        """The mean."""
        raise NotImplementedError

    @property
    def mode(self):
        """Where the density is largest."""
        raise NotImplementedError(f"{type(self)} does not implement mode")

    @property
    def variance(self):
        """The variance."""
        raise NotImplementedError

    @property
    def stddev(self):
        """The standard deviation."""
        return self.variance.sqrt()

    # --- draws

    def sample(self, sample_shape=EMPTY):
        """Draws of shape ``sample_shape + batch_shape + event_shape``, without history."""
        with wisp.no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape=EMPTY):
        """Draws as `sample` gives them, as differentiable functions of the parameters."""
        raise NotImplementedError

    def sample_n(self, n):
        """``sample((n,))``, which replaces it."""
        warnings.warn("sample_n will be deprecated. Use .sample((n,)) instead", UserWarning, stacklevel=2)
        return self.sample(Size((n,)))

    def _extended_shape(self, sample_shape=EMPTY):
        return Size(sample_shape) + self._batch_shape + self._event_shape

    # --- functions

    def log_prob(self, value):
        """The logarithm of the density, or of the probability, at a value."""
        raise NotImplementedError

    def cdf(self, value):
        """The probability of a draw up to a value."""
        raise NotImplementedError

    def icdf(self, value):
        """The inverse of `cdf`: the quantiles."""
        raise NotImplementedError

    def enumerate_support(self, expand=True):
        """All values of a discrete distribution, along a new first dimension.

        Args:
            expand: whether they are repeated over the batch; if not, its dimensions have size 1.
        """
        raise NotImplementedError

    def _enumerate(self, values, expand):
        """`enumerate_support` of scalar values."""
        values = values.reshape((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1, *self._batch_shape)) if expand else values

    def entropy(self):
        """The entropy, in nats."""
        raise NotImplementedError

    def perplexity(self):
        """The exponential of the entropy."""
        return self.entropy().exp()

    def _check(self, *values):
        """Checks the values given to a function of draws, if arguments are checked."""
        if self._validate_args:
            for value in values:
                self._validate_sample(value)

    def _validate_sample(self, value):
        if not isinstance(value, Tensor):
            raise ValueError("The value argument to log_prob must be a Tensor")
        self._validate_shape(value)
        try:
            support = self.support
        except NotImplementedError:
            warnings.warn(
                f"{type(self)} does not define `support` to enable sample validation. Please initialize the "
                "distribution with `validate_args=False` to turn off validation.",
                stacklevel=4,
            )
            return
        if not support.check(value).all():
            raise ValueError(
                f"Expected value argument ({type(value).__name__} of shape {tuple(value.shape)}) to be within the "
                f"support ({support!r}) of the distribution {self!r}, but found invalid values:\n{value}"
            )

    def _validate_shape(self, value):
        event = value.shape[value.dim() - len(self._event_shape) :]
        if event != self._event_shape:
            raise ValueError(
                f"The right-most size of value must match event_shape: {value.shape} vs {self._event_shape}."
            )
        expected = self._batch_shape + self._event_shape
        for given, wanted in zip(reversed(value.shape), reversed(expected)):
            if given != 1 and wanted != 1 and given != wanted:
                raise ValueError(
                    f"Value is not broadcastable with batch_shape+event_shape: {value.shape} vs {expected}."
                )

    def __repr__(self):
        names = [name for name in self.arg_constraints if name in self.__dict__]
        return f"{type(self).__name__}({', '.join(f'{name}: {self._summary(name)}' for name in names)})"

    def _summary(self, name):
        """A parameter for `repr`: its value if it is a number, else its shape."""
        value = self.__dict__[name]
        return value if value.numel() == 1 else value.shape
