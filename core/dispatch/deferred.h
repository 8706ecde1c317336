// What others may want to know of kernels that were put off.
#pragma once

#include "tensor/tensor.h"

namespace wisp {

// How many references to a pending storage belong to kernels that were put off, which nobody can
// see; null if nothing is ever put off.
extern int64_t (*held_by_deferred)(const Storage& storage);

}  // namespace wisp
