#include "cpu/fold.h"

#include <algorithm>

#include "base/parallel.h"

namespace wisp::cpu {

namespace {

// Runs f(image row, column row, first, last, shift) for the part [first, last) of every row of
// patches that lies inside the image, or with no part if the row does not.
template <class F>
void for_each_row(const PatchShape& shape, F f) {
  const PatchDim &down = shape.dims[0], &across = shape.dims[1];
  int64_t row = 0;
  for (int64_t ky = 0; ky < down.kernel; ++ky) {
    for (int64_t kx = 0; kx < across.kernel; ++kx) {
      const int64_t shift = kx * across.dilation - across.padding;
      const int64_t first =
          std::min(across.count, shift < 0 ? (-shift + across.stride - 1) / across.stride : 0);
      const int64_t end = across.in - shift;
      const int64_t last =
          std::clamp((end + across.stride - 1) / across.stride, first, across.count);
      for (int64_t y = 0; y < down.count; ++y, ++row) {
        const int64_t from = y * down.stride + ky * down.dilation - down.padding;
        const bool inside = from >= 0 && from < down.in && end > 0;
        f(inside ? from : -1, row, first, last, shift);
      }
    }
  }
}

int64_t rows_of(const PatchShape& shape) {
  return shape.dims[0].kernel * shape.dims[1].kernel * shape.dims[0].count;
}

int64_t grain_for(const PatchShape& shape) {
  return std::max<int64_t>(1, (1 << 14) / (rows_of(shape) * shape.dims[1].count + 1));
}

}  // namespace

void images_to_columns(const PatchShape& shape, const char* images, char* columns) {
  const PatchDim& across = shape.dims[1];
  visit<dtypes::all>(shape.dtype, "unfold", [&]<class T>() {
    parallel_for(shape.planes, grain_for(shape), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        const T* image = reinterpret_cast<const T*>(images) + plane * shape.dims[0].in * across.in;
        T* column = reinterpret_cast<T*>(columns) + plane * rows_of(shape) * across.count;
        for_each_row(shape,
                     [&](int64_t y, int64_t row, int64_t first, int64_t last, int64_t shift) {
                       T* to = column + row * across.count;
                       if (y < 0) return static_cast<void>(std::fill(to, to + across.count, T(0)));
                       const T* from = image + y * across.in + shift;
                       std::fill(to, to + first, T(0));
                       for (int64_t x = first; x < last; ++x) to[x] = from[x * across.stride];
                       std::fill(to + last, to + across.count, T(0));
                     });
      }
    });
  });
}

void columns_to_images(const PatchShape& shape, const char* columns, char* images) {
  const PatchDim& across = shape.dims[1];
  const int64_t size = shape.dims[0].in * across.in;
  visit<dtypes::math>(shape.dtype, "fold", [&]<class T>() {
    parallel_for(shape.planes, grain_for(shape), [&](int64_t begin, int64_t end) {
      for (int64_t plane = begin; plane < end; ++plane) {
        T* image = reinterpret_cast<T*>(images) + plane * size;
        const T* column =
            reinterpret_cast<const T*>(columns) + plane * rows_of(shape) * across.count;
        std::fill(image, image + size, T(0));
        for_each_row(shape,
                     [&](int64_t y, int64_t row, int64_t first, int64_t last, int64_t shift) {
                       if (y < 0) return;
                       T* to = image + y * across.in + shift;
                       const T* from = column + row * across.count;
                       for (int64_t x = first; x < last; ++x)
                         to[x * across.stride] = to[x * across.stride] + from[x];
                     });
      }
    });
  });
}

}  // namespace wisp::cpu
