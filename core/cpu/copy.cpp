#include "cpu/copy.h"

#include "base/parallel.h"
#include "cpu/kernels/kernels.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain_bytes = 256 << 10;

int64_t item_of(const Operand& operand) { return static_cast<int64_t>(item_size(operand.dtype)); }

bool consecutive(const LoopPlan& plan, int operand, int64_t item) {
  return plan.ndim() == 0 || (plan.ndim() == 1 && plan.strides[operand][0] == item);
}

// Two dimensions, each operand consecutive along another one: go through square blocks so that both
// sides touch whole cache lines.
template <class T>
void transpose(const LoopPlan& plan, char* out, const char* in) {
  constexpr int64_t block = 64 / sizeof(T) < 8 ? 8 : 64 / sizeof(T);
  const int64_t rows = plan.sizes[plan.ndim() - 2], cols = plan.sizes[plan.ndim() - 1];
  const int64_t out_row = plan.strides[0][plan.ndim() - 2],
                in_col = plan.strides[1][plan.ndim() - 1];
  const int64_t row_blocks = (rows + block - 1) / block;
  const int64_t grain =
      std::max<int64_t>(1, grain_bytes / (block * cols * static_cast<int64_t>(sizeof(T)) + 1));
  parallel_for(row_blocks, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r0 = begin * block; r0 < std::min(end * block, rows); r0 += block) {
      const int64_t r1 = std::min(r0 + block, rows);
      for (int64_t c0 = 0; c0 < cols; c0 += block) {
        const int64_t c1 = std::min(c0 + block, cols);
        for (int64_t r = r0; r < r1; ++r) {
          T* y = reinterpret_cast<T*>(out + r * out_row);
          for (int64_t c = c0; c < c1; ++c) {
            std::memcpy(&y[c], in + c * in_col + r * static_cast<int64_t>(sizeof(T)), sizeof(T));
          }
        }
      }
    }
  });
}

// The last two dimensions are a transposition, the ones before are walked.
bool try_transpose(const LoopPlan& plan, const Operand& out, const Operand& in) {
  const int n = plan.ndim();
  const int64_t item = item_of(out);
  if (n < 2 || n > 3 || plan.strides[0][n - 1] != item || plan.strides[1][n - 2] != item)
    return false;
  if (plan.strides[1][n - 1] < item || plan.sizes[n - 1] < 4 || plan.sizes[n - 2] < 4) return false;
  const int64_t batches = n == 3 ? plan.sizes[0] : 1;
  for (int64_t b = 0; b < batches; ++b) {
    const int64_t out_shift = n == 3 ? b * plan.strides[0][0] : 0;
    const int64_t in_shift = n == 3 ? b * plan.strides[1][0] : 0;
    by_item_size(item_size(out.dtype),
                 [&]<class T>() { transpose<T>(plan, out.data + out_shift, in.data + in_shift); });
  }
  return true;
}

void copy_general(const LoopPlan& plan, const Operand& out, const Operand& in) {
  const bool converts = out.dtype != in.dtype;
  const CastFn cast = kernels().cast[int(out.dtype)][int(in.dtype)];
  const int64_t chunk = tile_bytes / std::max(item_of(out), item_of(in));
  parallel_for(plan.numel, grain_bytes / item_of(out), [&](int64_t begin, int64_t end) {
    alignas(64) char raw[tile_bytes], converted[tile_bytes];
    Walker reader(in.data, plan.sizes, plan.strides[1], begin);
    Walker writer(out.data, plan.sizes, plan.strides[0], begin);
    for (int64_t at = begin; at < end; at += chunk) {
      const int64_t n = std::min(chunk, end - at);
      reader.gather(raw, n, item_of(in));
      if (converts) cast(converted, raw, n);
      writer.scatter(converts ? converted : raw, n, item_of(out));
    }
  });
}

}  // namespace

void copy(IntSpan sizes, const Operand& out, const Operand& in) {
  const LoopPlan plan(sizes, {out, in});
  if (plan.numel == 0) return;
  const bool same_dtype = out.dtype == in.dtype;
  if (consecutive(plan, 0, item_of(out)) && consecutive(plan, 1, item_of(in))) {
    const CastFn cast = kernels().cast[int(out.dtype)][int(in.dtype)];
    parallel_for(plan.numel, grain_bytes / item_of(out), [&](int64_t begin, int64_t end) {
      char* to = out.data + begin * item_of(out);
      const char* from = in.data + begin * item_of(in);
      if (same_dtype) {
        std::memmove(to, from, static_cast<size_t>((end - begin) * item_of(out)));
      } else {
        cast(to, from, end - begin);
      }
    });
    return;
  }
  if (same_dtype && try_transpose(plan, out, in)) return;
  copy_general(plan, out, in);
}

void fill(IntSpan sizes, const Operand& out, const void* value) {
  const LoopPlan plan(sizes, {out});
  const int64_t item = item_of(out), chunk = tile_bytes / item;
  alignas(64) char tile[tile_bytes];
  for (int64_t i = 0; i < std::min(chunk, plan.numel); ++i)
    std::memcpy(tile + i * item, value, item);
  const bool direct = consecutive(plan, 0, item);
  parallel_for(plan.numel, grain_bytes / item, [&](int64_t begin, int64_t end) {
    Walker writer(out.data, plan.sizes, plan.strides[0], direct ? 0 : begin);
    for (int64_t at = begin; at < end; at += chunk) {
      const int64_t n = std::min(chunk, end - at);
      if (direct) {
        std::memcpy(out.data + at * item, tile, static_cast<size_t>(n * item));
      } else {
        writer.scatter(tile, n, item);
      }
    }
  });
}

}  // namespace wisp::cpu
