// Structures of tensors as a flat list of nodes in JSON, the form that
// wisp/serialization/_encode.py describes.
#pragma once

#include "runtime/internal/container.h"
#include "runtime/serialization/value.h"

namespace wisp::api {

struct Encoded {
  Json structure;
  std::vector<std::pair<std::string, Tensor>> blobs;  // to be written, under their names
};
Encoded encode(const Value& value);
Value decode(const Json& structure, const Container& file);

DType dtype_named(const std::string& text);
// A tensor on the memory of a tensor of bytes; fails unless it stays inside. Without strides it is
// contiguous.
Tensor tensor_on(const Tensor& bytes, DType dtype, const std::vector<int64_t>& sizes,
                 const std::optional<std::vector<int64_t>>& strides = {}, int64_t offset = 0);

}  // namespace wisp::api
