"""Weights by URL, under the name they had before wisp.hub."""

from wisp.hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
