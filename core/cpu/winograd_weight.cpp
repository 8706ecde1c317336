#include "cpu/winograd_weight.h"

#include "cpu/kernels/kernels.h"

namespace wisp::cpu::winograd {

namespace {

constexpr int64_t channels_at_once = 16;
constexpr int64_t window = taps * taps;

// Taps of some channels that are read, and of a block of those that are made, which are next to
// each other then.
void gather_taps(const Weight& w, int64_t begin, int64_t end, int64_t to, int64_t lanes,
                 float* out) {
  const auto transpose = kernels().gemm_f32.transpose;
  const int64_t count = end - begin;
  if (w.last && w.backwards) {
    for (int64_t i = 0; i < count * window; ++i)
      std::copy_n(w.data + (begin * window + i) * w.to + to, lanes, out + i * lanes);
  } else if (w.last) {
    for (int64_t i = 0; i < window; ++i)
      transpose(w.data + (to * window + i) * w.from + begin, window * w.from, out + i * lanes,
                window * lanes, count, lanes);
  } else if (w.backwards) {
    for (int64_t c = 0; c < count; ++c)
      transpose(w.data + ((begin + c) * w.to + to) * window, window, out + c * window * lanes,
                lanes, window, lanes);
  } else {
    transpose(w.data + (to * w.from + begin) * window, w.from * window, out, lanes, count * window,
              lanes);
  }
}

void scale_taps(const Weight& w, int64_t to, int64_t lanes, int64_t count, float* taps_of) {
  if (w.scale.empty()) return;
  const float* scale = w.scale.data() + to;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t l = 0; l < lanes; ++l) taps_of[i * lanes + l] *= scale[l];
}

// Calls f for each block of the channels of columns with some channels of rows, and memory for the
// taps of these.
template <class F>
void each_block(Work& work, const Planes& planes, int64_t lanes, F f) {
  const int64_t pieces = ceil_div(planes.rows, channels_at_once);
  work.each(planes.channels / lanes * pieces, 4, [&](int64_t begin, int64_t end) {
    const Scratch<float> taps_of(channels_at_once * window * lanes);
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i % pieces * channels_at_once;
      f(first, std::min(first + channels_at_once, planes.rows), i / pieces * lanes, taps_of.data());
    }
  });
}

void evaluate(const Method& method, const Weight& w, const Planes& planes, Work& work) {
  const int64_t lanes = method.lanes;
  each_block(work, planes, lanes, [&](int64_t begin, int64_t end, int64_t to, float* taps_of) {
    gather_taps(w, begin, end, to, lanes, taps_of);
    scale_taps(w, to, lanes, (end - begin) * window, taps_of);
    for (int64_t c = begin; c < end; ++c)
      method.weight(taps_of + (c - begin) * window * lanes, w.backwards, planes.at(c, to),
                    planes.step());
  });
}

}  // namespace

WeightPlanes::WeightPlanes(const Method& method, const Weight& w, Ref<Object>* kept, Work& work)
    : from_(w.from), to_(w.to), panel_(method.panel) {
  const auto* there = kept ? dynamic_cast<const Kept*>(kept->get()) : nullptr;
  if (there && there->suits(method, w)) {
    memory_ = Ref<const Kept>::share(there);
    return;
  }
  auto made = Ref<Kept>::adopt(new Kept(method, w));
  memory_ = Ref<const Kept>::share(made.get());
  evaluate(method, w, get(), work);
  if (kept) *kept = Ref<Object>::adopt(made.detach());
}

void take_weight(const Method& method, const Planes& sums, float* weight, bool last, Work& work) {
  const auto transpose = kernels().gemm_f32.transpose;
  const int64_t lanes = method.lanes, x_channels = sums.rows;
  each_block(work, sums, lanes, [&](int64_t begin, int64_t end, int64_t to, float* taps_of) {
    for (int64_t c = begin; c < end; ++c)
      method.weight_result(sums.at(c, to), sums.step(), taps_of + (c - begin) * window * lanes);
    if (!last) {
      transpose(taps_of, lanes, weight + (to * x_channels + begin) * window, x_channels * window,
                lanes, (end - begin) * window);
      return;
    }
    for (int64_t i = 0; i < window; ++i)
      transpose(taps_of + i * lanes, window * lanes,
                weight + (to * window + i) * x_channels + begin, window * x_channels, lanes,
                end - begin);
  });
}

}  // namespace wisp::cpu::winograd
