"""Windows of images, and images from windows."""

from wisp.nn.modules.vision import Fold, Unfold

__all__ = ["Fold", "Unfold"]
