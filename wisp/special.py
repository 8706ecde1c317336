from wisp import _C
globals().update(getattr(_C, "_special", {}))
