// A convolution whose result nobody differentiates is not computed by the call that asks for it but
// before the next kernel of its thread, together with what has joined it by then: a batch norm with
// given statistics, a sum, relu, the largest elements of windows. Results in between that nobody
// holds any more are never written.
//
// Nobody can tell: arguments are checked at once, whoever asks for memory of a result has it
// computed (it is a promise), and whoever writes what a waiting convolution reads makes it run
// first. What others may write unseen (memory of NumPy) is never waited with.
#include "ops/awaited.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <pthread.h>
#include <utility>
#include <vector>

#include "cpu/onednn.h"
#include "dispatch/awaited.h"
#include "dispatch/call.h"
#include "ops/batch_norm.h"
#include "ops/conv.h"
#include "ops/pool.h"

namespace wisp::ops {

namespace {

// What may follow a convolution, in this order; relu before or after the largest of windows.
enum Step : uint8_t { convolved, normalised, added, rectified, pooled, rectified_later, steps };

// Whether the tensor can be read later, with the same contents, by a kernel of float32.
bool can_wait(const Tensor& t) {
  return t.dtype() == DType::float32 && !t->is_meta() && !differentiated(t) &&
         !t->storage().shared_with_others();
}

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

// --- One convolution and what has joined it, with tensors of its own on all storages

struct Parts {
  Tensor x, weight, bias;
  ConvTail tail;
  Tensor results[steps];  // undefined: no such step, or written over in place
};

class Waiting {
 public:
  explicit Waiting(const Call& call)
      : steps_(steps_of(call, call.out().ndim() - 2)), groups_(call.integer(8)) {
    parts_.x = call.tensor(0).alias();
    parts_.weight = call.tensor(1).alias();
    if (call.has(2)) parts_.bias = call.tensor(2).alias();
    parts_.results[convolved] = call.out().alias();
  }

  // Whether this is the newest result, as a whole.
  bool is_newest(const Tensor& t) const {
    const Tensor& newest = parts_.results[last_];
    return &t->storage() == &newest->storage() && t.is_contiguous() &&
           same(t.sizes(), newest.sizes()) && t.dtype() == newest.dtype();
  }
  bool can_join(Step step) const { return step > last_; }
  Step relu_step() const { return last_ < pooled ? rectified : rectified_later; }
  // Whether there is a kernel that takes the largest of windows along.
  bool can_pool(const ConvTail& windows) const {
    ConvTail tail = parts_.tail;
    tail.window = windows.window;
    tail.step = windows.step;
    Tensor image = parts_.results[last_];
    return with_call(image, [&](const Call& call) { return suits_rows(call, tail); });
  }
  bool makes(const Storage& storage) const {
    const auto& results = parts_.results;
    return std::any_of(results, results + steps, [&](const Tensor& t) { return on(t, storage); });
  }
  bool touches(const Storage& storage) const {
    return on(parts_.x, storage) || on(parts_.weight, storage) || on(parts_.bias, storage) ||
           on(parts_.tail.other, storage) || makes(storage);
  }
  // Whether anybody may still ask for a result.
  bool is_wanted() const { return std::any_of(parts_.results, parts_.results + steps, is_held); }

  void join_norm(ChannelAffine affine, const Tensor& result) {
    parts_.tail.scale = std::move(affine.scale);
    parts_.tail.shift = std::move(affine.shift);
    add_result(normalised, result);
  }
  void join_sum(const Tensor& other, const Tensor& result) {
    parts_.tail.other = other.alias();
    add_result(added, result);
  }
  void join_relu(const Tensor& result) {
    parts_.tail.relu = true;
    add_result(relu_step(), result);
  }
  void join_pool(const ConvTail& windows, const Tensor& result) {
    before_pool_ = last_;
    parts_.tail.window = windows.window;
    parts_.tail.step = windows.step;
    add_result(pooled, result);
  }

  // `plain`: the next to read the result wants it in plain order.
  void run(bool plain) {
    const Quiet quiet;
    parts_.tail.plain = plain;
    if (!run_in_one(last_)) run_steps();
  }
  Parts release() { return std::exchange(parts_, Parts()); }

  std::mutex running;  // held while it is computed, or something joins it
  std::atomic<bool> done{false};

 private:
  static bool on(const Tensor& t, const Storage& storage) {
    return t.defined() && &t->storage() == &storage;
  }
  static bool is_held(const Tensor& t) { return t.defined() && t->storage().use_count() > 1; }

