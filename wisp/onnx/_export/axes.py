"""Which sizes of inputs and outputs may differ from call to call, and what they are called."""

import wisp


def from_axes(dynamic_axes):
    """{name of an input or output: {dimension: name}} of what the user wrote: lists get names of their own."""
    found = {}
    for name, dims in (dynamic_axes or {}).items():
        if isinstance(dims, dict):
            found[name] = {int(dim): str(label) for dim, label in dims.items()}
        else:
            found[name] = {int(dim): f"{name}_dynamic_axes_{i + 1}" for i, dim in enumerate(dims)}
    return found


def from_shapes(dynamic_shapes, arguments):
    """The same of shapes given per argument, in order or by name."""
    if dynamic_shapes is None:
        return {}
    if not isinstance(dynamic_shapes, dict):
        dynamic_shapes = dict(zip(arguments, dynamic_shapes))
    unknown = set(dynamic_shapes) - set(arguments)
    if unknown:
        raise ValueError(f"dynamic_shapes names {sorted(unknown)}, but the arguments are {list(arguments)}")
    found = {}
    for name, shape in dynamic_shapes.items():
        for path, dims in _shaped(name, arguments[name], shape):
            found[path] = dims
    return found


def _shaped(name, value, shape):
    if isinstance(value, wisp.Tensor):
        items = shape.items() if isinstance(shape, dict) else enumerate(shape or ())
        return [(name, {int(dim): _label(name, dim, label) for dim, label in items if _is_open(label)})]
    if shape is None:
        return []
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    return [found for key, item in pairs for found in _shaped(f"{name}.{key}", item, shape[key])]


def _is_open(label):
    return label is not None and not isinstance(label, int)


def _label(name, dim, label):
    """A string, an object with a name, or a mark that leaves the name to us."""
    if isinstance(label, str):
        return label
    own = getattr(label, "__name__", None)
    return own if isinstance(own, str) else f"{name}_dim_{dim}"


def checked(axes, inputs):
    """Dimensions counted from the front; an error if there is no such dimension."""
    found = {}
    for name, dims in axes.items():
        value = inputs.get(name)
        if value is None:
            found[name] = dims
            continue
        rank = value.dim()
        if any(not -rank <= dim < rank for dim in dims):
            raise ValueError(f"dynamic_axes: {name!r} has {rank} dimensions, not {sorted(dims)}")
        found[name] = {dim % rank: label for dim, label in dims.items()}
    return found
