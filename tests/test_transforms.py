"""Transforms, constraints and the errors of distributions: as in PyTorch; inverses and Jacobians by their definitions."""

import copy
import pickle
import warnings

import pytest

import wisp
from tests import oracle
from tests.oracle import assert_close
from tests.test_distributions import attempt, doubles, plain
from wisp import distributions
from wisp.distributions import constraints, transforms

# Transforms by name, and an argument of each.
TRANSFORMS = {
    "abs": (lambda d, t: d.AbsTransform(), [-1.0, 2.0]),
    "affine": (lambda d, t: d.AffineTransform(1.0, -2.0), [[-1.0, 2.0]]),
    "affine of tensors": (lambda d, t: d.AffineTransform(t([1.0, 2.0]), t([[-2.0], [3.0]])), [[-1.0, 2.0], [0.0, 1.0]]),
    "affine of vectors": (lambda d, t: d.AffineTransform(t([1.0, 2.0]), t([-2.0, 3.0]), event_dim=1), [[-1.0, 2.0]]),
    "affine of vectors by one number": (lambda d, t: d.AffineTransform(t(1.0), t(-2.0), event_dim=1), [[-1.0, 2.0]]),
    "cat": (lambda d, t: d.CatTransform([d.ExpTransform(), d.TanhTransform()], dim=0, lengths=[2, 1]), [1.0, 2.0, 0.5]),
    "cat along the last": (
        lambda d, t: d.CatTransform([d.ExpTransform(), d.SigmoidTransform()], dim=-1), [[1.0, 2.0], [0.5, -1.0]]
    ),
    "compose": (
        lambda d, t: d.ComposeTransform([d.AffineTransform(t(0.5), t(2.0)), d.SigmoidTransform()]), [-1.0, 0.3]
    ),
    "compose of vectors": (
        lambda d, t: d.ComposeTransform([d.ExpTransform(), d.AffineTransform(0.0, 0.1), d.StickBreakingTransform()]),
        [[-1.0, 0.3], [0.0, 0.0]],
    ),
    "correlations": (lambda d, t: d.CorrCholeskyTransform(), [[0.1, -0.5, 0.9], [0.0, 0.0, 2.0]]),
    "correlations of four": (lambda d, t: d.CorrCholeskyTransform(), [0.1, -0.5, 0.9, 1.0, 0.2, -0.3]),
    "cdf": (lambda d, t: d.CumulativeDistributionTransform(d.Normal(t(0.5), t(2.0))), [-1.0, 0.3]),
    "exp": (lambda d, t: d.ExpTransform(), [-1.0, 0.0, 2.0]),
    "identity": (lambda d, t: d.identity_transform, [-1.0, 2.0]),
    "independent": (lambda d, t: d.IndependentTransform(d.ExpTransform(), 1), [[-1.0, 2.0], [0.0, 1.0]]),
    "lower cholesky": (lambda d, t: d.LowerCholeskyTransform(), [[0.5, 7.0], [2.0, -1.0]]),
    "positive definite": (lambda d, t: d.PositiveDefiniteTransform(), [[0.5, 7.0], [2.0, -1.0]]),
    "power": (lambda d, t: d.PowerTransform(t([2.0, -0.5])), [0.5, 3.0]),
    "reshape": (lambda d, t: d.ReshapeTransform((2, 2), (4,)), [[[1.0, 2.0], [3.0, 4.0]]]),
    "sigmoid": (lambda d, t: d.SigmoidTransform(), [-3.0, 0.0, 2.0]),
    "softmax": (lambda d, t: d.SoftmaxTransform(), [[-3.0, 0.0, 2.0]]),
    "softplus": (lambda d, t: d.SoftplusTransform(), [-3.0, 0.0, 2.0]),
    "stack": (lambda d, t: d.StackTransform([d.ExpTransform(), d.TanhTransform()], dim=1), [[1.0, 2.0], [0.5, 0.1]]),
    "stick breaking": (lambda d, t: d.StickBreakingTransform(), [[-3.0, 0.0, 2.0], [0.0, 0.0, 0.0]]),
    "tanh": (lambda d, t: d.TanhTransform(), [-3.0, 0.0, 2.0]),
}  # fmt: skip


