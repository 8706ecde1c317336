"""Forward hooks of modules: compiled into the calls of the module they are on."""

import inspect

from wisp.jit._script import types as T
from wisp.jit._script.values import NONE, Tuple

_OF_OTHER_FORMS = ("_forward_pre_hooks_with_kwargs", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")


def hooks_of(module):
    """(kind, function) of the hooks of a module that its calls run."""
    own = vars(module)
    return tuple(
        (kind, hook) for kind in ("_forward_pre_hooks", "_forward_hooks") for hook in own.get(kind, {}).values()
    )


class HookCalls:
    """Calls of modules that have hooks."""

    def call_with_hooks(self, owner, arguments, keywords, node):
        """forward() with the hooks around it, which see the arguments that are given by position, as in Python."""
        self._refuse_other_forms(owner, node)
        for hook in self._hooks("_forward_pre_hooks", owner, node):
            replaced = self.call_inline(hook, [owner, Tuple(arguments)], {}, None, node)
            arguments = self._replaced_arguments(replaced, arguments, hook, node)
        result = self.call_forward(owner, arguments, keywords, node)
        for hook in self._hooks("_forward_hooks", owner, node):
            replaced = self.call_inline(hook, [owner, Tuple(arguments), result], {}, None, node)
            self._refuse_optional(replaced, hook, node)
            result = result if self._is_none(replaced) else replaced
        return result

    def _refuse_other_forms(self, owner, node):
        if any(vars(owner.spec.module).get(kind) for kind in _OF_OTHER_FORMS):
            name = owner.spec.python_class.__name__
            self.fail(f"'{name}' has forward hooks with keyword arguments or with always_call, which cannot be compiled: "
                      "remove them before", node)  # fmt: skip

    def _hooks(self, kind, owner, node):
        for found, hook in owner.spec.hooks:
            if found == kind:
                if not inspect.isfunction(hook):
                    self.fail(f"the hook {hook!r} cannot be compiled: only functions can", node)
                yield hook

    def _replaced_arguments(self, replaced, arguments, hook, node):
        self._refuse_optional(replaced, hook, node)
        if self._is_none(replaced):
            return arguments
        found = self.type_of(replaced)
        if isinstance(replaced, Tuple) or (found is not None and found.kind == "tuple"):
            return self.items_of(replaced, None, node)
        return [replaced]

    def _is_none(self, value):
        return value is NONE or self.type_of(value) == T.NONE

    def _refuse_optional(self, replaced, hook, node):
        found = self.type_of(replaced)
        if found is not None and found.kind == "optional":
            self.fail(f"the hook {hook.__name__}() returns None in some cases and something in others: return what it was "
                      "given where nothing changes", node)  # fmt: skip
