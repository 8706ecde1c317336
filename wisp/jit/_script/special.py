"""isinstance(), and functions that have rules of their own."""

import ast
import string
from collections.abc import Hashable, Iterable, Mapping, Sequence, Sized

from wisp import _C
from wisp.jit._script import annotations
from wisp.jit._script import types as T
from wisp.jit._script.control import FALLS, RAISES, Condition
from wisp.jit._script.values import (
    FALSE,
    NONE,
    TRUE,
    Const,
    ModuleValue,
    Tuple,
)

_ABSTRACT = (Iterable, Sequence, Mapping, Sized)
_CONTAINERS = {list: "list", tuple: "tuple", dict: "dict"}  # whatever their items are


def _shown(cls):
    return cls.__name__ if isinstance(cls, type) else str(cls).replace("typing.", "")


class Special:
    """Questions about types, and functions with handlers."""

    # --- classes of values

    def isinstance_condition(self, node):
        """isinstance(x, T): known now, or asked of an Optional."""
        if len(node.args) != 2 or node.keywords:
            self.fail(f"isinstance expected 2 arguments, got {len(node.args)}", node)
        value = self.expression(node.args[0])
        kinds = (
            self.expression(node.args[1])
            if not self._is_annotation(node.args[1])
            else Const(self.lookup_annotation(node.args[1]))
        )
        wanted = self._classes(kinds, node)
        if self.type_of(value) in (T.ANY, T.NUMBER):
            return self._ask_later(value, wanted, node)
        answers = self._instance_answer(value, wanted)
        if isinstance(answers, bool):
            return Condition(Const(answers))
        inner = answers
        name = node.args[0].id if isinstance(node.args[0], ast.Name) else None
        test = (
            self.builtin("__isnot__", self.materialize(value), NONE)
            if inner
            else self.builtin("__is__", self.materialize(value), NONE)
        )
        known = ({name: "some"}, {name: "none"}) if name else ({}, {})
        return Condition(test, *(known if inner else known[::-1]))

    def _ask_later(self, value, wanted, node):
        """What an Any is, or which number, is known when the program runs."""
        value, found = self.materialize(value), FALSE
        for cls in wanted:
            for word in self._type_words(cls, value, node):
                found = self._either(found, self.builtin("_is_instance", value, Const(word)))
        if not isinstance(node.args[0], ast.Name):
            return Condition(found)
        return Condition(found, *({node.args[0].id: kind} if kind else {} for kind in self._told(value.type, wanted)))

    def check_union(self, param, value, node):
        """Fails at run time if an argument is none of what its Union names: callers from Python may pass anything."""
        if not T.members(param.type):
            return
        found, outer, self.at = FALSE, self.at, node
        for kind in T.members(param.type):
            found = self._either(found, self.builtin("_is_instance", value, Const(str(kind))))
        message = f"{self.frame.name}() Expected a member of {T.shown(param.type)} for argument '{param.name}'"

        def otherwise():
            self.raise_error("RuntimeError", Const(message + " but found another type"))
            return RAISES

        self.join(found, self.branch({}, lambda: FALLS), self.branch({}, otherwise))
        self.at = outer

    def _type_words(self, cls, value, node):
        """The types that a class means, as the program writes them: more than one for a Union."""
        if cls in _CONTAINERS:
            return [_CONTAINERS[cls]]
        kind = self._type_meant(cls)
        if kind is None and isinstance(cls, Hashable) and annotations.without_items(cls):
            self.fail(annotations.without_items(cls), node)
        if kind is None:
            self.fail(f"isinstance() cannot tell whether a value of type {T.shown(value.type)} is a {_shown(cls)}: "
                      "a container needs the types of its items, as in List[int]", node)  # fmt: skip
        return [str(each) for each in T.members(kind) or (kind,)]

    def _type_meant(self, cls):
        try:
            return annotations.from_object(cls, self.program)
        except (TypeError, NameError):
            return None

    def _told(self, found, wanted):
        """What a value is where isinstance() holds, and where it does not; None where that is not known."""
        kind = self._type_meant(wanted[0]) if len(wanted) == 1 else None
        if not T.members(found):
            return kind, None
        fitting = [t for t in T.members(found) if self._type_answer(t, wanted)]
        rest = [t for t in T.members(found) if t not in fitting]
        return (T.one_of(fitting) if fitting else kind), (T.one_of(rest) if rest else None)

    @staticmethod
    def _is_annotation(node):
        return isinstance(node, ast.Subscript)

    def _classes(self, value, node):
        if isinstance(value, Tuple):
            return [c for item in value.items for c in self._classes(item, node)]
        if isinstance(value, Const):
            return (
                [c for item in value.obj for c in self._classes(Const(item), node)]
                if isinstance(value.obj, tuple)
                else [value.obj]
            )
        return self.fail("isinstance() needs classes as its second argument", node)

    def _instance_answer(self, value, wanted):
        """True or False, or "some" / "" if it depends on whether an Optional is None."""
        if isinstance(value, ModuleValue):
            return any(isinstance(c, type) and issubclass(value.spec.python_class, c) for c in wanted)
        if isinstance(value, Const):
            return self.program.python_isinstance(value.obj, tuple(wanted))
        if isinstance(value, Tuple) and not value.name and any(c in (tuple, list) for c in wanted):
            return tuple in wanted
        found = self.type_of(value)
        if found is None:
            return False
        if found.kind == "optional":
            some, none = self._type_answer(found.items[0], wanted), self._type_answer(T.NONE, wanted)
            if some == none:
                return some
            return "some" if some else ""
        return self._type_answer(found, wanted)

    def _type_answer(self, found, wanted):
        plain = {
            "list": (list, tuple) if self.frame.library else (list,),
            "dict": (dict,),
            "tuple": (tuple,),
            "Tensor": (_C.Tensor,),
        }
        for cls in wanted:
            if cls in plain.get(found.kind, ()) or (found.name and found.host is cls):
                return True
            if cls in _ABSTRACT and found.kind in plain and issubclass(plain[found.kind][0], cls):
                return True
            if (
                found.kind == "class"
                and isinstance(cls, type)
                and isinstance(found.host, type)
                and issubclass(found.host, cls)
            ):
                return True
            if isinstance(cls, type) and issubclass(cls, _C.Tensor) and cls is not _C.Tensor:
                continue
            try:
                meant = annotations.from_object(cls, self.program)
                every = T.members(meant) or (meant,)
                if cls is not object and any(T.is_subtype(found, kind) for kind in every):
                    return True
            except (TypeError, NameError):
                continue
        return False

    # --- functions with rules of their own

    def handle_tensor(self, arguments, keywords, node):
        return self.make_tensor(arguments, keywords)

    def handle_as_tensor(self, arguments, keywords, node):
        value = arguments[0] if arguments else keywords.get("data")
        if self.type_of(value) == T.TENSOR:
            rest = {k: v for k, v in keywords.items() if k in ("dtype", "device")}
            rest.update(zip(("dtype", "device"), arguments[1:]))
            return self.on_tensor_to(value, [], rest) if rest else value
        return self.make_tensor(arguments, keywords)

    def handle_grad_enabled(self, arguments, keywords, node):
        return self.builtin("is_grad_enabled")

    def handle_known(self, arguments, keywords, node):
        return Const(self.is_static(arguments[0]))

    def handle_default_dtype(self, arguments, keywords, node):
        return self.builtin("get_default_dtype")

    def handle_promote_types(self, arguments, keywords, node):
        return self.builtin("promote_types", *self._two_of("promote_types", arguments, keywords, T.DTYPE))

    def handle_can_cast(self, arguments, keywords, node):
        return self.builtin("can_cast", *self._two_of("can_cast", arguments, keywords, T.DTYPE))

    def handle_result_type(self, arguments, keywords, node):
        return self.builtin("result_type", *self._two_of("result_type", arguments, keywords, T.TENSOR, T.NUMBER))

    def _two_of(self, name, arguments, keywords, *kinds):
        values = [*arguments, *keywords.values()]
        types = list(map(self.type_of, values))
        if len(values) != 2 or not all(t is not None and any(T.is_subtype(t, k) for k in kinds) for t in types):
            shown = ", ".join(self.type_shown(value) for value in values)
            self.fail(f"Arguments for call are not valid: {name}() cannot be called with ({shown})")
        return values

    def handle_manual_seed(self, arguments, keywords, node):
        (seed,) = [*arguments, *keywords.values()]
        return self.builtin("manual_seed", self.builtin("_default_generator"), seed)

    def handle_generator(self, arguments, keywords, node):
        return self.builtin("_generator")

    def handle_true(self, arguments, keywords, node):
        return TRUE

    def handle_false(self, arguments, keywords, node):
        return FALSE

    def handle_none(self, arguments, keywords, node):
        return NONE

    def handle_warn(self, arguments, keywords, node):
        """warnings.warn(): as a UserWarning, whatever the class, at the line that calls the script."""
        message = arguments[0] if arguments else keywords["message"]
        return self.builtin("warn", self.function_str([message], {}, node))

    def handle_wait(self, arguments, keywords, node):
        return self.wait([*arguments, *keywords.values()][-1])

    def handle_device(self, arguments, keywords, node):
        arguments = [*arguments, *(keywords[name] for name in ("type", "index") if name in keywords)]
        if all(map(self.is_static, arguments)):
            return self.folded(lambda: _C.device(*map(self.static, arguments)))
        return self.convert(arguments[0], T.DEVICE)

    def _with_equation(self, arguments, node):
        """einsum(x, [0, 1], y, [1, 2], [0, 2]) as it is written with letters."""
        places = [*node.args[1::2], *([node.args[-1]] if len(arguments) % 2 else [])]
        try:
            lists = [ast.literal_eval(place) for place in places]
        except ValueError:
            self.unsupported("einsum() with lists that are not written out", "Write it as an equation.", node)
        words = ["".join("..." if n is Ellipsis else string.ascii_letters[n] for n in each) for each in lists]
        sides = [",".join(words[: len(arguments) // 2]), *words[len(arguments) // 2 :]]
        return [Const("->".join(sides)), *arguments[: len(arguments) // 2 * 2 : 2]]

    def handle_einsum(self, arguments, keywords, node):
        found = self.program.tables.overloads("einsum", "function")
        if arguments and self.type_of(arguments[0]) == T.TENSOR:
            arguments = self._with_equation(arguments, node)
        return self.call_operator(found, False, False, arguments, keywords, "einsum")
