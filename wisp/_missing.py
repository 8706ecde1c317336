"""The error of a name that a module does not have."""

from sys import modules


class MissingName(AttributeError):
    """An AttributeError that says which names are like the one asked for.

    They are looked for only when the message is read: programs often try whether a name is there.
    """

    def __init__(self, module, name):
        super().__init__(f"module '{module}' has no attribute '{name}'")
        self.module, self.missing = module, name

    def __str__(self):
        from difflib import get_close_matches

        names = [name for name in dir(modules[self.module]) if name[0] != "_"]
        near = get_close_matches(self.missing, names, n=1, cutoff=0.75)
        text = self.args[0] + (f". Did you mean: '{near[0]}'?" if near else "")
        if modules.get("torch") is not modules["wisp"]:
            return text
        from wisp.version import STANDS_IN

        return f"{text} ({STANDS_IN})"

    def __reduce__(self):
        return type(self), (self.module, self.missing)
