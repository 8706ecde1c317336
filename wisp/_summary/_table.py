"""A summary as text."""


def table(summary, depth=None):
    """The lines of the table, then the totals."""
    shown = [layer for layer in summary.layers if depth is None or layer.depth <= depth]
    rows = [("Layer", "Output shape", "Parameters", "Multiply-adds")]
    rows += [
        (tree + _title(layer), _shape(layer), _count(layer), f"{layer.multiply_adds:,}")
        for layer, tree in _trees(shown)
    ]
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    lines = [f"{a:<{widths[0]}}  {b:<{widths[1]}}  {c:>{widths[2]}}  {d:>{widths[3]}}" for a, b, c, d in rows]
    rule = "-" * max(map(len, lines))
    return "\n".join([lines[0], rule, *lines[1:], rule, *_totals(summary)])


def _title(layer):
    return layer.kind if layer.parent is None else f"{layer.name}: {layer.kind}"


def _shape(layer):
    if not layer.calls:
        return "not called"
    text = ", ".join(str(list(shape)) for shape in layer.output_shapes[:1]) or "no tensor"
    text += ", ..." if len(layer.output_shapes) > 1 else ""
    return text + (f" ({layer.calls} calls)" if layer.calls > 1 else "")


def _count(layer):
    return "shared" if layer.is_shared else f"{layer.parameters:,}"


def _trees(layers):
    """Pairs of a layer and the lines before it. A vertical line is drawn where more of the same parent follow."""
    follows, pairs = set(), []  # depths at which another layer follows
    for layer in reversed(layers):
        follows = {d for d in follows if d <= layer.depth}
        before = "".join("│  " if d in follows else "   " for d in range(1, layer.depth))
        branch = "" if layer.depth == 0 else "├─ " if layer.depth in follows else "└─ "
        pairs.append((layer, before + branch))
        follows.add(layer.depth)
    return reversed(pairs)


def _totals(summary):
    trained = summary.trainable_parameters
    what = "all of them" if trained == summary.parameters else f"{trained:,} of them"
    parts = {
        "parameters": summary.parameter_bytes,
        "buffers": summary.buffer_bytes,
        "input": summary.input_bytes,
        "activations": summary.activation_bytes,
    }
    sizes = ", ".join(f"{size(number)} of {name}" for name, number in parts.items() if number)
    yield f"Parameters: {summary.parameters:,}, {what} trainable"
    yield f"Multiply-adds: {summary.multiply_adds:,}"
    yield f"Memory: {sizes + ', ' if sizes else ''}{size(summary.total_bytes)} in all"


def size(number):
    """A number of bytes as people read it."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            return f"{number} B" if unit == "B" else f"{number:.2f} {unit}"
        number /= 1024
    return None
