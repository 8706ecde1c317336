"""Transforms from unconstrained numbers to constrained ones.

``biject_to(constraint)`` is a bijection, as samplers need it; ``transform_to(constraint)`` may be cheaper or better
behaved and need not be one to one, as optimisers like it.

>>> from wisp.distributions import biject_to, constraints, transform_to
>>> transform_to(constraints.simplex)
SoftmaxTransform()
>>> biject_to(constraints.simplex)
StickBreakingTransform()
"""

from wisp.distributions import constraints, transforms

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A table from kinds of constraints to functions that make a transform for one."""

    def __init__(self):
        self._registry = {}

    def register(self, constraint, factory=None):
        """Sets what makes the transform for constraints of a class; a decorator if the function is not given.

        Args:
            constraint: a subclass of Constraint, or an object of it.
            factory: a function from a constraint to a Transform onto it.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        if isinstance(constraint, constraints.Constraint):
            constraint = type(constraint)
        if not isinstance(constraint, type) or not issubclass(constraint, constraints.Constraint):
            raise TypeError(f"Expected constraint to be either a Constraint subclass or instance, but got {constraint}")
        self._registry[constraint] = factory
        return factory

    def __call__(self, constraint):
        """The transform from unconstrained numbers to a constraint."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"Cannot transform {type(constraint).__name__} constraints")
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _register_both(*kinds):
    def decorator(factory):
        for kind in kinds:
            biject_to.register(kind, factory)
            transform_to.register(kind, factory)
        return factory

    return decorator


@_register_both(constraints.real)
def _to_real(constraint):
    return transforms.identity_transform


@_register_both(constraints.greater_than, constraints.greater_than_eq)
def _to_above(constraint):
    return _scaled(transforms.ExpTransform(), constraint.lower_bound, 1)


@_register_both(constraints.less_than)
def _to_below(constraint):
    return _scaled(transforms.ExpTransform(), constraint.upper_bound, -1)


@_register_both(constraints.interval, constraints.half_open_interval)
def _to_interval(constraint):
    low, high = constraint.lower_bound, constraint.upper_bound
    if _is_number(low, 0) and _is_number(high, 1):
        return transforms.SigmoidTransform()
    return _scaled(transforms.SigmoidTransform(), low, high - low)


def _is_number(bound, number):
    return isinstance(bound, (int, float)) and bound == number


def _scaled(transform, loc, scale):
    return transforms.ComposeTransform([transform, transforms.AffineTransform(loc, scale)])


@_register_both(constraints.corr_cholesky)
def _to_corr_cholesky(constraint):
    return transforms.CorrCholeskyTransform()


@biject_to.register(constraints.simplex)
def _biject_to_simplex(constraint):
    return transforms.StickBreakingTransform()


@transform_to.register(constraints.simplex)
def _transform_to_simplex(constraint):
    return transforms.SoftmaxTransform()


@transform_to.register(constraints.lower_cholesky)
def _transform_to_lower_cholesky(constraint):
    return transforms.LowerCholeskyTransform()


@transform_to.register(constraints.positive_semidefinite)
@transform_to.register(constraints.positive_definite)
def _transform_to_positive_definite(constraint):
    return transforms.PositiveDefiniteTransform()


def _register_composed(registry):
    """Constraints made of others take their transforms from the same registry."""

    @registry.register(constraints.independent)
    def independent(constraint):
        base = registry(constraint.base_constraint)
        return transforms.IndependentTransform(base, constraint.reinterpreted_batch_ndims)

    @registry.register(constraints.cat)
    def cat(constraint):
        return transforms.CatTransform([registry(c) for c in constraint.cseq], constraint.dim, constraint.lengths)

    @registry.register(constraints.stack)
    def stack(constraint):
        return transforms.StackTransform([registry(c) for c in constraint.cseq], constraint.dim)


_register_composed(biject_to)
_register_composed(transform_to)