def made(lib, name):
    return TRANSFORMS[name][0](lib.distributions, doubles(lib)), doubles(lib)(TRANSFORMS[name][1])


def asked(lib):
    """Everything one can ask a transform and its inverse."""
    found = {}
    for name in TRANSFORMS:
        if name == "affine of vectors by one number":
            continue  # PyTorch counts the number once, not once per element: see the Jacobians below
        transform, x = made(lib, name)
        y = transform(x)
        for label, t, a, b in ((name, transform, x, y), (f"inverse of {name}", transform.inv, y, x)):
            found[label] = {
                "value": attempt(lambda: t(a)), "jacobian": attempt(lambda: t.log_abs_det_jacobian(a, b)),
                "repr": plain(repr(t)), "domain": attempt(lambda: t.domain), "codomain": attempt(lambda: t.codomain),
                "bijective": attempt(lambda: t.bijective), "sign": attempt(lambda: t.sign),
                "event_dim": attempt(lambda: t.event_dim), "forward_shape": attempt(lambda: t.forward_shape(a.shape)),
                "inverse_shape": attempt(lambda: t.inverse_shape(b.shape)), "itself": attempt(lambda: t.inv.inv is t),
                "cached": attempt(lambda: t.with_cache(1)._cache_size),
            }  # fmt: skip
    return found


def equalities(lib):
    all_made = [made(lib, name)[0] for name in TRANSFORMS]
    again = [made(lib, name)[0] for name in TRANSFORMS]
    return {"same": [[a == b for b in again] for a in all_made], "not": [a != b for a, b in zip(all_made, again)],
            "inverses": [a.inv == b.inv for a, b in zip(all_made, again)]}  # fmt: skip


CONSTRAINTS = {
    "boolean": (lambda c: c.boolean, [0.0, 1.0, 0.5]),
    "cat": (lambda c: c.cat([c.positive, c.unit_interval], 0, [1, 2]), [2.0, 0.5, 3.0]),
    "corr_cholesky": (lambda c: c.corr_cholesky, [[[1.0, 0.0], [0.6, 0.8]], [[1.0, 0.0], [0.6, 0.9]]]),
    "greater_than": (lambda c: c.greater_than(1), [0.0, 1.0, 2.0]),
    "greater_than_eq": (lambda c: c.greater_than_eq(1), [0.0, 1.0, 2.0]),
    "half_open_interval": (lambda c: c.half_open_interval(0, 1), [0.0, 1.0, 0.5]),
    "independent": (lambda c: c.independent(c.positive, 1), [[1.0, 2.0], [-1.0, 2.0]]),
    "integer_interval": (lambda c: c.integer_interval(-1, 2), [-2.0, -1.0, 0.5, 2.0, 3.0]),
    "interval": (lambda c: c.interval(0, 2.5), [0.0, 2.5, 3.0]),
    "less_than": (lambda c: c.less_than(1), [0.0, 1.0]),
    "lower_cholesky": (lambda c: c.lower_cholesky, [[[1.0, 0.0], [5.0, 2.0]], [[1.0, 0.0], [5.0, -2.0]]]),
    "lower_triangular": (lambda c: c.lower_triangular, [[[1.0, 0.0], [5.0, -2.0]], [[1.0, 1.0], [5.0, 2.0]]]),
    "mixture": (lambda c: c.MixtureSameFamilyConstraint(c.simplex), [[0.5, 0.5], [0.5, 0.6]]),
    "multinomial": (lambda c: c.multinomial(3), [[1.0, 2.0], [2.0, 2.0], [-1.0, 1.0]]),
    "nonnegative": (lambda c: c.nonnegative, [-1.0, 0.0, float("nan")]),
    "nonnegative_integer": (lambda c: c.nonnegative_integer, [-1.0, 0.0, 0.5, 2.0]),
    "one_hot": (lambda c: c.one_hot, [[0.0, 1.0], [1.0, 1.0], [0.5, 0.5]]),
    "positive": (lambda c: c.positive, [0.0, 1.0]),
    "positive_definite": (lambda c: c.positive_definite, [[[2.0, 1.0], [1.0, 2.0]], [[1.0, 2.0], [2.0, 1.0]]]),
    "positive_definite of others": (lambda c: c.positive_definite, [[[2.0, 1.0], [0.0, 2.0]]]),
    "positive_integer": (lambda c: c.positive_integer, [0.0, 1.0, 1.5]),
    "positive_semidefinite": (lambda c: c.positive_semidefinite, [[[1.0, 0.0], [0.0, 0.0]], [[1.0, 2.0], [2.0, 1.0]]]),
    "real": (lambda c: c.real, [float("inf"), float("nan"), 0.0]),
    "real_vector": (lambda c: c.real_vector, [[float("inf"), 0.0], [float("nan"), 0.0]]),
    "simplex": (lambda c: c.simplex, [[0.5, 0.5], [0.5, 0.6], [-0.5, 1.5]]),
    "square": (lambda c: c.square, [[[1.0, 0.0]]]),
    "stack": (lambda c: c.stack([c.positive, c.unit_interval], -1), [[2.0, 0.5], [-2.0, 3.0]]),
    "symmetric": (lambda c: c.symmetric, [[[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0], [0.0, 1.0]]]),
    "unit_interval": (lambda c: c.unit_interval, [0.0, 1.0, 1.5]),
}  # fmt: skip


