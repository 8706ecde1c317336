"""Which wisp this is."""

__version__ = "0.1.0"
cuda = None
hip = None
debug = False
