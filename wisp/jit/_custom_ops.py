"""Operators that programs define (wisp.library) in graphs: calls of Python by the operator's name."""

import json
import re

from wisp import _ops
from wisp._C import _jit
from wisp.jit._numbers import plain_number

PREFIX = "wisp.ops."
_WRITES = re.compile(r"\([a-z]\d*!?( -> [^)]*)?\)")
_SIZE = re.compile(r"\[\d+\]")
_WORDS = {"SymInt": "int", "ScalarType": "Dtype"}
_WORD = re.compile("|".join(_WORDS))


def host_name(overload):
    """What graphs call an operator, which Python can call by this name from now on."""
    schema = overload._schema
    name = f"{PREFIX}{overload.namespace}.{schema.name}.{overload._overloadname}"
    if name not in _jit.host_functions:

        def call(*values):
            by_place, by_name = schema.split(list(values))
            return overload(*by_place, **by_name)

        _jit.host_functions[name] = call
    return name


def make_known(text):
    """Lets Python find the operators that the text of a program calls, as far as they are defined here."""
    for namespace, name, overload in re.findall(r'prim::HostCall\[name="wisp\.ops\.(\w+)\.(\w+)\.(\w+)"\]', text):
        found = _ops.packets.get(f"{namespace}::{name}")
        if found is not None and overload in found.overloads():
            host_name(getattr(found, overload))


def argument_types(overload):
    """The types of the arguments, as graphs write them."""
    return [_type(argument.type) for argument in overload._schema.arguments]


def result_type(overload):
    """The type of the result, as graphs write it."""
    returns = _plain(overload._schema.returns)
    if not returns.startswith("("):
        return _type(returns)
    parts = [_type(part.split()[0]) for part in returns[1:-1].split(",") if part.strip()]
    return {0: "NoneType", 1: parts[0] if parts else ""}.get(len(parts), f"({', '.join(parts)})")


def _plain(text):
    """A schema's text without what it says of writing."""
    return _WRITES.sub("", text)


def _type(text):
    return _WORD.sub(lambda word: _WORDS[word[0]], _SIZE.sub("[]", _plain(text)))


def overloads_of(obj):
    """The signatures of an operator that a program has defined; None of anything else."""
    if isinstance(obj, _ops.OpOverload):
        return [obj]
    if isinstance(obj, _ops.OpOverloadPacket):
        return list(obj._overloads.values())
    found = getattr(obj, "_opoverload", None)
    return [found] if isinstance(found, _ops.OpOverload) else None


# --- in traces


def exchange_call(call):
    """Sets what calls of operators do; returns what they did."""
    before, _ops._traced_call = _ops._traced_call, call
    return before


def calls_of_custom_ops(recorder, program, run_aside):
    """What stands in for a call of an operator: (operator, values of all its arguments) -> result."""
    names = {}

    def call(overload, values):
        if _jit.current_recorder() is None:
            return overload._call(values)
        given = [recorder.value(value) for value in values]
        result = run_aside(recorder, overload._call, [list(map(plain_number, values))])
        if overload not in names:
            names[overload] = program.link(_function(overload))
        return recorder.call_function(names[overload], given, result)

    return call


def _function(overload):
    """A function of a new program that calls an operator."""
    name, key = overload._schema.name, json.dumps(host_name(overload))
    names = [f"%x{i}" for i in range(len(overload._schema.arguments))]
    params = ", ".join(f"{x} : {kind}" for x, kind in zip(names, argument_types(overload), strict=True))
    made, inputs = _jit.Program(), ", ".join(names)
    made.parse(
        f"program 1\nfunction {name} {{\n  graph({params}):\n    %result : {result_type(overload)} = "
        f"prim::HostCall[name={key}]({inputs})\n    return (%result)\n}}\n"
    )
    return made.function(name)