def constrained(lib):
    found = {}
    for name, (make, values) in CONSTRAINTS.items():
        c = make(lib.distributions.constraints)
        found[name] = {
            "check": attempt(lambda: c.check(doubles(lib)(values))), "repr": plain(repr(c)), "event_dim": c.event_dim,
            "is_discrete": c.is_discrete, "biject_to": attempt(lambda: lib.distributions.biject_to(c)),
            "transform_to": attempt(lambda: lib.distributions.transform_to(c)),
        }  # fmt: skip
    return found


ERRORS = {
    "negative scale": lambda d, t: d.Normal(0.0, -1.0),
    "nan": lambda d, t: d.Normal(t([0.0, float("nan")]), 1.0),
    "text": lambda d, t: d.Normal("a", 1.0),
    "value of another shape": lambda d, t: d.Normal(t([0.0, 1.0]), 1.0).log_prob(t([1.0, 2.0, 3.0])),
    "value that is a number": lambda d, t: d.Normal(t([0.0, 1.0]), 1.0).log_prob(1.0),
    "value that is nan": lambda d, t: d.Normal(0.0, 1.0).log_prob(t(float("nan"))),
    "event of another shape": lambda d, t: d.Dirichlet(t([1.0, 1.0])).log_prob(t([0.2, 0.3, 0.5])),
    "value outside": lambda d, t: d.Uniform(0.0, 1.0).log_prob(t(2.0)),
    "category outside": lambda d, t: d.Categorical(t([0.5, 0.5])).log_prob(t(5.0)),
    "negative probability": lambda d, t: d.Categorical(t([-1.0, 2.0])),
    "both": lambda d, t: d.Bernoulli(0.1, 0.1),
    "neither": lambda d, t: [attempt(make) for make in (d.Bernoulli, d.Categorical, d.Binomial, d.Geometric,
                                                        d.ContinuousBernoulli, d.OneHotCategorical, d.Multinomial)],
    "categorical of a number": lambda d, t: d.Categorical(t(1.0)),
    "categorical of a logit": lambda d, t: d.Categorical(logits=t(1.0)),
    "geometric of zero": lambda d, t: d.Geometric(t([0.0, 0.5])),
    "multinomial of several counts": lambda d, t: d.Multinomial(t([1.0, 2.0]), t([0.5, 0.5])),
    "multinomial of a negative count": lambda d, t: d.Multinomial(-1, t([0.5, 0.5])),
    "multinomial of too many": lambda d, t: d.Multinomial(2, t([0.5, 0.5])).log_prob(t([3.0, 0.0])),
    "binomials of several counts": lambda d, t: d.Binomial(t([1.0, 2.0]), t(0.5)).entropy(),
    "all of several counts": lambda d, t: d.Binomial(t([1.0, 2.0]), t(0.5)).enumerate_support(),
    "dirichlet of a number": lambda d, t: d.Dirichlet(t(1.0)),
    "normal vectors without covariance": lambda d, t: d.MultivariateNormal(t([0.0, 0.0])),
    "normal vectors of a number": lambda d, t: d.MultivariateNormal(t(0.0), t([[1.0]])),
    "normal vectors with a vector": lambda d, t: d.MultivariateNormal(t([0.0, 0.0]), t([0.0, 0.0])),
    "normal vectors with another vector": lambda d, t: d.MultivariateNormal(t([0.0, 0.0]), scale_tril=t([0.0, 0.0])),
    "normal vectors with no covariance": lambda d, t: d.MultivariateNormal(t([0.0, 0.0]), t([[0.0, 0.0], [0.0, 0.0]])),
    "low rank of a number": lambda d, t: d.LowRankMultivariateNormal(t(0.0), t([[1.0]]), t([1.0])),
    "low rank of a vector": lambda d, t: d.LowRankMultivariateNormal(t([0.0]), t([1.0]), t([1.0])),
    "low rank of other sizes": lambda d, t: d.LowRankMultivariateNormal(t([0.0]), t([[1.0], [1.0]]), t([1.0])),
    "low rank of another diagonal": lambda d, t: d.LowRankMultivariateNormal(t([0.0]), t([[1.0]]), t([1.0, 1.0])),
    "wishart without covariance": lambda d, t: d.Wishart(t(3.0)),
    "wishart of few degrees": lambda d, t: d.Wishart(t(0.5), t([[1.0, 0.0], [0.0, 1.0]])),
    "wishart of a vector": lambda d, t: d.Wishart(t(3.0), t([1.0, 1.0])),
    "correlation of one": lambda d, t: d.LKJCholesky(1),
    "interval of nothing": lambda d, t: d.Uniform(1.0, 0.0),
    "independent of too many": lambda d, t: d.Independent(d.Normal(0.0, 1.0), 1),
    "enumerated vectors": lambda d, t: d.Independent(d.Bernoulli(t([0.5, 0.5])), 1).enumerate_support(),
    "mixture of a number": lambda d, t: d.MixtureSameFamily(1, 1),
    "mixture with a number": lambda d, t: d.MixtureSameFamily(d.Categorical(t([1.0, 1.0])), 1),
    "mixture of too few": lambda d, t: d.MixtureSameFamily(d.Categorical(t([1.0, 1.0])), d.Normal(t([0.0, 1.0, 2.0]), 1.0)),
    "mixture of other batches": lambda d, t: d.MixtureSameFamily(
        d.Categorical(t([[1.0, 1.0]] * 4)), d.Normal(t([[0.0, 1.0]] * 3), 1.0)
    ),
    "transformed by a number": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), 1),
    "transformed by numbers": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), [1]),
    "transformed number": lambda d, t: d.TransformedDistribution(d.Normal(0.0, 1.0), d.StickBreakingTransform()),
    "no divergence": lambda d, t: d.kl_divergence(d.Normal(0.0, 1.0), d.Cauchy(0.0, 1.0)),
    "other events": lambda d, t: d.kl_divergence(
        d.MultivariateNormal(t([0.0]), t([[1.0]])), d.MultivariateNormal(t([0.0, 0.0]), t([[1.0, 0.0], [0.0, 1.0]]))
    ),
    "cache of two": lambda d, t: d.ExpTransform(cache_size=2),
    "hash": lambda d, t: hash(d.ExpTransform()),
    "reshaped to more": lambda d, t: d.ReshapeTransform((2,), (3,)),
    "reshaped others": lambda d, t: d.ReshapeTransform((2, 3), (6,)).forward_shape((2, 4)),
    "reshaped few": lambda d, t: d.ReshapeTransform((2, 3), (6,)).forward_shape((2,)),
    "stick of no numbers": lambda d, t: d.StickBreakingTransform().forward_shape(()),
    "no triangle": lambda d, t: d.CorrCholeskyTransform().forward_shape((4,)),
    "not square": lambda d, t: d.CorrCholeskyTransform().inverse_shape((4, 3)),
    "no Jacobian": lambda d, t: d.AbsTransform().log_abs_det_jacobian(t(1.0), t(1.0)),
    "bijection to triangles": lambda d, t: d.biject_to(d.constraints.lower_cholesky),
    "registered number": lambda d, t: d.biject_to.register(1, 2),
    "dependent": lambda d, t: d.constraints.dependent.check(t(1.0)),
    "unknown dimension": lambda d, t: d.constraints.dependent.event_dim,
    "unknown kind": lambda d, t: d.constraints.dependent.is_discrete,
    "independent of a number": lambda d, t: d.constraints.independent(d.constraints.real, 1).check(t(1.0)),
    "default": lambda d, t: d.Distribution.set_default_validate_args(2),
    "nothing": lambda d, t: [attempt(f) for f in (d.Distribution(validate_args=False).sample,
                                                  d.Distribution(validate_args=False).entropy)],
    "mode of nothing": lambda d, t: d.Distribution(validate_args=False).mode,
}  # fmt: skip


