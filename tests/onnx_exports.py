"""Exporting models in tests, and running what was written. Importing this needs the package onnx."""

import contextlib
from functools import lru_cache

import numpy as np
import onnx

import wisp
from tests.ops.sampling import flatten, to_numpy

with contextlib.suppress(ImportError):
    import onnxruntime


@lru_cache
def has_runtime(opset=13):
    """Whether onnxruntime is there and knows a version of the operators."""
    if "onnxruntime" not in globals():
        return False
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, []) for name in "xy")
    graph = onnx.helper.make_graph([onnx.helper.make_node("Identity", ["x"], ["y"])], "identity", [x], [y])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)], ir_version=8)
    try:
        return bool(run_in_runtime(model, {"x": np.array(1, np.float32)}))
    except onnxruntime.capi.onnxruntime_pybind11_state.Fail:
        return False


def tensors_in(value):
    if isinstance(value, wisp.Tensor):
        return [value]
    if isinstance(value, dict):
        return [t for item in value.values() for t in tensors_in(item)]
    return [t for item in value for t in tensors_in(item)] if isinstance(value, (list, tuple)) else []


def _leaves(value):
    """Tensors and numbers."""
    if isinstance(value, dict):
        return [leaf for item in value.values() for leaf in _leaves(item)]
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [] if value is None else [value]


def arrays(model, tensors):
    """Inputs of a model by name."""
    return {i.name: to_numpy(t) for i, t in zip(model.graph.input, tensors, strict=True)}


def run_in_runtime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def assert_same(got, want, tolerance, who):
    assert len(got) == len(want), f"{who}: {len(got)} results, want {len(want)}"
    for one, other in zip(got, want, strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert one.shape == other.shape, f"{who}: shape {one.shape}, want {other.shape}"
        assert one.dtype == other.dtype, f"{who}: {one.dtype}, want {other.dtype}"
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance, equal_nan=True, err_msg=who)


def results(function, args, kwargs=None):
    with wisp.no_grad():
        return [to_numpy(t) for t in _leaves(function(*args, **(kwargs or {})))]


def check(exported, written, args, kwargs=None, tolerance=2e-5):
    """What was exported passes the checker and computes the same in onnxruntime, if that is there, and in wisp."""
    onnx.checker.check_model(exported, full_check=True)
    assert exported.producer_name == "wisp"
    want = results(written, args, kwargs)
    feeds = arrays(exported, tensors_in([*args, *(kwargs or {}).values()]))
    loaded = wisp.onnx.load(exported)
    with wisp.no_grad():
        got = loaded(**{name: wisp.tensor(array) for name, array in feeds.items()})
    assert_same([to_numpy(t) for t in flatten(got)], want, tolerance, "wisp.onnx.load")
    if has_runtime(exported.opset_import[0].version):
        assert_same(run_in_runtime(exported, feeds), want, tolerance, "onnxruntime")


def with_tensors(value, tensors):
    """A structure with its tensors replaced by others, in order."""
    if isinstance(value, wisp.Tensor):
        return next(tensors)
    if isinstance(value, dict):
        return {key: with_tensors(item, tensors) for key, item in value.items()}
    return type(value)(with_tensors(item, tensors) for item in value) if isinstance(value, (list, tuple)) else value


def size_names(exported):
    """The names of sizes, of each input."""
    return [[dim.dim_param for dim in info.type.tensor_type.shape.dim] for info in exported.graph.input]


def _resized(exported, tensors, new_size):
    """Tensors whose sizes with a name are others, with the same contents, repeated or cut off."""
    for tensor, names in zip(tensors, size_names(exported), strict=True):
        for dim, name in enumerate(names):
            size = tensor.size(dim)
            tensor = tensor.index_select(dim, wisp.arange(new_size(size)) % max(size, 1)) if name else tensor
        yield tensor


def _drawn(tensors):
    """Tensors of the same sizes with other contents: in a matrix with equal rows, little is determined."""
    generator = wisp.Generator().manual_seed(0)
    for tensor in tensors:
        yield wisp.randn(tensor.shape, generator=generator).to(tensor.dtype) if tensor.is_floating_point() else tensor


_NEW_SIZES = [lambda n: n + 1, lambda n: 2 * n, lambda n: 3, lambda n: 2]


def check_other_sizes(exported, written, args, kwargs=None, tolerance=2e-5, most=2, drawn=False):
    """Where sizes have names, checks what was exported with others that the model takes; gives their number.

    Contents are repeated or cut off, or, if drawn, random numbers.
    """
    count = 0
    for new_size in _NEW_SIZES if any(map(any, size_names(exported))) else ():
        tensors = _resized(exported, tensors_in([args, kwargs or {}]), new_size)
        more = with_tensors([tuple(args), kwargs or {}], _drawn(tensors) if drawn else tensors)
        if _runs(written, *more):
            check(exported, written, *more, tolerance)
            count += 1
        if count == most:
            break
    return count


def _runs(written, args, kwargs):
    try:
        results(written, args, kwargs)
    except Exception:  # whatever a model says to sizes that it does not like
        return False
    return True


def export_and_check(model, *args, tolerance=2e-5, others=(), kwargs=None, **options):
    """Exports a model in evaluation mode and checks it, also on arguments of other sizes."""
    if isinstance(model, wisp.nn.Module):
        model.eval()
    exported = wisp.onnx.export(model, args, kwargs=kwargs or {}, **options)
    check(exported, model, args, kwargs, tolerance)
    for more in others:
        check(exported, model, more, None, tolerance)
    if "dynamic_axes" not in options and "dynamic_shapes" not in options:
        assert not any(map(any, size_names(exported))) or check_other_sizes(exported, model, args, kwargs, tolerance)
    return exported
