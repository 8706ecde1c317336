// NumPy's files of one array (.npy).
#pragma once

#include <string>

#include "runtime/wisp.h"

namespace wisp::tool {

// A damaged file is an Error.
api::Tensor read_npy(const std::string& path);
// bfloat16, which NumPy lacks, is written as float32.
void write_npy(const std::string& path, const api::Tensor& tensor);

}  // namespace wisp::tool