  void add_result(Step step, const Tensor& result) {
    Tensor& newest = parts_.results[last_];
    const bool in_place = is_newest(result);
    parts_.results[step] = in_place ? std::exchange(newest, Tensor()) : result.alias();
    last_ = step;
  }

  // Keeps the promise of a step, unless that was done before something failed; returns what is read
  // from then on.
  Tensor keep(Step step, Tensor made) {
    const Tensor& promised = parts_.results[step];
    if (!promised.defined()) return made;
    if (promised->storage().is_pending()) promised->storage().take_memory(made->storage());
    return promised;
  }

  // Calls f with the convolution, whose result is `out`.
  template <class F>
  bool with_call(Tensor& out, F f) const {
    const auto& p = parts_;
    const Arg args[] = {p.x,
                        p.weight,
                        p.bias,
                        steps_.stride,
                        steps_.padding,
                        steps_.dilation,
                        false,
                        steps_.output_padding,
                        groups_};
    return f(Call(op_def<"convolution">(), args, &out, DType::float32));
  }

  // What has joined it, up to a step.
  ConvTail tail_until(Step last) const {
    ConvTail tail = parts_.tail;
    if (last >= pooled) return tail;
    tail.relu = last == rectified;
    tail.window = tail.step = {1, 1};
    return tail;
  }

  // All steps up to one.
  bool run_in_one(Step last) {
    auto& results = parts_.results;
    const bool seen = std::any_of(results, results + last, is_held);
    if (last == convolved || seen) return false;
    const ConvTail tail = tail_until(last);
    Tensor made = tail.has_pool() ? results[before_pool_]
                                  : Tensor::empty(results[last].sizes(), DType::float32);
    const bool done = with_call(made, [&](const Call& call) {
      if (!tail.has_pool()) return convolve_with_tail(call, tail);
      made = convolve_rows(call, tail);
      return made.defined();
    });
    if (done) keep(last, std::move(made));
    return done;
  }

  void run_steps() {
    const ConvTail& tail = parts_.tail;
    const bool together = tail.has_pool() && run_in_one(before_pool_);
    Tensor now = together ? parts_.results[before_pool_] : run_image_steps();
    if (!tail.has_pool()) return;
    static constexpr int64_t none[] = {0, 0}, one[] = {1, 1};
    now = keep(pooled, invoke<"_max_pool2d">(now, IntSpan(tail.window), IntSpan(tail.step),
                                             IntSpan(none), IntSpan(one), false));
    if (last_ == rectified_later) keep(rectified_later, invoke<"relu">(now));
  }

  Tensor run_image_steps() {
    const auto& p = parts_;
    Tensor now = keep(
        convolved, invoke<"convolution">(p.x, p.weight, p.bias, steps_.stride, steps_.padding,
                                         steps_.dilation, false, steps_.output_padding, groups_));
    if (p.tail.scale.defined()) {
      Tensor next = Tensor::empty(now.sizes(), DType::float32);
      run_affine(now, {p.tail.scale, p.tail.shift}, next);
      now = keep(normalised, std::move(next));
    }
    if (p.tail.other.defined()) now = keep(added, invoke<"add">(now, p.tail.other));
    const bool relu = tail_until(p.tail.has_pool() ? before_pool_ : last_).relu;
    return relu ? keep(rectified, invoke<"relu">(now)) : now;
  }

