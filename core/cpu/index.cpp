#include "cpu/index.h"

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/grain.h"
#include "cpu/opcode.h"

namespace wisp::cpu {

namespace {

constexpr int64_t grain = 1 << 14;  // elements a thread takes at once

// Dimensions merged where they are one run of memory.
struct Trail {
  Trail(const Dims& all_sizes, const Dims& all_strides) {
    for (size_t i = 0; i < all_sizes.size(); ++i) {
      numel *= all_sizes[i];
      if (all_sizes[i] == 1) continue;
      if (!sizes.empty() && strides.back() == all_strides[i] * all_sizes[i]) {
        sizes.back() *= all_sizes[i];
        strides.back() = all_strides[i];
      } else {
        sizes.push_back(all_sizes[i]);
        strides.push_back(all_strides[i]);
      }
    }
    if (sizes.empty()) {
      sizes.push_back(1);
      strides.push_back(1);
    }
  }
  bool is_one_run() const { return sizes.size() == 1; }
  int64_t run() const { return sizes.back(); }
  int64_t step() const { return strides.back(); }

  // f(offset) for every run of the last dimension.
  template <class F>
  void each_run(F f) const {
    if (is_one_run()) return f(0);
    Dims index(sizes.size() - 1, 0);
    int64_t offset = 0;
    for (int64_t left = numel / run(); left > 0; --left) {
      f(offset);
      for (size_t dim = index.size(); dim-- > 0;) {
        offset += strides[dim];
        if (++index[dim] < sizes[dim]) break;
        offset -= sizes[dim] * strides[dim];
        index[dim] = 0;
      }
    }
  }