def errors(lib):
    return {name: attempt(lambda: make(lib.distributions, doubles(lib))) for name, make in ERRORS.items()}


ORACLES = {"transforms": asked, "transform_equalities": equalities, "constraints": constrained,
           "distribution_errors": errors}  # fmt: skip


@pytest.mark.parametrize("name", ORACLES)
def test_as_in_pytorch(name):
    want, got = oracle.answers(name, ORACLES[name]), ORACLES[name](wisp)
    assert_close(got, want, name, rel_tol=1e-7, abs_tol=1e-9)


@pytest.mark.skipif(not oracle.HAS_TORCH, reason="compares what was recorded with PyTorch")
@pytest.mark.parametrize("name", ORACLES)
def test_recorded_answers_are_pytorchs(name):
    assert_close(oracle.recorded(name), oracle.answers(name, ORACLES[name]), name)


# --- by definition

BIJECTIVE = [name for name in TRANSFORMS if made(wisp, name)[0].bijective]


@pytest.mark.parametrize("name", BIJECTIVE)
def test_inverses_undo_and_caches_give_back(name):
    transform, x = made(wisp, name)
    assert wisp.allclose(transform.inv(transform(x)), x, atol=1e-10)
    cached = transform.with_cache(1)
    y = cached(x)
    if name != "identity":
        assert cached.inv(y) is x or wisp.equal(cached.inv(y), x)
    assert wisp.equal(y, transform(x))
    for again in (copy.deepcopy(transform), pickle.loads(pickle.dumps(transform)), copy.deepcopy(transform.inv).inv):
        assert wisp.equal(again(x), transform(x))
        assert again.inv.inv is again


