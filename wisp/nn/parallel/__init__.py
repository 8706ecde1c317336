"""Modules spread over devices. There is one device here: its share is all of the batch."""

from wisp.nn.parallel.data_parallel import DataParallel, data_parallel
from wisp.nn.parallel.scatter_gather import gather, scatter

__all__ = ["DataParallel", "data_parallel", "gather", "scatter"]