  Dims sizes, strides;
  int64_t numel = 1;
};

int64_t count(const Dims& sizes) {
  int64_t n = 1;
  for (int64_t size : sizes) n *= size;
  return n;
}

// Where the i-th combination of the leading dimensions starts.
int64_t lead_offset(const Places& places, int64_t i) {
  int64_t offset = 0;
  for (size_t dim = places.lead_sizes.size(); dim-- > 0;) {
    offset += i % places.lead_sizes[dim] * places.lead_strides[dim];
    i /= places.lead_sizes[dim];
  }
  return offset;
}

template <class T>
void copy_run(T* out, const T* in, int64_t n, int64_t step) {
  if (step == 1) {
    std::memcpy(static_cast<void*>(out), in, static_cast<size_t>(n) * sizeof(T));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = in[i * step];
  }
}

// Rows of so many bytes, which the compiler copies without a loop.
template <size_t bytes, class T>
void pick_rows(const T* self, const int64_t* offsets, int64_t n, T* out) {
  char* to = reinterpret_cast<char*>(out);
  for (int64_t p = 0; p < n; ++p, to += bytes) {
    std::memcpy(to, reinterpret_cast<const char*>(self + offsets[p]), bytes);
  }
}

template <class T>
void pick_some(const T* self, const int64_t* offsets, int64_t n, const Trail& trail, T* out) {
  if (trail.numel == 1) {
    for (int64_t p = 0; p < n; ++p) out[p] = self[offsets[p]];
    return;
  }
  const int64_t run = trail.run(), step = trail.step();
  if (trail.is_one_run() && step == 1) {
    switch (static_cast<size_t>(run) * sizeof(T)) {
      case 16:
        return pick_rows<16>(self, offsets, n, out);
      case 32:
        return pick_rows<32>(self, offsets, n, out);
      case 64:
        return pick_rows<64>(self, offsets, n, out);
      case 128:
        return pick_rows<128>(self, offsets, n, out);
      default:
        break;
    }
  }
  for (int64_t p = 0; p < n; ++p) {
    trail.each_run([&](int64_t offset) {
      copy_run(out, self + offsets[p] + offset, run, step);
      out += run;
    });
  }
}

// Runs that follow each other in both; they do not overlap.
template <class T, class Op>
void combine_run(T* to, const T* values, int64_t n) {
  if constexpr (std::is_same_v<Op, Add> && std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) {
    if (n >= 32) {  // else the call takes longer than the loop
      const void* both[] = {to, values, nullptr};
      return tile_kernel(Opcode::add, dtype_of<T>)(to, both, n, Params());
    }
  }
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] = Op::apply(to[i], values[i]);
}

// What is put where, and the loop for its dtype and the way to combine.
struct Put {
  using Loop = void (*)(const Put& put, char* self, const char* values, int64_t begin, int64_t end);
  const Places& places;
  Trail trail{places.trail_sizes, places.trail_strides};
  bool single;  // one value for all places
  int64_t item;
  Loop loop;
};

// Writes columns [begin, end) of the trailing run, or all of it if there are several runs.
template <class T, class Op>
void put_some(const Put& put, char* self_data, const char* value_data, int64_t begin, int64_t end) {
  T* self = reinterpret_cast<T*>(self_data);
  const T* values = reinterpret_cast<const T*>(value_data);
  const std::span<const int64_t> offsets = put.places.offsets;
  const Trail& trail = put.trail;
  const bool single = put.single;
  const int64_t step = trail.step(), advance = single ? 0 : 1;
  if (trail.numel == 1) {
    for (int64_t offset : offsets) {
      self[offset] = Op::apply(self[offset], *values);
      values += advance;
    }
    return;
  }
  if (trail.is_one_run() && step == 1 && !single) {  // rows, most often short ones
    const int64_t run = trail.run();
    for (int64_t offset : offsets) {
      combine_run<T, Op>(self + offset + begin, values + begin, end - begin);
      values += run;
    }
    return;
  }
  for (int64_t offset : offsets) {
    trail.each_run([&](int64_t inner) {
      T* to = self + offset + inner;
      if (step == 1 && !single) {
        combine_run<T, Op>(to + begin, values + begin, end - begin);
      } else if (step == 1) {
        const T value = *values;
        for (int64_t i = begin; i < end; ++i) to[i] = Op::apply(to[i], value);
      } else {
        for (int64_t i = begin; i < end; ++i) {
          to[i * step] = Op::apply(to[i * step], values[i * advance]);
        }
      }
      values += trail.run() * advance;
    });
  }
}

void put_all(const Put& put, char* self, const char* values) {
  const Places& places = put.places;
  const int64_t picks = static_cast<int64_t>(places.offsets.size());
  const int64_t leads = count(places.lead_sizes), block = picks * put.trail.numel;
  if (block == 0 || leads == 0) return;
  const int64_t run = put.trail.run();
  if (leads > 1) {
    const int64_t some = even_grain(leads, std::max<int64_t>(1, grain / block), 1);
    parallel_for(leads, some, [&](int64_t begin, int64_t end) {
      for (int64_t l = begin; l < end; ++l) {
        const char* from = put.single ? values : values + l * block * put.item;
        put.loop(put, self + lead_offset(places, l) * put.item, from, 0, run);
      }
    });
    return;
  }
  char* base = self + lead_offset(places, 0) * put.item;
  if (!put.trail.is_one_run() || run == 1) return put.loop(put, base, values, 0, run);
  // Places may repeat: a thread takes some columns of all of them, so that the order is kept
  // however they are cut.
  const int64_t share = (run + num_threads() - 1) / num_threads();
  const int64_t columns = even_grain(run, std::max<int64_t>({64, grain / picks, share}), 16);
  parallel_for(run, columns,
               [&](int64_t begin, int64_t end) { put.loop(put, base, values, begin, end); });
}

// Fails if a negative number was seen among the differences to both bounds that were joined.
void check_flat(uint64_t outside, const int64_t* index, int64_t begin, int64_t end, int64_t numel) {
  for (int64_t i = begin; static_cast<int64_t>(outside) < 0 && i < end; ++i) {
    WISP_CHECK_INDEX(index[i] >= -numel && index[i] < numel, "out of range: tried to access index ",
                     index[i], " on a tensor of ", numel, " elements.");
  }
}

// Of elements that are `step` apart.
void set_run_offsets(std::span<int64_t> offsets, const int64_t* index, int64_t numel,
                     int64_t step) {
  const auto count = static_cast<int64_t>(offsets.size());
  parallel_for(count, even_grain(count, grain), [&](int64_t begin, int64_t end) {
    uint64_t outside = 0;
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<uint64_t>(index[i]), size = static_cast<uint64_t>(numel);
      outside |= (at + size) | (size - 1 - at);
      const uint64_t wrapped = index[i] < 0 ? at + size : at;
      offsets[static_cast<size_t>(i)] = static_cast<int64_t>(wrapped * static_cast<uint64_t>(step));
    }
    check_flat(outside, index, begin, end, numel);
  });
}

}  // namespace

