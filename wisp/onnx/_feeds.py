"""What goes into a model and comes out of it: tensors, arrays, numbers and strings as values of a graph, and back."""

import numpy

import wisp
from wisp.onnx._tensors import element_type, from_array, to_array
from wisp.onnx._values import CARRIERS, DTYPES, Carried, Element, element_of, made


def converted(value, declared, name):
    """A value of the type that a model declares for an input."""
    if declared.HasField("optional_type"):
        return None if value is None else converted(value, declared.optional_type.elem_type, name)
    if declared.HasField("sequence_type"):
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"input {name!r} is a sequence, but {type(value).__name__} was given")
        return [converted(v, declared.sequence_type.elem_type, name) for v in value]
    if not declared.HasField("tensor_type"):
        raise TypeError(f"input {name!r} has a type that is not supported: {declared}")
    tensor = declared.tensor_type
    element = element_type(tensor.elem_type, f"input {name!r}")
    result = _as_element(_as_value(value, element), element, name)
    if tensor.HasField("shape") and len(tensor.shape.dim) != len(result.shape):
        raise ValueError(f"input {name!r} has {len(result.shape)} dimensions instead of {len(tensor.shape.dim)}")
    return result


def _as_value(value, element):
    """A tensor, array or anything that one can be made of, as a value."""
    if isinstance(value, (wisp.Tensor, Carried)):
        return value
    if element == Element.STRING:
        value = numpy.asarray(value, dtype=object)
    if isinstance(value, (numpy.ndarray, numpy.generic)):
        return from_array(numpy.asarray(value))
    dtype = DTYPES.get(element) or CARRIERS[element]
    return wisp.as_tensor(value, dtype=dtype)


def _as_element(value, element, name):
    """A value after a look at its element type. Other widths of floating point are taken as they are."""
    carried = isinstance(value, wisp.Tensor) and element in CARRIERS and element != Element.STRING
    if carried and value.is_floating_point() == CARRIERS[element].is_floating_point:
        return made(value, element)
    found = element_of(value)
    both_floating = element in DTYPES and found in DTYPES and DTYPES[element].is_floating_point
    if found != element and not (both_floating and DTYPES[found].is_floating_point):
        raise TypeError(
            f"input {name!r} has elements of type {element.name.lower()}, but {found.name.lower()} was given"
        )
    return value


def given_back(value):
    """A value for the caller of a module: strings as an array, other types in the tensors that carry them."""
    if isinstance(value, list):
        return [given_back(v) for v in value]
    if isinstance(value, Carried):
        return to_array(value) if value.words is not None else value.data
    return value


def as_arrays(value):
    """A value of a graph as NumPy arrays."""
    if isinstance(value, list):
        return [as_arrays(v) for v in value]
    return value if value is None else to_array(value)


def shown_type(declared):
    """A declared type as text, like "float32[1, 3, height, width]"."""
    if declared.HasField("optional_type"):
        return f"optional {shown_type(declared.optional_type.elem_type)}"
    if declared.HasField("sequence_type"):
        return f"sequence of {shown_type(declared.sequence_type.elem_type)}"
    tensor = declared.tensor_type
    if tensor.elem_type not in list(Element):
        return "of unknown type"
    element = Element(tensor.elem_type)
    name = str(DTYPES[element]).rpartition(".")[2] if element in DTYPES else element.name.lower()
    sizes = [d.dim_param or (str(d.dim_value) if d.HasField("dim_value") else "?") for d in tensor.shape.dim]
    return f"{name}[{', '.join(sizes)}]" if tensor.HasField("shape") else name
