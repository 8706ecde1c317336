"""Families given by a location and a scale: Cauchy, Laplace, Gumbel, Student's t, uniform, von Mises."""

import math

import wisp
from wisp import special
from wisp.distributions import constraints
from wisp.distributions._folded import Folded
from wisp.distributions.distribution import EMPTY, Distribution
from wisp.distributions.transformed_distribution import TransformedDistribution
from wisp.distributions.transforms import AffineTransform, ExpTransform
from wisp.distributions.utils import _standard_normal, euler_constant, lazy_property, uniform_two_sided

__all__ = ["Cauchy", "Gumbel", "HalfCauchy", "Laplace", "StudentT", "Uniform", "VonMises"]


class Uniform(Distribution):
    """The uniform distribution on [low, high).

    Args:
        low: the lower end.
        high: the upper end.
        validate_args: whether arguments are checked.
    """

    has_rsample = True
    _event_dims = {"low": 0, "high": 0}

    def __init__(self, low, high, validate_args=None):
        super().__init__(self._keep(low=low, high=high), validate_args=validate_args)

    @property
    def arg_constraints(self):
        """The ends are in order."""
        return {"low": constraints.less_than(self.high), "high": constraints.greater_than(self.low)}

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        """The interval, with both ends."""
        return constraints.interval(self.low, self.high)

    mean = property(lambda self: (self.high + self.low) / 2)
    mode = property(lambda self: self.high * math.nan)
    stddev = property(lambda self: (self.high - self.low) / math.sqrt(12))
    variance = property(lambda self: (self.high - self.low).square() / 12)

    def rsample(self, sample_shape=EMPTY):
        u = wisp.rand(self._extended_shape(sample_shape), dtype=self.low.dtype)
        return self.low + u * (self.high - self.low)

    def log_prob(self, value):
        self._check(value)
        inside = (self.low <= value) & (self.high > value)
        return inside.type_as(self.low).log() - (self.high - self.low).log()

    def cdf(self, value):
        self._check(value)
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return (self.high - self.low).log()


