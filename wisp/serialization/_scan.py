"""Going through a file for the names in it, without making what they name."""

from wisp.serialization._format import document_of


class _Anything(dict):
    """Stands for whatever a file would make."""

    __hash__ = object.__hash__

    def extend(self, items):
        pass


class Everything:
    """A judge that allows all names, having asked the real one about them, and makes nothing of them."""

    def __init__(self, trust):
        self.trust = trust

    def find(self, module, name):
        self.trust.find(module, name)
        return _Anything()

    def may_call(self, function):
        return False

    def call(self, function, args, kwargs=()):
        return _Anything()

    def new(self, cls, args, kwargs):
        return _Anything()

    def set_state(self, made, state):
        pass


def document(reader, trust):
    """Asks a judge about all names in a file of ours."""
    found = document_of(reader)
    if isinstance(found, dict):
        _visit(found.get("nodes"), trust)


def _visit(value, trust):
    if isinstance(value, dict):
        _ask(value, trust)
        value = value.values()
    elif not isinstance(value, list):
        return
    for item in value:
        _visit(item, trust)


def _ask(node, trust):
    for key in ("object", "call", "enum", "class", "global"):
        name = node.get(key)
        is_name = isinstance(name, list) and len(name) == 2 and all(isinstance(part, str) for part in name)
        if is_name and not (key == "class" and "namedtuple" in node):  # of a named tuple only the fields are taken
            trust.find(*name)
