"""What may go wrong while a model is exported."""


class OnnxExporterError(RuntimeError):
    """A model cannot be exported."""


class UnsupportedOperatorError(OnnxExporterError):
    """A model uses operators that have no form in ONNX. ``operators`` is a list of (name, reason, places)."""

    def __init__(self, problems):
        self.operators = _grouped(problems)
        lines = [_line(*operator) for operator in self.operators]
        super().__init__("the model cannot be exported to ONNX, nothing was written:\n" + "\n".join(lines))


class CheckerError(OnnxExporterError):
    """The exported model does not pass the checker of the package onnx."""


def _grouped(problems):
    places = {}
    for name, reason, place in problems:
        found = places.setdefault((name, reason), [])
        if place not in found:
            found.append(place)
    return [(name, reason, found) for (name, reason), found in places.items()]


def _line(name, reason, places):
    shown = ", ".join(str(place) for place in places if place) or "an unknown place"
    return f"  {name}: {reason} (at {shown})"
