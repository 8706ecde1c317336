#include "cpu/pad.h"

#include <algorithm>

#include "base/parallel.h"
#include "cpu/grain.h"

namespace wisp::cpu {

namespace {

// Everything but the last dimension: which input row an output row comes from.
class Rows {
 public:
  explicit Rows(const PadCall& call) : call_(call), lead_(call.in.size() - 1) {
    for (size_t d = 0; d < lead_; ++d) {
      in_ *= call.in[d];
      out_ *= static_cast<int64_t>(call.at[d].size());
    }
  }
  int64_t in() const { return in_; }
  int64_t out() const { return out_; }
  int64_t source(int64_t row) const {
    int64_t source = 0, step = 1;
    for (size_t d = lead_; d-- > 0;) {
      const auto size = static_cast<int64_t>(call_.at[d].size());
      source += call_.at[d][static_cast<size_t>(row % size)] * step;
      row /= size;
      step *= call_.in[d];
    }
    return source;
  }

 private:
  const PadCall& call_;
  size_t lead_;
  int64_t in_ = 1, out_ = 1;
};

int64_t grain_for(int64_t elements) { return std::max<int64_t>(1, (1 << 15) / (elements + 1)); }

// Where an image of the result, its last two dimensions, has its part of the input.
class PaddedImages {
 public:
  explicit PaddedImages(const ConstantPad& call) : call_(call), lead_(call.sizes.size()) {
    lead_ -= std::min<size_t>(lead_, 2);
  }
  // The first row of the part; null where the image lies outside of it.
  const char* source(int64_t image) const {
    int64_t from = 0;
    for (size_t d = lead_; d-- > 0; image /= call_.sizes[d]) {
      const int64_t place = image % call_.sizes[d] - call_.at[d];
      if (place < 0 || place >= call_.part[d]) return nullptr;
      from += place * call_.in.strides[d];
    }
    return call_.in.data + from * static_cast<int64_t>(item_size(call_.in.dtype));
  }

 private:
  const ConstantPad& call_;
  size_t lead_;
};

// Rows [begin, end) of an image; `source` is its part of the input, or null.
template <class T>
void write_rows(const ConstantPad& call, T value, T* out, const T* source, int64_t begin,
                int64_t end) {
  const size_t last = call.sizes.size() - 1;
  const int64_t length = call.sizes[last], front = call.at[last], part = call.part[last];
  const int64_t first = last ? call.at[last - 1] : 0, rows = last ? call.part[last - 1] : 1;
  const int64_t step = last ? call.in.strides[last - 1] : 0, back = length - front - part;
  const int64_t top = source ? std::clamp(first, begin, end) : end;
  const int64_t bottom = source ? std::clamp(first + rows, top, end) : end;
  std::fill(out + begin * length, out + top * length, value);
  for (int64_t row = top; row < bottom; ++row) {
    T* to = out + row * length;
    for (int64_t i = 0; i < front; ++i) to[i] = value;
    std::memcpy(to + front, source + (row - first) * step, static_cast<size_t>(part) * sizeof(T));
    for (int64_t i = 0; i < back; ++i) to[front + part + i] = value;
  }
  std::fill(out + bottom * length, out + end * length, value);
}

}  // namespace

void pad_constant(const ConstantPad& call) {
  const size_t dims = call.sizes.size();
  const int64_t length = call.sizes[dims - 1], height = dims > 1 ? call.sizes[dims - 2] : 1;
  int64_t rows = height;
  for (size_t d = 0; d + 2 < dims; ++d) rows *= call.sizes[d];
  const PaddedImages images(call);
  by_item_size(item_size(call.in.dtype), [&]<class T>() {
    T value;
    std::memcpy(&value, call.value, sizeof(T));
    T* out = reinterpret_cast<T*>(call.out);
    parallel_for(rows, even_grain(rows, grain_for(length), 1), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end;) {
        const int64_t image = row / height, start = image * height;
        const int64_t stop = std::min(end, start + height);
        write_rows(call, value, out + start * length,
                   reinterpret_cast<const T*>(images.source(image)), row - start, stop - start);
        row = stop;
      }
    });
  });
}

namespace {

template <class T>
void write_row(const PaddedRow& row, const T* from, T* to) {
  for (int64_t source : row.front) *to++ = from[source];
  std::copy_n(from + row.first, row.count, to);
  to += row.count;
  for (int64_t source : row.back) *to++ = from[source];
}

// Adds a row to its sources.
template <class T>
void add_row(const PaddedRow& row, const T* from, T* to) {
  auto add = [&](int64_t source) { to[source] = to[source] + *from++; };
  for (int64_t source : row.front) add(source);
  for (int64_t i = 0; i < row.count; ++i) to[row.first + i] = to[row.first + i] + from[i];
  from += row.count;
  for (int64_t source : row.back) add(source);
}

}  // namespace

void pad(const PadCall& call) {
  const Rows rows(call);
  const int64_t width = call.in.back(), length = call.row.length();
  visit<dtypes::all>(call.dtype, "pad", [&]<class T>() {
    const int64_t lines = call.planes * rows.out();
    parallel_for(lines, even_grain(lines, grain_for(length), 1), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t source = r / rows.out() * rows.in() + rows.source(r % rows.out());
        write_row(call.row, reinterpret_cast<const T*>(call.from) + source * width,
                  reinterpret_cast<T*>(call.to) + r * length);
      }
    });
  });
}

// A plane belongs to one thread: what is added to one element is added in order.
void pad_grad(const PadCall& call) {
  const Rows rows(call);
  const int64_t width = call.in.back(), length = call.row.length();
  visit<dtypes::math>(call.dtype, "pad", [&]<class T>() {
    const int64_t plane = rows.in() * width;
    parallel_for(
        call.planes, even_grain(call.planes, grain_for(plane), 1), [&](int64_t begin, int64_t end) {
          for (int64_t p = begin; p < end; ++p) {
            T* image = reinterpret_cast<T*>(call.to) + p * plane;
            std::fill(image, image + plane, T(0));
            for (int64_t r = 0; r < rows.out(); ++r) {
              const T* from = reinterpret_cast<const T*>(call.from) + (p * rows.out() + r) * length;
              add_row(call.row, from, image + rows.source(r) * width);
            }
          }
        });
  });
}

}  // namespace wisp::cpu