  Steps steps_;
  int64_t groups_;
  Parts parts_;
  Step last_ = convolved, before_pool_ = convolved;
};

using Shared = std::shared_ptr<Waiting>;

// --- All that wait, one per thread at most

struct State {
  std::mutex listing;  // held for moments
  std::vector<Shared> waiting;
};
State& state() {
  static State& made = *new State;  // what waits when the process ends is not wanted
  return made;
}

void add(Shared chain) {
  State& s = state();
  const std::lock_guard lock(s.listing);
  s.waiting.push_back(std::move(chain));
  Storage::set_awaited(true);
}

void remove(const Shared& chain) {
  Parts gone;  // behind the lock
  State& s = state();
  const std::lock_guard lock(s.listing);
  gone = chain->release();
  std::erase(s.waiting, chain);
  if (s.waiting.empty()) Storage::set_awaited(false);
}

// Those of which f is true.
template <class F>
std::vector<Shared> those(F f) {
  State& s = state();
  const std::lock_guard lock(s.listing);
  std::vector<Shared> found;
  for (const Shared& chain : s.waiting) {
    if (f(*chain)) found.push_back(chain);
  }
  return found;
}

// Another thread may be doing it, and may want the host's lock at its end.
void run(const Shared& chain, bool plain = true) {
  const HostUnlock unlock(true);
  {
    const std::lock_guard lock(chain->running);
    if (!chain->done) chain->run(plain);  // if that fails, whoever asks next tries again
    chain->done = true;
  }
  remove(chain);
}

// What the thread has waiting. A thread that ends leaves what others may still ask for.
struct Own {
  Shared chain;
  ~Own() {
    if (!chain) return;
    const auto unwanted = [&](const Waiting& each) {
      return &each == chain.get() && !each.is_wanted();
    };
    for (const Shared& each : those(unwanted)) remove(each);
  }
};
thread_local Own own;

void run_own(bool plain = true) {
  if (const Shared chain = std::exchange(own.chain, nullptr)) run(chain, plain);
}

void run_wanted(const Storage* wanted) {
  for (const Shared& chain :
       those([&](const Waiting& each) { return !wanted || each.makes(*wanted); }))
    run(chain);
}

// --- What waits, and what joins it

class Awaiter : public Awaiting {
 public:
  bool takes_small() const override { return false; }

  bool takes(const Infer& infer, std::span<const Tensor> targets) override {
    if (mode.interceptor || mode.transforms || Storage::any_lazy() || Quiet::anywhere())
      return false;
    if (&infer.op() == &op_def<"convolution">()) return targets.empty() && begins(infer);
    if (!Storage::any_awaited() || !own.chain) return false;
    const std::lock_guard lock(state().listing);  // until then another thread may compute it
    if (own.chain->done) return false;
    if (!targets.empty() && !own.chain->is_newest(targets[0])) return false;
    if (&infer.op() == &op_def<"_batch_norm">()) return joins_norm(infer);
    if (&infer.op() == &op_def<"add">()) return joins_sum(infer);
    if (&infer.op() == &op_def<"_max_pool2d">()) return targets.empty() && joins_pool(infer);
    return own.chain->can_join(own.chain->relu_step()) && is_newest(infer, 0);
  }

  void take(const Call& call, int outs) override {
    if (&call.op() == &op_def<"convolution">()) {
      run_own(false);  // convolutions like blocks of channels
      own.chain = std::make_shared<Waiting>(call);
      return add(own.chain);
    }
    for (int i = 1; i < outs; ++i) fulfil(call.out(i)->storage());  // statistics
    if (!join(call)) run_at_once(call, outs);
  }

  void before(const OpDef& op, const Arg* args, std::span<const Tensor> written) override {
    if (!Quiet::anywhere()) run_own();
    if (!Storage::any_awaited()) return;
    const bool writes = !written.empty() || op.sig.returns.empty() || op.has(trait::writes_inputs);
    const auto concerns = [&](const Tensor& t, const Waiting& chain) {
      return t.defined() && (writes ? chain.touches(t->storage())
                                    : t->storage().is_pending() && chain.makes(t->storage()));
    };
    const auto wanted = [&](const Waiting& chain) {
      const auto on = [&](const Tensor& t) { return concerns(t, chain); };
      for (size_t i = 0; i < op.sig.params.size(); ++i) {
        if (args[i].is_tensor() && on(args[i].tensor())) return true;
        if (args[i].kind != ArgKind::tensors) continue;
        const std::span<const Tensor> list = args[i].tensors();
        if (std::any_of(list.begin(), list.end(), on)) return true;
      }
      return std::any_of(written.begin(), written.end(), on);
    };
    for (const Shared& chain : those(wanted)) run(chain);
  }

 private:
  // False if another thread has wanted the result, and is computing it or has done so.
  static bool join(const Call& call) {
    Waiting& chain = *own.chain;
    const std::unique_lock running(chain.running, std::try_to_lock);
    if (!running || chain.done) return false;
    const bool normalises = &call.op() == &op_def<"_batch_norm">();
    const ChannelAffine affine = normalises ? normalisation_of(call) : ChannelAffine();
    if (normalises && !affine.moderate) return false;
    const std::lock_guard listing(state().listing);  // others look at what it reads and makes
    if (normalises) {
      chain.join_norm(affine, call.out());
    } else if (&call.op() == &op_def<"add">()) {
      chain.join_sum(call.tensor(chain.is_newest(call.tensor(0)) ? 1 : 0), call.out());
    } else if (&call.op() == &op_def<"_max_pool2d">()) {
      chain.join_pool(*windows_of(call), call.out());
    } else {
      chain.join_relu(call.out());
    }
    return true;
  }

