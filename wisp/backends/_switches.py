"""A with block that sets attributes of a module and puts them back."""


class Flags:
    def __init__(self, module, values):
        self.module, self.values = module, {name: value for name, value in values.items() if value is not None}

    def __enter__(self):
        self.previous = {name: getattr(self.module, name) for name in self.values}
        for name, value in self.values.items():
            setattr(self.module, name, value)

    def __exit__(self, *exc):
        for name, value in self.previous.items():
            setattr(self.module, name, value)
