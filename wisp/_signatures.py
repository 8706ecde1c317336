"""inspect.Signature objects for operators."""

from ast import literal_eval
from inspect import Parameter, Signature
from keyword import iskeyword


class _Default:
    """A default that Python's literals cannot spell, shown as it is written in the table."""

    def __init__(self, text):
        self.text = text

    def __repr__(self):
        return self.text


def _value(text):
    try:
        return literal_eval(text)
    except (ValueError, SyntaxError):
        return _Default(text)


def build(params):
    """The signature of parameters given as (name, keyword_only, text of the default or None)."""
    made, optional = [], False
    for name, keyword_only, default in params:
        kind = Parameter.KEYWORD_ONLY if keyword_only else Parameter.POSITIONAL_OR_KEYWORD
        if default is None and optional and not keyword_only:
            kind = Parameter.KEYWORD_ONLY  # required after optional: can only be given by name
        optional = optional or default is not None
        name = name + "_" if iskeyword(name) else name
        made.append(Parameter(name, kind, default=Parameter.empty if default is None else _value(default)))
    return Signature(sorted(made, key=lambda p: p.kind))
