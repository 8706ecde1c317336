from wisp import _C
globals().update(_C._functional)
