// Programs written for PyTorch's C++ API: torch:: is wisp::.
#pragma once

#include "runtime/wisp.h"

namespace torch = wisp;
#define TORCH_MODULE(Name) WISP_MODULE(Name)
#define TORCH_CHECK(...) WISP_CHECK(__VA_ARGS__)
