"""Errors of the compiler: what is wrong, and the line with the place underlined."""

from wisp.jit._errors import Error


class CompileError(Error):
    """Raised for programs that cannot be compiled. Shows the places that lead to the fault, outermost first."""

    def __init__(self, message, frames=()):
        super().__init__(message)
        self.message, self.frames = message, list(frames)

    def inside(self, frame):
        """The same error, seen from a caller."""
        self.frames.insert(0, frame)
        return self

    def __str__(self):
        return (
            "\n".join([self.message, "", *(frame for frame in self.frames if frame)]) if self.frames else self.message
        )


class FrontendError(CompileError):
    """The construct is not part of the language."""


CompileError.__module__ = FrontendError.__module__ = "wisp.jit"


def describe(source, begin, end, function):
    """A place as frames of errors show it.

    ::

        File "model.py", line 13, in f
          return x + y
                 ~~~~~ <--- HERE
    """
    text = source.text.encode()
    start = text.rfind(b"\n", 0, begin) + 1
    stop = text.find(b"\n", begin)
    stop = len(text) if stop < 0 else stop
    line = text[start:stop].decode()
    number = source.first_line + text.count(b"\n", 0, begin)
    before = text[start:begin].decode(errors="ignore")
    width = max(1, len(text[begin : min(end, stop)].decode(errors="ignore")))
    indent = len(line) - len(line.lstrip())
    marks = " " * (len(before) - indent) + "~" * width + " <--- HERE"
    return f'  File "{source.file}", line {number}, in {function}\n    {line.strip()}\n    {marks}\n'
