"""A with block, or a decorator, that sets attributes of a module and puts them back."""

from contextlib import ContextDecorator


class Flags(ContextDecorator):
    def __init__(self, module, values):
        self.module, self.values = module, {name: value for name, value in values.items() if value is not None}

    def _recreate_cm(self):
        return Flags(self.module, self.values)  # a decorated function may call itself

    def __enter__(self):
        self.previous = {name: getattr(self.module, name) for name in self.values}
        for name, value in self.values.items():
            setattr(self.module, name, value)

    def __exit__(self, *exc):
        for name, value in self.previous.items():
            setattr(self.module, name, value)
