#include "cpu/pad.h"

#include <algorithm>

#include "base/parallel.h"

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

}  // namespace

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
