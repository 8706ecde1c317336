// The thread's modes, and what a host language (Python) provides to the core.
#pragma once

#include <string>
#include <vector>

#include "base/compiler.h"
#include "dispatch/op_def.h"

namespace wisp {

enum class Form : uint8_t { functional, in_place, out };

// Sees every call before it runs, for recorders (lazy, trace), the profiler and the like. Returning
// true means the call was handled; `outs` then holds its results. Installed on a per-thread stack;
// an interceptor is not active while it runs.
class Interceptor {
 public:
  virtual ~Interceptor() = default;
  virtual bool intercept(const OpDef& op, const Arg* args, Form form, TensorList& outs) = 0;
};

// Takes kernels to be run later (lazy evaluation). What such a kernel writes is marked as pending:
// whoever asks a pending storage for its memory has everything run that was put off.
class Deferrer {
 public:
  virtual ~Deferrer() = default;
  // Whether it takes a kernel whose results will be as inferred, or be written into `targets`.
  virtual bool takes(const Infer& infer, std::span<const Tensor> targets) = 0;
  virtual void take(const Call& call, int outs) = 0;
  // Whether calls on few elements are to be put off too, though nothing that they read waits.
  virtual bool takes_small() const = 0;
};

// The one that takes everything, and the one that takes calls on many elements, to be run soon;
// null if the program has none.
extern Deferrer *putting_off, *fusing;

struct Mode {
  bool grad = true;        // record what backward needs
  bool inference = false;  // tensors made now can never take part in autograd
  Interceptor* interceptor = nullptr;
  Deferrer* deferrer = nullptr;
  int transforms = 0;  // how many function transforms run on this thread, hidden ones included
  std::vector<std::string>* warnings = nullptr;  // where warnings wait, if the host cannot be asked
};
extern constinit WISP_THREAD_LOCAL Mode mode;

// Whether a derivative by this tensor may be asked for, in reverse or in forward mode.
inline bool differentiated(const Tensor& t) {
  return (mode.grad && t.requires_grad()) || t->layers() != nullptr;
}

// Whether what a derivative rule computes may itself be differentiated, in either mode: it then has
// to be made of operators that have derivatives.
inline bool rules_are_differentiated() { return mode.grad || mode.interceptor != nullptr; }

class GradMode {  // sets grad mode for a scope
 public:
  explicit GradMode(bool enabled) : previous_(mode.grad) { mode.grad = enabled; }
  ~GradMode() { mode.grad = previous_; }
  GradMode(const GradMode&) = delete;
  GradMode& operator=(const GradMode&) = delete;

 private:
  bool previous_;
};

// A line of the user's program. `code` is owned through Host::keep and Host::drop.
struct Place {
  void* code = nullptr;
  int32_t at = 0;
};

// All optional: a C++ program has none of them.
struct Host {
  Place (*here)() = nullptr;  // where the running call comes from
  void (*drop)(Place&) = nullptr;
  std::string (*describe)(const Place&) = nullptr;  // "train.py:12 in step"
  void* (*unlock)() = nullptr;  // lets other threads of the host run during a long kernel
  void (*lock)(void*) = nullptr;
  void (*check_interrupt)() = nullptr;  // throws if the user pressed Ctrl-C
  void (*warn)(const std::string&) = nullptr;
};
extern Host host;

// Lets the host's other threads run for a scope, if the work is worth it and they cannot already: a
// few kernels are written with other operators.
class HostUnlock {
 public:
  explicit HostUnlock(bool worth_it) {
    if (!worth_it || unlocked_ || !host.unlock) return;
    token_ = host.unlock();
    unlocked_ = true;
  }
  ~HostUnlock() {
    if (!token_) return;
    unlocked_ = false;
    host.lock(token_);
  }
  HostUnlock(const HostUnlock&) = delete;
  HostUnlock& operator=(const HostUnlock&) = delete;

  // For a scope of a thread that never had the lock, or has given it away already.
  class Without {
   public:
    Without() : before_(unlocked_) { unlocked_ = true; }
    ~Without() { unlocked_ = before_; }
    Without(const Without&) = delete;
    Without& operator=(const Without&) = delete;

   private:
    bool before_;
  };

 private:
  static inline constinit WISP_THREAD_LOCAL bool unlocked_ = false;
  void* token_ = nullptr;
};

void warn(const std::string& message);

// What call() needs of the room `autograd`, which sets it at start.
struct AutogradHooks {
  // Makes one node of a call whose inputs need a gradient; the results get it as their grad_fn. In
  // place, `original` is self as it was before, if a rule wants to see it.
  void (*record)(const OpDef& op, const Arg* args, Tensor* outs, size_t count, Form form,
                 const Tensor& original) = nullptr;
  // Refuses to write where that would make gradients wrong (leaves, inference tensors).
  void (*check_write)(const OpDef& op, const Tensor& self, bool differentiable) = nullptr;
  // Notes a write into self: bumps the version and remembers the place.
  void (*wrote)(const OpDef& op, const Tensor& self) = nullptr;
};
extern AutogradHooks autograd_hooks;

}  // namespace wisp
