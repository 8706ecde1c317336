"""A tree of modules as classes and objects of a program: what traces read their parameters from."""

from wisp.jit._module import ScriptModule
from wisp.jit._names import fresh_class


class Tree:
    """Classes of a program for a module and all below it, and their objects, which share the tensors.

    Attributes:
        root: the object of the outermost module.
        name: of its class, without ``__wisp__.``.
        classes: {module: name of its class}.
        paths: {module: names that lead to it}, without the outermost one.
        tensors: [(tensor, names that lead to it)] of all parameters and buffers.
        compiled: modules that were compiled before, which keep their methods.
    """

    def __init__(self, program, module):
        self.program, self.objects = program, {}
        self.classes, self.paths, self.tensors, self.compiled = {}, {}, [], set()
        self._link_compiled(module)
        self._name_all(module, (), set(program.classes()))
        own = [each for each in self.classes if each not in self.compiled]
        program.parse("program 1\n" + "".join(self._class(each) for each in own))
        self.root = self._object(module)
        self.name = self.classes[module].removeprefix("__wisp__.")

    def _link_compiled(self, module):
        for child in module._modules.values():
            if isinstance(child, ScriptModule):
                if child not in self.compiled:
                    self.compiled.add(child)
                    self.objects[child] = self.program.link(child._c)
            elif child is not None:
                self._link_compiled(child)

    def _name_all(self, module, path, taken):
        if module in self.classes:
            return
        if path:
            self.paths[module] = path
        linked = self.objects.get(module)
        self.classes[module] = fresh_class(type(module), taken) if linked is None else linked.class_name
        self.tensors += [(tensor, (*path, name)) for name, tensor in _tensors(module) if tensor is not None]
        for name, child in module._modules.items() if module not in self.compiled else ():
            if child is not None:
                self._name_all(child, (*path, name), taken)

    def _class(self, module):
        lines = []
        for name, tensor in module._parameters.items():
            lines.append(f"parameter {name} : {'Tensor?' if tensor is None else 'Tensor'}")
        for name, tensor in module._buffers.items():
            role = "temporary_buffer" if name in module._non_persistent_buffers_set else "buffer"
            lines.append(f"{role} {name} : {'Tensor?' if tensor is None else 'Tensor'}")
        lines.append("plain training : bool")
        for name, child in module._modules.items():
            if child is not None:
                lines.append(f"plain {name} : {self.classes[child]}")
        body = "".join(f"  {line}\n" for line in lines)
        return f"class {self.classes[module]} module {{\n{body}}}\n"

    def _object(self, module):
        if module not in self.objects:
            made = self.objects[module] = self.program.create(self.classes[module])
            made.set("training", module.training)
            for name, tensor in _tensors(module):
                made.set(name, tensor)
            for name, child in module._modules.items():
                if child is not None:
                    made.set(name, self._object(child))
        return self.objects[module]


def _tensors(module):
    return (*module._parameters.items(), *module._buffers.items())