void add_offsets(std::span<int64_t> offsets, const int64_t* index, const Axis& axis) {
  const int64_t size = axis.size, stride = axis.stride, lowest = axis.wraps ? -size : 0;
  const auto count = static_cast<int64_t>(offsets.size());
  parallel_for(count, even_grain(count, grain), [&](int64_t begin, int64_t end) {
    uint64_t outside = 0;  // its sign: set by differences that are negative
    for (int64_t i = begin; i < end; ++i) {
      const int64_t at = index[i];
      outside |= (static_cast<uint64_t>(at) - static_cast<uint64_t>(lowest)) |
                 (static_cast<uint64_t>(size - 1) - static_cast<uint64_t>(at));
      offsets[i] += (at < 0 ? at + size : at) * stride;
    }
    for (int64_t i = begin; static_cast<int64_t>(outside) < 0 && i < end; ++i) {
      WISP_CHECK_INDEX(index[i] >= lowest && index[i] < size, "index ", index[i],
                       " is out of bounds for dimension ", axis.dim, " with size ", size);
    }
  });
}

void set_flat_offsets(std::span<int64_t> offsets, const int64_t* index, IntSpan sizes,
                      IntSpan strides) {
  const Trail flat{Dims(sizes), Dims(strides)};
  const int64_t numel = flat.numel;
  if (flat.is_one_run()) return set_run_offsets(offsets, index, numel, flat.step());
  const auto count = static_cast<int64_t>(offsets.size());
  parallel_for(count, even_grain(count, grain), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      int64_t at = index[i], offset = 0;
      WISP_CHECK_INDEX(at >= -numel && at < numel, "out of range: tried to access index ", at,
                       " on a tensor of ", numel, " elements.");
      if (at < 0) at += numel;
      for (size_t dim = flat.sizes.size(); dim-- > 1;) {
        offset += at % flat.sizes[dim] * flat.strides[dim];
        at /= flat.sizes[dim];
      }
      offsets[i] = offset + at * flat.strides[0];
    }
  });
}

void check_indices(const int64_t* index, int64_t n, int64_t length, const char* what) {
  uint64_t outside = 0;
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<uint64_t>(index[i]);
    outside |= at | (static_cast<uint64_t>(length - 1) - at);
  }
  for (int64_t i = 0; static_cast<int64_t>(outside) < 0 && i < n; ++i) {
    WISP_CHECK(index[i] >= 0 && index[i] < length, what, "(): index ", index[i],
               " is out of bounds for size ", length);
  }
}

void pick(const Places& places, size_t item, const char* self, char* out) {
  const Trail trail(places.trail_sizes, places.trail_strides);
  const int64_t picks = static_cast<int64_t>(places.offsets.size());
  if (trail.numel == 0 || picks == 0) return;
  const int64_t blocks = count(places.lead_sizes) * picks;
  by_item(item, [&]<class T>() {
    const int64_t some = even_grain(blocks, std::max<int64_t>(1, grain / trail.numel), 1);
    parallel_for(blocks, some, [&](int64_t begin, int64_t end) {
      for (int64_t at = begin; at < end;) {
        const int64_t first = at % picks, n = std::min(end - at, picks - first);
        const T* from = reinterpret_cast<const T*>(self) + lead_offset(places, at / picks);
        pick_some(from, places.offsets.data() + first, n, trail,
                  reinterpret_cast<T*>(out) + at * trail.numel);
        at += n;
      }
    });
  });
}

void put(const Places& places, Combine how, DType dtype, char* self, const char* values,
         bool single) {
  Put::Loop loop = nullptr;
  by_combine(how, dtype, "index_put", [&]<class T, class Op>() { loop = put_some<T, Op>; });
  const int64_t item = static_cast<int64_t>(item_size(dtype));
  put_all({.places = places, .single = single, .item = item, .loop = loop}, self, values);
}

}  // namespace wisp::cpu
