"""The demonstration: `python -m wisp.demo` trains a network to read handwritten digits."""
