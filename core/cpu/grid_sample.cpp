#include "cpu/grid_sample.h"

#include "base/parallel.h"
#include "cpu/grid_taps.h"

namespace wisp::cpu {

namespace {

constexpr int64_t samples_at_once = 256;
constexpr int64_t grain_elements = 1 << 12;

int64_t plane_of(const GridSampleCall& call) {
  int64_t plane = 1;
  for (int64_t d = 0; d < call.dims; ++d) plane *= call.sizes[d];
  WISP_CHECK(plane < INT32_MAX, "grid_sampler(): an image of ", plane, " elements is too large");
  return plane;
}

}  // namespace

void grid_sample(const GridSampleCall& call) {
  const int64_t plane = plane_of(call);
  const int64_t groups = (call.samples + samples_at_once - 1) / samples_at_once;
  visit<dtypes::real_math>(call.dtype, "grid_sampler", [&]<class T>() {
    const int64_t most = std::min(samples_at_once, call.samples);
    const int64_t grain = std::max<int64_t>(1, grain_elements / (most * call.channels + 1));
    parallel_for(call.batch * groups, grain, [&](int64_t begin, int64_t end) {
      SampleTaps<T> taps(most, call.dims, false);
      for (int64_t i = begin; i < end; ++i) {
        const int64_t n = i / groups, first = i % groups * samples_at_once;
        const int64_t count = std::min(samples_at_once, call.samples - first);
        taps.prepare(
            call, reinterpret_cast<const T*>(call.places) + (n * call.samples + first) * call.dims,
            0, count);
        for (int64_t c = n * call.channels; c < (n + 1) * call.channels; ++c) {
          const T* image = reinterpret_cast<const T*>(call.images) + c * plane;
          T* out = reinterpret_cast<T*>(call.out) + c * call.samples + first;
          if (taps.has_four(call)) {
            window_kernels<T>().pick_four(out, image, taps.neighbours(0), count);
            continue;
          }
          std::fill(out, out + count, T(0));
          for (int64_t k = 0; k < taps.count(call); ++k)
            window_kernels<T>().add_picked(out, image, taps.offsets(k), taps.weights(k), count);
        }
      }
    });
  });
}

namespace {

constexpr int64_t small_image = 1 << 17;  // elements of a result

// One image's part of the gradients. Nothing is added across images.
template <class T>
class ImageGrads {
 public:
  ImageGrads(const GridSampleGrads& job, int64_t plane)
      : job_(job),
        call_(job.call),
        plane_(plane),
        taps_(call_.samples, call_.dims, job.place_grads != nullptr) {}

  void run(int64_t n) {
    const int64_t channels = call_.channels, samples = call_.samples;
    const T* places = reinterpret_cast<const T*>(call_.places) + n * samples * call_.dims;
    grad_ = reinterpret_cast<const T*>(job_.grad) + n * channels * samples;
    parallel_for(samples, samples_at_once,
                 [&](int64_t begin, int64_t end) { taps_.prepare(call_, places, begin, end); });
    if (job_.image_grads) {
      T* out = reinterpret_cast<T*>(job_.image_grads) + n * channels * plane_;
      parallel_for(channels, 1 + 8192 / samples, [&](int64_t begin, int64_t end) {
        for (int64_t c = begin; c < end; ++c) to_image(out + c * plane_, grad_ + c * samples);
      });
    }
    if (job_.place_grads) {
      const T* images = reinterpret_cast<const T*>(call_.images) + n * channels * plane_;
      T* out = reinterpret_cast<T*>(job_.place_grads) + n * samples * call_.dims;
      parallel_for(samples, samples_at_once,
                   [&](int64_t begin, int64_t end) { to_places(out, images, begin, end); });
    }
  }

 private:
  // Every element gets what the samples it is in send back.
  void to_image(T* out, const T* grad) const {
    std::fill(out, out + plane_, T(0));
    for (int64_t k = 0; k < taps_.count(call_); ++k) {
      const int32_t* offsets = taps_.offsets(k);
      const T* weights = taps_.weights(k);
      for (int64_t s = 0; s < call_.samples; ++s) {
        if (offsets[s] >= 0) out[offsets[s]] += weights[s] * grad[s];
      }
    }
  }

  // How much samples [begin, end) change with their places, times what they send back.
  void to_places(T* out, const T* images, int64_t begin, int64_t end) const {
    const int64_t count = end - begin;
    T met[samples_at_once], sums[3][samples_at_once] = {};
    for (int64_t k = 0; k < taps_.count(call_); ++k) {
      std::fill(met, met + count, T(0));
      for (int64_t c = 0; c < call_.channels; ++c) {
        window_kernels<T>().add_picked(met, images + c * plane_, taps_.offsets(k) + begin,
                                       grad_ + c * call_.samples + begin, count);
      }
      for (int64_t d = 0; d < call_.dims; ++d) {
        const T* slopes = taps_.slopes(d, k) + begin;
        for (int64_t s = 0; s < count; ++s) sums[d][s] += slopes[s] * met[s];
      }
    }
    for (int64_t s = 0; s < count; ++s) {
      for (int64_t d = 0; d < call_.dims; ++d)
        out[(begin + s) * call_.dims + call_.dims - 1 - d] = sums[d][s];
    }
  }

  const GridSampleGrads& job_;
  const GridSampleCall& call_;
  int64_t plane_;
  SampleTaps<T> taps_;
  const T* grad_ = nullptr;
};

}  // namespace

void grid_sample_grads(const GridSampleGrads& job) {
  const int64_t plane = plane_of(job.call);
  visit<dtypes::real_math>(job.call.dtype, "grid_sampler", [&]<class T>() {
    // Small images are better computed side by side than cut.
    const bool small =
        job.call.samples * job.call.channels < small_image && job.call.batch >= num_threads();
    parallel_for(job.call.batch, small ? 1 : job.call.batch, [&](int64_t begin, int64_t end) {
      ImageGrads<T> grads(job, plane);
      for (int64_t n = begin; n < end; ++n) grads.run(n);
    });
  });
}

}  // namespace wisp::cpu
