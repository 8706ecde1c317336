// Some kernels are not run by the call that asks for them but before the next kernel of its thread,
// together with what has joined them by then: a convolution whose result nobody differentiates or a
// batch norm, with a sum, relu and the largest of windows behind it (waiting_images.h); the
// derivative of relu, with the sum of gradients in front of it and the derivative of batch norm
// behind it (waiting_gradient.h). Results in between that nobody holds any more are never written.
//
// Nobody can tell: arguments are checked at once, whoever asks for memory of a result has it
// computed (it is a promise), and whoever writes what waiting kernels read makes them run first.
// What others may write unseen (memory of NumPy) is never waited with.
#include "ops/awaited.h"

#include <memory>
#include <new>
#include <pthread.h>
#include <vector>

#include "dispatch/awaited.h"
#include "ops/waiting_gradient.h"
#include "ops/waiting_images.h"

namespace wisp::ops {

namespace {

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

void enlist(Shared chain) {
  State& s = state();
  const std::lock_guard lock(s.listing);
  s.waiting.push_back(std::move(chain));
  Storage::set_awaited(true);
}

void strike(const Shared& chain) {
  WaitingParts gone;  // behind the lock
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
    const Quiet quiet;
    if (!chain->done) chain->run(plain);  // if that fails, whoever asks next tries again
    chain->done = true;
  }
  strike(chain);
}

// What a call is to what its thread has waiting.
enum class Part : uint8_t { none, begins, joins, ends };

// What the thread has waiting. A thread that ends leaves what others may still ask for.
struct Own {
  Shared chain;
  Part next = Part::none;  // of the call that is about to be taken
  ~Own() {
    if (!chain) return;
    const auto unwanted = [&](const Waiting& each) {
      return &each == chain.get() && !each.is_wanted();
    };
    for (const Shared& each : those(unwanted)) strike(each);
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

// Kernels on so few elements are over before the next call could join what waits: it goes on
// waiting, unless they concern it.
bool is_small(const OpDef& op, const Arg* args) {
  constexpr int64_t few = 4096;
  for (size_t i = 0; i < op.sig.params.size(); ++i) {
    if (args[i].kind == ArgKind::tensors || (args[i].is_tensor() && args[i].tensor().numel() > few))
      return false;
  }
  return !op.has(trait::factory);
}

class Awaiter : public Awaiting {
 public:
  bool takes_small() const override { return false; }

  bool takes(const Infer& infer, std::span<const Tensor> targets) override {
    if (mode.interceptor || mode.transforms || Storage::any_lazy() || Quiet::anywhere())
      return false;
    own.next = part_of(infer, targets);
    return own.next != Part::none;
  }

  void take(const Call& call, int outs) override {
    for (int i = 1; i < outs; ++i) fulfil(call.out(i)->storage());  // statistics, small gradients
    switch (own.next) {
      case Part::begins:
        run_own(!WaitingImages::begins_with(call.op()));  // which like blocks of channels
        return begin(call);
      case Part::ends:
        if (!end(call)) run_at_once(call, outs);
        break;
      default:
        if (!join(call)) run_at_once(call, outs);
    }
  }

  void before(const OpDef& op, const Arg* args, std::span<const Tensor> written) override {
    if (!Quiet::anywhere() && !is_small(op, args)) run_own();
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
  static Part part_of(const Infer& infer, std::span<const Tensor> targets) {
    if (own.chain) {
      const std::lock_guard lock(state().listing);  // until then another thread may compute it
      if (!own.chain->done && own.chain->can_join(infer, targets)) return Part::joins;
      if (!own.chain->done && own.chain->can_end_with(infer)) return Part::ends;
    }
    const bool begins = (targets.empty() && WaitingImages::can_begin(infer)) ||
                        WaitingGradient::can_begin(infer, targets);
    return begins ? Part::begins : Part::none;
  }

  static void begin(const Call& call) {
    if (WaitingImages::begins_with(call.op())) {
      const HostUnlock unlock(true);  // statistics of a batch are found at once
      own.chain = std::make_shared<WaitingImages>(call);
    } else {
      own.chain = std::make_shared<WaitingGradient>(call);
    }
    enlist(own.chain);
  }

  // False if another thread has wanted the result, and is computing it or has done so, or if the
  // call does not fit after all.
  static bool join(const Call& call) {
    Waiting& chain = *own.chain;
    const std::unique_lock running(chain.running, std::try_to_lock);
    if (!running || chain.done) return false;
    return chain.join(call, state().listing);
  }

  // False if another thread has done so.
  static bool end(const Call& call) {
    const Shared chain = own.chain;
    const HostUnlock unlock(true);
    {
      const std::lock_guard lock(chain->running);
      if (chain->done) return false;
      const Quiet quiet;
      chain->run_with(call);
      chain->done = true;
    }
    own.chain = nullptr;
    strike(chain);
    return true;
  }

  static void run_at_once(const Call& call, int outs) {
    run_own();
    Tensor made[Infer::max_outs];
    for (int i = 0; i < outs; ++i) {
      const Tensor& out = call.out(i);
      made[i] = out->storage().has_memory()
                    ? out
                    : Tensor::empty_strided(out.sizes(), out.strides(), out.dtype());
    }
    {
      const Quiet quiet;
      const HostUnlock unlock(true);
      run_kernel(Call(call.op(), call.raw(), made, call.compute));
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
