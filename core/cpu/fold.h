// Patches of images as columns of a matrix, and back.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// One dimension of the image: where patches are.
struct PatchDim {
  int64_t in, kernel, dilation, padding, stride;
  int64_t count;  // of patches
};

// Images (planes, height, width) and columns (planes, kernel height, kernel width, patches down,
// patches across), both consecutive, of `dtype`.
struct PatchShape {
  DType dtype;
  int64_t planes;
  PatchDim dims[2];
};
// Elements outside the image are zero.
void images_to_columns(const PatchShape& shape, const char* images, char* columns);
// Elements of several patches are added up; float32, float64 or complex.
void columns_to_images(const PatchShape& shape, const char* columns, char* images);

}  // namespace wisp::cpu
