"""`import torch` in a process started by one in which wisp stands in for torch: makes it do so here too."""

import wisp.as_torch  # noqa: F401  (puts wisp into sys.modules in place of this module)
