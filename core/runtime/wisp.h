// wisp for C++ programs: tensors, autograd, nn, optim, data, files, programs that
// Python compiled. What the headers declare in
// wisp::api is what programs know as wisp; the core behind it has names of its own.
#pragma once

#include "runtime/creation.h"
#include "runtime/data.h"
#include "runtime/jit/module.h"
#include "runtime/modes.h"
#include "runtime/nn.h"
#include "runtime/operators.h"
#include "runtime/optim.h"
#include "runtime/serialization/files.h"
#include "runtime/tensor.h"

namespace wisp {
using namespace api;
}
