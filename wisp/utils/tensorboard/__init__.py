"""Event files for TensorBoard, written without it."""

from wisp.utils.tensorboard._records import RecordWriter
from wisp.utils.tensorboard.writer import FileWriter, SummaryWriter

__all__ = ["FileWriter", "RecordWriter", "SummaryWriter"]
