"""Channels of groups mixed."""

from wisp.nn.modules.vision import ChannelShuffle

__all__ = ["ChannelShuffle"]