# Those of one event at a time: the others have a batch of their own, or none to speak of.
SINGLE = [n for n in BIJECTIVE if not n.startswith(("cat", "stack", "reshape", "identity", "power", "affine of t"))]


@pytest.mark.parametrize("name", SINGLE)
def test_jacobians_are_determinants(name):
    transform, x = made(wisp, name)
    before = transform.domain.event_dim
    x = x.reshape((-1, *x.shape[x.dim() - before :]))[0].clone()  # one event
    jacobian = wisp.func.jacrev(transform)(x).reshape(-1, x.numel())
    if jacobian.shape[0] != x.numel():  # onto a surface: the independent coordinates of the result
        keep = wisp.tensor([bool(row.abs().sum() > 0) for row in jacobian])
        if name.startswith("correlations"):
            n = transform(x).shape[-1]
            keep = wisp.ones(n, n).tril(-1).bool().flatten()
        else:
            keep[-1] = False
        jacobian = jacobian[keep]
    got = transform.log_abs_det_jacobian(x, transform(x))
    assert wisp.allclose(wisp.linalg.slogdet(jacobian).logabsdet, got, atol=1e-9)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_values_lie_where_they_are_said_to(name):
    transform, x = made(wisp, name)
    assert transform.domain.check(x).all() and transform.codomain.check(transform(x)).all()
    assert transform.forward_shape(x.shape) == transform(x).shape
    assert transform.inverse_shape(transform(x).shape) == x.shape


