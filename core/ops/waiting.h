// What waits for the calls that follow it (see dispatch/awaited.h): the steps of a computation, to
// be done in as few passes as possible once somebody wants the last one or they cannot wait longer.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include "dispatch/call.h"
#include "tensor/arranged.h"

namespace wisp::ops {

// Nothing is put off or recorded of what is called meanwhile.
class Quiet {
 public:
  Quiet()
      : deferrer_(std::exchange(mode.deferrer, nullptr)),
        interceptor_(std::exchange(mode.interceptor, nullptr)) {
    ++depth_;
  }
  ~Quiet() {
    --depth_;
    mode.deferrer = deferrer_;
    mode.interceptor = interceptor_;
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  static bool anywhere() { return depth_ > 0; }

 private:
  static inline constinit WISP_THREAD_LOCAL int depth_ = 0;
  Deferrer* deferrer_;
  Interceptor* interceptor_;
  GradMode no_grad_{false};
};

// Whether the tensor can be read later, with the same contents, by a kernel of float32.
inline bool can_wait(const Tensor& t) {
  return t.dtype() == DType::float32 && !t->is_meta() && !t->layers() &&
         !t->storage().shared_with_others();
}

// Whether both are images of one shape whose elements lie in one order, without gaps.
inline bool lie_alike(const Tensor& a, const Tensor& b) {
  return same(a.sizes(), b.sizes()) && a.is_contiguous() == b.is_contiguous() &&
         is_dense_image(*a.impl()) && is_dense_image(*b.impl());
}
// Memory for an image that lies like this one.
inline Tensor new_image_like(const Tensor& image) {
  if (image.is_contiguous()) return Tensor::empty(image.sizes(), image.dtype());
  return Tensor::empty_strided(image.sizes(), channels_last_strides(image.sizes()), image.dtype());
}

inline void run_kernel(const Call& call) {
  call.op().kernels[static_cast<int>(DeviceType::cpu)](call);
}

// Results of fewer elements are not worth the writing down.
constexpr int64_t least_result = 1 << 13;

// Tensors of its own on all storages.
struct WaitingParts {
  static constexpr int most = 6;
  Tensor reads[most];
  Tensor results[most];  // of every step; undefined: no such step, or written over in place
};

class Waiting {
 public:
  virtual ~Waiting() = default;
  // Whether a call becomes a part of it, and making it one, unless its numbers do not allow that;
  // its first result is a promise. Others look at what is read and made, which is changed under
  // that lock.
  virtual bool can_join(const Infer& infer, std::span<const Tensor> targets) const = 0;
  virtual bool join(const Call& call, std::mutex& looking) = 0;
  // Whether a call is best run together with it, and at once; its first result is a promise.
  virtual bool can_end_with(const Infer&) const { return false; }
  virtual void run_with(const Call&) {}
  // Keeps the promises of all steps that somebody holds, and of the last one. `plain`: the next to
  // read it wants it in plain order.
  virtual void run(bool plain) = 0;

  bool makes(const Storage& storage) const { return any(parts_.results, storage); }
  bool touches(const Storage& storage) const {
    return any(parts_.reads, storage) || makes(storage);
  }
  // Whether anybody may still ask for a result.
  bool is_wanted() const {
    return std::any_of(parts_.results, parts_.results + WaitingParts::most, is_held);
  }
  WaitingParts release() { return std::exchange(parts_, WaitingParts()); }

  std::mutex running;  // held while it is computed, or something joins it
  std::atomic<bool> done{false};

 protected:
  // Whether this is the newest result, as a whole.
  bool is_newest(const Tensor& t) const {
    const Tensor& newest = parts_.results[last_];
    return &t->storage() == &newest->storage() && lie_alike(t, newest) &&
           t.dtype() == newest.dtype();
  }
  bool is_newest(const Infer& infer, int i) const {
    return infer[i].is_tensor() && is_newest(infer.tensor(i)) && can_wait(infer.tensor(i));
  }
  // Whether an image of the newest result's shape and order can be read later.
  bool is_alike(const Arg& arg) const {
    if (!arg.is_tensor()) return false;
    const Tensor& t = arg.tensor();
    return can_wait(t) && lie_alike(t, parts_.results[last_]) && !t->storage().is_pending();
  }
  static bool is_held(const Tensor& t) { return t.defined() && t->storage().use_count() > 1; }
  bool any_held_before_last() const {
    return std::any_of(parts_.results, parts_.results + last_, is_held);
  }

  void add_result(int step, const Tensor& result) {
    Tensor& newest = parts_.results[last_];
    const bool in_place = newest.defined() && is_newest(result);
    parts_.results[step] = in_place ? std::exchange(newest, Tensor()) : result.alias();
    last_ = step;
  }

  // Keeps the promise of a step, unless that was done before something failed; returns what is read
  // from then on.
  Tensor keep(int step, Tensor made) {
    const Tensor& promised = parts_.results[step];
    if (!promised.defined()) return made;
    if (promised->storage().is_pending()) promised->storage().take_memory(made->storage());
    return promised;
  }

  WaitingParts parts_;
  int last_ = 0;  // the newest step

 private:
  static bool any(const Tensor (&tensors)[WaitingParts::most], const Storage& storage) {
    return std::any_of(tensors, tensors + WaitingParts::most,
                       [&](const Tensor& t) { return t.defined() && &t->storage() == &storage; });
  }
};

}  // namespace wisp::ops
