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

// The output elements whose sources lie one after the other: most of a row.
struct Run {
  explicit Run(const std::vector<int64_t>& at) {
    for (size_t i = 0, start = 0; i < at.size(); ++i) {
      if (i > 0 && at[i] != at[i - 1] + 1) start = i;
      if (i + 1 - start > end - begin) begin = start, end = i + 1;
    }
  }
  size_t begin = 0, end = 0;
};

int64_t grain_for(int64_t elements) { return std::max<int64_t>(1, (1 << 15) / (elements + 1)); }

// A row of the result; `source` is null where it lies outside of the part.
template <class T>
void write_row(const ConstantPad& call, T value, T* to, const char* source) {
  const int64_t length = call.sizes.back();
  if (!source) {
    std::fill_n(to, length, value);
    return;
  }
  const int64_t front = call.at.back(), part = call.part.back();
  std::fill_n(to, front, value);
  std::memcpy(to + front, source, static_cast<size_t>(part) * sizeof(T));
  std::fill_n(to + front + part, length - front - part, value);
}

// The rows of the result one after the other, and where the input has them.
class PaddedRows {
 public:
  PaddedRows(const ConstantPad& call, int64_t row)
      : call_(call), place_(call.sizes.size() - 1, 0), item_(item_size(call.in.dtype)) {
    for (size_t d = place_.size(); d-- > 0; row /= call.sizes[d]) place_[d] = row % call.sizes[d];
  }
  const char* source() const {
    const char* row = call_.in.data;
    for (size_t d = 0; d < place_.size(); ++d) {
      const int64_t place = place_[d] - call_.at[d];
      if (place < 0 || place >= call_.part[d]) return nullptr;
      row += place * call_.in.strides[d] * static_cast<int64_t>(item_);
    }
    return row;
  }
  void advance() {
    for (size_t d = place_.size(); d-- > 0;) {
      if (++place_[d] < call_.sizes[d]) return;
      place_[d] = 0;
    }
  }

 private:
  const ConstantPad& call_;
  Dims place_;
  size_t item_;
};

}  // namespace

void pad_constant(const ConstantPad& call) {
  const int64_t length = call.sizes.back();
  int64_t rows = 1;
  for (int64_t size : call.sizes.first(call.sizes.size() - 1)) rows *= size;
  by_item_size(item_size(call.in.dtype), [&]<class T>() {
    T value;
    std::memcpy(&value, call.value, sizeof(T));
    T* out = reinterpret_cast<T*>(call.out);
    parallel_for(rows, even_grain(rows, grain_for(length), 1), [&](int64_t begin, int64_t end) {
      PaddedRows rows(call, begin);
      for (int64_t r = begin; r < end; ++r, rows.advance())
        write_row(call, value, out + r * length, rows.source());
    });
  });
}

void pad(const PadCall& call) {
  const Rows rows(call);
  const std::vector<int64_t>& last = call.at.back();
  const int64_t width = call.in.back(), length = static_cast<int64_t>(last.size());
  const Run run(last);
  visit<dtypes::all>(call.dtype, "pad", [&]<class T>() {
    parallel_for(call.planes * rows.out(), grain_for(length), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const int64_t source = r / rows.out() * rows.in() + rows.source(r % rows.out());
        const T* from = reinterpret_cast<const T*>(call.from) + source * width;
        T* to = reinterpret_cast<T*>(call.to) + r * length;
        for (size_t x = 0; x < run.begin; ++x) to[x] = from[last[x]];
        std::copy_n(from + last[run.begin], run.end - run.begin, to + run.begin);
        for (size_t x = run.end; x < last.size(); ++x) to[x] = from[last[x]];
      }
    });
  });
}

// A plane belongs to one thread: what is added to one element is added in order.
void pad_grad(const PadCall& call) {
  const Rows rows(call);
  const std::vector<int64_t>& last = call.at.back();
  const int64_t width = call.in.back(), length = static_cast<int64_t>(last.size());
  visit<dtypes::math>(call.dtype, "pad", [&]<class T>() {
    const int64_t plane = rows.in() * width;
    parallel_for(call.planes, grain_for(plane), [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        T* image = reinterpret_cast<T*>(call.to) + p * plane;
        std::fill(image, image + plane, T(0));
        for (int64_t r = 0; r < rows.out(); ++r) {
          const T* from = reinterpret_cast<const T*>(call.from) + (p * rows.out() + r) * length;
          T* to = image + rows.source(r) * width;
          for (int64_t x = 0; x < length; ++x) {
            T& sum = to[last[static_cast<size_t>(x)]];
            sum = sum + from[x];
          }
        }
      }
    });
  });
}

}  // namespace wisp::cpu