class Cauchy(Distribution):
    """The Cauchy (Lorentz) distribution: that of a quotient of two normal numbers. It has no mean.

    Args:
        loc: the median.
        scale: the half width at half maximum.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(self._keep(loc=loc, scale=scale), validate_args=validate_args)

    mean = property(lambda self: wisp.full_like(self.loc, math.nan))
    mode = property(lambda self: self.loc)
    variance = property(lambda self: wisp.full_like(self.loc, math.inf))

    def rsample(self, sample_shape=EMPTY):
        noise = wisp.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value):
        self._check(value)
        return -math.log(math.pi) - self.scale.log() - ((value - self.loc) / self.scale).square().log1p()

    def cdf(self, value):
        self._check(value)
        return wisp.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return wisp.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class HalfCauchy(Folded):
    """The distribution of abs(x) where x is Cauchy distributed around 0.

    Args:
        scale: the scale of x.
        validate_args: whether arguments are checked.
    """

    def __init__(self, scale, validate_args=None):
        super().__init__(Cauchy(0, scale, validate_args=False), validate_args)

    mean = property(lambda self: wisp.full_like(self.scale, math.inf))
    variance = property(lambda self: self.base_dist.variance)


class Laplace(Distribution):
    """The Laplace distribution: exponential on both sides.

    Args:
        loc: the mean.
        scale: the mean distance from it.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        super().__init__(self._keep(loc=loc, scale=scale), validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)
    variance = property(lambda self: 2 * self.scale.square())
    stddev = property(lambda self: math.sqrt(2) * self.scale)

    def rsample(self, sample_shape=EMPTY):
        u = uniform_two_sided(self._extended_shape(sample_shape), self.loc.dtype)
        return self.loc - self.scale * u.sign() * wisp.log1p(-u.abs())

    def log_prob(self, value):
        self._check(value)
        return -(2 * self.scale).log() - (value - self.loc).abs() / self.scale

    def cdf(self, value):
        self._check(value)
        distance = value - self.loc
        return 0.5 - 0.5 * distance.sign() * wisp.expm1(-distance.abs() / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * wisp.log1p(-2 * term.abs())

    def entropy(self):
        return 1 + (2 * self.scale).log()


class Gumbel(TransformedDistribution):
    """The Gumbel distribution: that of the largest of many numbers.

    Args:
        loc: the mode.
        scale: the scale.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real

    def __init__(self, loc, scale, validate_args=None):
        batch_shape = self._keep(loc=loc, scale=scale)
        info = wisp.finfo(self.loc.dtype)
        ends = wisp.full(batch_shape, info.tiny, dtype=self.loc.dtype), 1 - info.eps
        transforms = [ExpTransform().inv, AffineTransform(0, -wisp.ones_like(self.scale)), ExpTransform().inv,
                      AffineTransform(self.loc, -self.scale)]  # fmt: skip
        super().__init__(Uniform(*ends, validate_args=validate_args), transforms, validate_args=validate_args)

    mean = property(lambda self: self.loc + self.scale * euler_constant)
    mode = property(lambda self: self.loc)
    stddev = property(lambda self: math.pi / math.sqrt(6) * self.scale)
    variance = property(lambda self: self.stddev.square())

    def log_prob(self, value):
        self._check(value)
        y = (self.loc - value) / self.scale
        return y - y.exp() - self.scale.log()

    def entropy(self):
        return self.scale.log() + (1 + euler_constant)


class StudentT(Distribution):
    """Student's t-distribution.

    Args:
        df: the degrees of freedom.
        loc: the location.
        scale: the scale.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        super().__init__(self._keep(df=df, loc=loc, scale=scale), validate_args=validate_args)

    mode = property(lambda self: self.loc)

    @property
    def mean(self):
        return wisp.where(self.df > 1, self.loc, math.nan)

    @property
    def variance(self):
        spread = wisp.where(self.df > 2, self.scale.square() * self.df / (self.df - 2), math.inf)
        return wisp.where(self.df > 1, spread, math.nan)

    def rsample(self, sample_shape=EMPTY):
        """Normal numbers divided by the roots of draws of chi-squared ones, each by its degrees of freedom."""
        shape = self._extended_shape(sample_shape)
        noise, half = _standard_normal(shape, self.df.dtype), self.df / 2
        return self.loc + self.scale * noise * (wisp._standard_gamma(half.expand(shape)) / half).rsqrt()

    def log_prob(self, value):
        self._check(value)
        y = (value - self.loc) / self.scale
        return -0.5 * (self.df + 1) * wisp.log1p(y.square() / self.df) - self.scale.log() - self._log_beta()

    def _log_beta(self):
        """log(sqrt(df) B(df / 2, 1 / 2))."""
        of_df = wisp.lgamma(0.5 * self.df) - wisp.lgamma(0.5 * (self.df + 1))
        return 0.5 * self.df.log() + 0.5 * math.log(math.pi) + of_df

    def entropy(self):
        half = 0.5 * (self.df + 1)
        return self.scale.log() + half * (wisp.digamma(half) - wisp.digamma(0.5 * self.df)) + self._log_beta()


class VonMises(Distribution):
    """The von Mises distribution of angles.

    Args:
        loc: the mean angle, in radians.
        concentration: how close to it the angles are.
        validate_args: whether arguments are checked.
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc, concentration, validate_args=None):
        super().__init__(self._keep(loc=loc, concentration=concentration), validate_args=validate_args)

    mean = property(lambda self: self.loc)
    mode = property(lambda self: self.loc)

    @lazy_property
    def variance(self):
        """The circular variance: one minus the length of the mean of unit vectors."""
        return 1 - special.i1e(self.concentration) / special.i0e(self.concentration)

    def log_prob(self, value):
        self._check(value)
        # i0e is exp(-concentration) times the Bessel function of the normalising constant.
        height = self.concentration * ((value - self.loc).cos() - 1)
        return height - math.log(2 * math.pi) - special.i0e(self.concentration).log()

    def sample(self, sample_shape=EMPTY):
        """Angles from a wrapped Cauchy distribution, accepted so that the von Mises density results."""
        with wisp.no_grad():
            # Computed in double precision: for small concentrations the proposal is nearly flat.
            concentration = self.concentration.double().expand(self._extended_shape(sample_shape))
            bounded = concentration.clamp(max=_NEARLY_NORMAL)
            angles = _from_wrapped_cauchy(bounded, _proposal(bounded))
            normal = _standard_normal(concentration.shape, concentration.dtype) * concentration.rsqrt()
            angles = wisp.where(concentration > _NEARLY_NORMAL, normal, angles)
            return ((angles + math.pi + self.loc) % (2 * math.pi) - math.pi).to(self.loc.dtype)


# From this concentration on draws are normal: the difference is less than one in a million.
_NEARLY_NORMAL = 1e6


def _proposal(concentration):
    """The parameter of the wrapped Cauchy distribution that fits best (Best and Fisher 1979)."""
    tau = 1 + (1 + 4 * concentration.square()).sqrt()
    rho = (tau - (2 * tau).sqrt()) / (2 * concentration)
    best = (1 + rho.square()) / (2 * rho)
    return wisp.where(concentration < 1e-5, 1 / concentration + concentration, best)  # the same, without cancellation


def _from_wrapped_cauchy(concentration, r):
    angles, open_ = wisp.zeros_like(concentration), wisp.ones_like(concentration, dtype=wisp.bool)
    while open_.any():
        u = wisp.rand((3, *concentration.shape), dtype=concentration.dtype)
        z = wisp.cos(math.pi * u[0])
        f = (1 + r * z) / (r + z)
        c = concentration * (r - f)
        rejected = (c * (2 - c) - u[1] <= 0) & ((c / u[1]).log() + 1 - c < 0)  # neither holds of nan, which ends too
        angles = wisp.where(open_, (u[2] - 0.5).sign() * f.clamp(-1, 1).acos(), angles)
        open_ = open_ & rejected
    return angles
