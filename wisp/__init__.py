from wisp import _C
from wisp._C import *
globals().update(_C._functions)
from wisp._C import Tensor
from wisp import autograd
_C._set_library_folder(__path__[0] + "/")