REACHABLE = [
    name
    for name in CONSTRAINTS
    if "Error" not in attempt(lambda: distributions.transform_to(CONSTRAINTS[name][0](constraints)))
]


@pytest.mark.parametrize("name", REACHABLE)
def test_registered_transforms_reach_their_constraint(name):
    constraint = CONSTRAINTS[name][0](constraints)
    transform = distributions.transform_to(constraint)
    x = wisp.randn(5, 3, 3, dtype=wisp.float64)
    if name in ("cat", "stack"):
        x = wisp.randn(*((3, 4) if name == "cat" else (4, 2)), dtype=wisp.float64)
    assert constraint.check(transform(x)).all()
    assert repr(transform.codomain.check(transform(x)).all()) == "tensor(True)"


def test_a_transform_is_registered_for_a_class_or_an_object():
    registry = distributions.constraint_registry.ConstraintRegistry()

    class Even(constraints.Constraint):
        pass

    @registry.register(Even)
    def to_even(constraint):
        return transforms.AffineTransform(0, 2)

    assert registry(Even()) == transforms.AffineTransform(0, 2)
    registry.register(constraints.real, lambda constraint: transforms.identity_transform)
    assert registry(constraints.real) is transforms.identity_transform


def test_inverses_live_as_long_as_they_are_used():
    transform = transforms.ExpTransform()
    inverse = transform.inv
    assert transform.inv is inverse and inverse.inv is transform
    del transform
    assert isinstance(inverse.inv, transforms.ExpTransform)


def test_a_transform_with_a_constructor_of_its_own_says_how_to_cache():
    class Shift(transforms.Transform):
        def __init__(self, by):
            super().__init__()
            self.by = by

    with pytest.raises(NotImplementedError, match="with_cache is not implemented"):
        Shift(1).with_cache()
    assert Shift(1).with_cache(0)


def test_dependent_properties_belong_to_class_and_object():
    support = distributions.Uniform.support
    assert constraints.is_dependent(support) and support.event_dim == 0 and not support.is_discrete
    assert isinstance(distributions.Uniform(0.0, 1.0).support, type(constraints.unit_interval))
    assert constraints.dependent(is_discrete=True, event_dim=2).event_dim == 2


def test_unknown_parameters_and_supports_are_warned_about():
    class Bare(distributions.Distribution):
        pass

    with pytest.warns(UserWarning, match="does not define `arg_constraints`"):
        Bare()
    with pytest.warns(UserWarning, match="does not define `support`"):
        Bare(validate_args=False)._validate_sample(wisp.ones(1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Bare(validate_args=False)


def test_triangles_are_packed_and_unpacked():
    from wisp.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix

    for diag in (-2, -1, 0):
        square = wisp.randn(2, 4, 4).tril(diag)
        assert wisp.equal(vec_to_tril_matrix(tril_matrix_to_vec(square, diag), diag), square)
    with pytest.raises(ValueError, match="outside"):
        tril_matrix_to_vec(wisp.eye(3), 3)
    with pytest.raises(ValueError, match="do not fill a triangle"):
        vec_to_tril_matrix(wisp.ones(4))


def test_dual_numbers_as_programs_make_them():
    import wisp.autograd.forward_ad as fw

    x, t = wisp.tensor([1.0, 2.0]), wisp.tensor([3.0, 4.0])
    assert fw._current_level == -1
    with fw.dual_level() as level:
        assert level == 0 == fw._current_level
        dual = fw.make_dual(x, t, level=level)
        assert fw.unpack_dual(dual, level=level).tangent.equal(t)
        assert str(dual) == "tensor([1., 2.], tangent=tensor([3., 4.]))" and "tangent" not in str(x)
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            fw.make_dual(x.long(), t)
        with pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
            fw.make_dual(x, t.long())
        with pytest.raises(RuntimeError, match="different size"):
            fw.make_dual(x, wisp.ones(3))
        with pytest.raises(RuntimeError, match="has a forward gradient at the same level"):
            fw.make_dual(x, dual)
        with pytest.raises(RuntimeError, match="not the last one"):
            fw.exit_dual_level(level=1)
