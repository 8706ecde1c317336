"""torch._dynamo.exc"""


class TorchDynamoException(RuntimeError):
    """What PyTorch's compiler raises."""


class Unsupported(TorchDynamoException):
    """Something that would end a graph which has to be whole."""


class InvalidBackend(TorchDynamoException):
    """A name that no backend has."""

    def __init__(self, name):
        super().__init__(f"Invalid backend: {name!r}, see `torch._dynamo.list_backends()` for available backends.")


class UserError(Unsupported):
    """Raised by PyTorch alone, as are those that follow."""


class InternalTorchDynamoError(TorchDynamoException):
    """Of the compiler itself."""


class BackendCompilerFailed(TorchDynamoException):
    """Of a backend."""


class TorchRuntimeError(TorchDynamoException):
    """Of a call, found while a graph is made."""


class RecompileError(TorchDynamoException):
    """Too many graphs of one function."""


class FailOnRecompileLimitHit(RecompileError):
    """The same, where a setting asks for an error."""