  static void run_at_once(const Call& call, int outs) {
    run_own();
    Tensor made[Infer::max_outs];
    for (int i = 0; i < outs; ++i) {
      const Tensor& out = call.out(i);
      made[i] = out->storage().has_memory() ? out : Tensor::empty(out.sizes(), out.dtype());
    }
    {
      const Quiet quiet;
      const HostUnlock unlock(true);
      call.op().kernels[static_cast<int>(DeviceType::cpu)](
          Call(call.op(), call.raw(), made, call.compute));
    }
    for (int i = 0; i < outs; ++i) {
      if (!made[i].is_same(call.out(i))) call.out(i)->storage().take_memory(made[i]->storage());
    }
  }

  // Memory for a small result that is there at once.
  static void fulfil(Storage& storage) {
    storage.allocate_promised();
    storage.set_pending(false);
  }

  static bool is_newest(const Infer& infer, int i) {
    return infer[i].is_tensor() && own.chain->is_newest(infer.tensor(i)) &&
           can_wait(infer.tensor(i));
  }

  static bool joins_norm(const Infer& infer) {
    if (infer.boolean(5) || !own.chain->can_join(normalised) || !is_newest(infer, 0)) return false;
    for (int i = 1; i <= 4; ++i) {
      if (infer.has(i) && (differentiated(infer.tensor(i)) || infer.tensor(i)->is_meta()))
        return false;
    }
    return true;
  }

  static bool joins_sum(const Infer& infer) {
    if (!own.chain->can_join(added) || !infer.scalar(2).equals(1)) return false;
    const int newest = is_newest(infer, 0) ? 0 : 1;
    if (!is_newest(infer, newest) || !infer[1 - newest].is_tensor()) return false;
    const Tensor& other = infer.tensor(1 - newest);
    return can_wait(other) && other.is_contiguous() && same(other.sizes(), infer.out().sizes) &&
           !other->storage().is_pending();
  }

  // The windows of _max_pool2d, if they do not overlap and lie inside of the image.
  static std::optional<ConvTail> windows_of(const Args& args) {
    const Geometry g = geometry(args, args.tensor(0).sizes().last(2), 4, 5);
    ConvTail windows;
    for (size_t i = 0; i < 2; ++i) {
      if (g.kernel[i] > g.stride[i] || g.padding[i] != 0 || g.dilation[i] != 1) return std::nullopt;
      windows.window[i] = g.kernel[i];
      windows.step[i] = g.stride[i];
    }
    return args.boolean(5) ? std::nullopt : std::optional(windows);
  }

  static bool joins_pool(const Infer& infer) {
    if (!own.chain->can_join(pooled) || !is_newest(infer, 0)) return false;
    const std::optional<ConvTail> windows = windows_of(infer);
    return windows && own.chain->can_pool(*windows);
  }

  // Of a convolution: that oneDNN would do it, and that it is worth the writing down.
  static bool begins(const Infer& infer) {
    const Tensor &x = infer.tensor(0), &weight = infer.tensor(1);
    if (infer.boolean(6) || !can_wait(x) || !can_wait(weight)) return false;
    if (infer.has(2) && !can_wait(infer.tensor(2))) return false;
    if (!infer.out().strides.empty() || x.ndim() < 4 || !cpu::onednn::enabled()) return false;
    constexpr int64_t least_result = 1 << 13, least_work = 150'000;  // oneDNN's own limit
    const int64_t elements = count_elements(infer.out().sizes);
    return elements > least_result && elements * (weight.numel() / weight->size(0)) >= least_work;
  }
};

// --- fork(): threads that do not exist in the new process leave what they had begun.

void mend_after_fork() {
  State& s = state();
  for (const Shared& chain : s.waiting) {
    if (chain->running.try_lock()) {
      chain->running.unlock();
    } else {
      new (&chain->running) std::mutex;
    }
  }
  s.listing.unlock();
}

Awaiter awaiter;

}  // namespace

void install_awaiting() {
  awaiting = &awaiter;
  Storage::run_awaited = run_wanted;
  pthread_atfork([] { state().listing.lock(); }, [] { state().listing.unlock(); }, mend_after_fork);
}

}  // namespace wisp::ops
