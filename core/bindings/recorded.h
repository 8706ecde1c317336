// Calls of a Python function that were recorded once and are made again without Python: of compiled
// functions that do nothing but call operators, in a way that what tensors hold cannot change.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/trials.h"
#include "bindings/given.h"
#include "bindings/premises.h"
#include "dispatch/mode.h"
#include "graph/graph.h"
#include "tensor/shape.h"

namespace wisp::graph {
class Recorder;
}

namespace wisp::python {

// Notes in its scope whether recorded calls on this thread may have written into tensors.
class Unwritten {
 public:
  Unwritten();
  ~Unwritten();
  bool is_over() const;
  Unwritten(const Unwritten&) = delete;
  Unwritten& operator=(const Unwritten&) = delete;

 private:
  const bool outer_;
};

// A recorded call, good for arguments of the same types and sizes, and the same numbers.
class Recorded {
 public:
  static constexpr size_t max_tensors = 64;

  Recorded(const Given& given, const Premises& premises);
  bool fits(const Given& given, const Premises& premises) const;
  // The result, or null without an error set if something failed: then Python is to say what.
  PyObject* call(const Given& given, const Premises& premises) const;
  // Calls the function. Why the call cannot be made without it is left in `doubt`.
  Ref record(PyObject* function, const Given& given, const Premises& premises, std::string& doubt);
  int traverse(visitproc visit, void* arg) const;
  // Whether it draws random numbers.
  bool draws() const { return draws_; }

  // Which way such calls go: by Python, or, the other one, without. What is settled holds for some
  // calls more, which need not ask: they may be over sooner than the trials have answered.
  Trials::Choice choose(uint64_t key) {
    if (WISP_LIKELY(left_ != 0 && settled_key_ == key)) {
      --left_;
      return settled_;
    }
    settled_ = trials_.choose(settled_key_ = key);
    left_ = settled_.at < 0 ? calls_between : 0;
    return settled_;
  }
  void note(const Trials::Choice& choice, int64_t nanoseconds) {
    trials_.note(choice, nanoseconds);
  }
  Trials::Times times(uint64_t key) const { return trials_.times(key); }

 private:
  void finish(graph::Recorder& recorder, PyObject* result, std::string& doubt);

  struct Input {
    PyTypeObject* type;
    Ref value;  // of what is no tensor, list, tuple or dict
    bool holds = false;
    DType dtype = DType::float32;
    Dims sizes;
    std::vector<Input> items = {};  // of what holds others
    std::vector<Ref> keys = {};     // of a dict
    bool is_tensor() const { return !value && !holds; }
    bool fits(PyObject* object) const;
    bool items_fit(PyObject* object) const;
    int traverse(visitproc visit, void* arg) const;
  };
  static Input input_of(PyObject* object);
  size_t collect(const Given& given, const Premises& premises, TensorImpl** tensors) const;
  std::vector<size_t> places_in(const Given& given, const Premises& premises) const;
  void find_places(const Given& given, const Premises& premises);
  bool places_fit(const Given& given, const Premises& premises) const;
  bool same_layouts(TensorImpl* const* tensors, size_t count) const;
  bool same_values(const Given& given) const;
  bool same_defaults() const;
  bool same_modes() const;
  bool surroundings_fit(const Given& given, const Premises& premises) const;
  bool may_write(const Given& given, const Premises& premises) const;
  void find_writes(const graph::Recorder& recorder, const Given& given, const Premises& premises,
                   std::string& doubt);
  static constexpr int calls_between = 15;

  // It has to save what it takes to find it, too.
  Trials trials_{{.clearly = 16}};
  Trials::Choice settled_;
  uint64_t settled_key_ = 0;
  int left_ = 0;
  std::vector<Input> inputs_;     // arguments, then what is found by name
  bool plain_ = true;             // whether nothing but these matters
  std::vector<size_t> places_;    // of each tensor the first one, if some are the same
  std::vector<bool> contiguous_;  // whether each is
  std::vector<size_t> written_;   // tensors that it writes into
  std::vector<Dims> strides_;     // of all tensors, if it writes: which results share memory?
  bool draws_ = false, uses_defaults_ = false, writes_ = false, switches_modes_ = false;
  bool grad_ = mode.grad, inference_ = mode.inference;
  DType default_dtype_ = default_dtype();
  Device default_device_;
  size_t positional_;
  Ref kwnames_;
  wisp::Ref<graph::Program> program_;
  const graph::Function* function_ = nullptr;
};

// What is recorded of one function.
class Recordings {
 public:
  // While one lives, nothing that was found is freed: whoever calls anything may let others run.
  class Inside {
   public:
    explicit Inside(Recordings& all) : all_(all) { ++all_.inside_; }
    ~Inside() {
      if (--all_.inside_ == 0 && WISP_UNLIKELY(!all_.old_.empty())) all_.forget_old();
    }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;

   private:
    Recordings& all_;
  };
  bool empty() const { return all_.empty(); }
  // Whether none is to be expected. What made it so is looked at again from time to time.
  bool is_hopeless() {
    if (!over_ || !all_.empty()) return false;
    if (WISP_LIKELY(++idle_ < calls_between)) return true;
    idle_ = 0;
    return !revives();
  }
  // The recording that such a call may go by now; null.
  Recorded* find(const Given& given);
  // That a call went by what was found, or that the search was in vain.
  void note_hit() { misses_ = std::max(0, misses_ - misses_per_hit); }
  void note_miss();
  PyObject* call(Recorded& recorded, const Given& given) const {
    return recorded.call(given, *premises_);
  }
  // Whether a call that is about to be made as it is is to be recorded. The trials know how long
  // such calls take.
  bool is_due(const Trials& trials, uint64_t key);
  // Counts calls that were left as they are without asking.
  void note_calls(int count) {
    calls_ += count;
    idle_ += count;
  }
  Ref record(PyObject* function, const Given& given);
  // Counts a call that failed when it was made without Python.
  void note_failure();
  // Why the last call that was to be recorded was not; empty if it was.
  const std::string& reason() const { return reason_; }
  int traverse(visitproc visit, void* arg) const;

 private:
  static constexpr size_t max_recordings = 16, few_recordings = 8;
  static constexpr int max_failures = 8, max_renewals = 16, max_refusals = 3;
  static constexpr int calls_between = 4096;
  // To find that no recording fits takes time, which those that fit have to save. Of many that are
  // used in turns, none is in the caches.
  static constexpr int misses_per_hit = 2, most_misses = 1024;
  bool revives();
  void find_premises(PyObject* function, const Given& given);
  void start_again();
  void forget_old();
  void refuse(std::string doubt);
  void give_up(std::string reason);

  std::unique_ptr<Premises> premises_;
  std::vector<std::unique_ptr<Recorded>> all_;
  std::vector<uint64_t> keys_;  // of each of them, see key_of()
  // Those that no longer hold, but that somebody may be inside of.
  std::vector<std::unique_ptr<Recorded>> old_;
  std::vector<std::unique_ptr<Premises>> old_premises_;
  int64_t calls_ = 0, looked_at_ = 0;  // of these
  int idle_ = 0, inside_ = 0, failures_ = 0, renewals_ = 0, refusals_ = 0, misses_ = 0;
  bool over_ = false;
  std::string reason_;
};

}  // namespace wisp::python
