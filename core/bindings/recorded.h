// Calls of a Python function that were recorded once and are made again without Python: of compiled
// functions that do nothing but call operators, in a way that what tensors hold cannot change.
#pragma once

#include <memory>
#include <vector>

#include "base/trials.h"
#include "bindings/python.h"
#include "graph/graph.h"
#include "tensor/shape.h"

namespace wisp::graph {
class Recorder;
}

namespace wisp::python {

// What a Python function gets.
struct Given {
  PyObject* const* args;
  size_t nargsf;
  PyObject* kwnames;
  size_t positional() const { return static_cast<size_t>(PyVectorcall_NARGS(nargsf)); }
  size_t count() const {
    return positional() + static_cast<size_t>(kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  }
};

// What everything that is recorded of a function rests on: what its names stand for, and its code.
class Premises {
 public:
  // From what wisp._premises has found.
  explicit Premises(PyObject* found);
  bool hold();
  // Why they do not hold, in words.
  std::string change();
  // Whether it is known what tensors of this class do.
  bool knows(PyTypeObject* type) const;
  // Tensors that the function finds by name.
  const std::vector<Ref>& tensors() const { return tensors_; }
  int traverse(visitproc visit, void* arg) const;

 private:
  struct Names {  // in one dict
    Ref dict;
    std::vector<std::pair<Ref, Ref>> values;  // null: there is none of that name
    uint64_t version;
    bool hold();
    bool are_the_same();
  };
  struct Parts {  // of a function
    Ref function, code, defaults, keyword_defaults;
    bool hold() const;
  };
  Names& names_in(PyObject* dict);

  std::vector<Names> names_;
  std::vector<std::pair<Ref, Ref>> cells_;
  std::vector<Parts> functions_;
  std::vector<std::pair<Ref, unsigned>> types_;  // and their versions
  std::vector<Ref> tensors_;
};

// A recorded call, good for arguments of the same types and sizes, and the same numbers.
class Recorded {
 public:
  static constexpr size_t max_tensors = 16;

  Recorded(const Given& given, const Premises& premises);
  bool fits(const Given& given, const Premises& premises) const;
  // The result, or null without an error set if something failed: then Python is to say what.
  PyObject* call(const Given& given, const Premises& premises) const;
  // Calls the function. Why the call cannot be made without it is left in `doubt`.
  Ref record(PyObject* function, const Given& given, const Premises& premises, std::string& doubt);
  int traverse(visitproc visit, void* arg) const;

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
    Ref value;  // of what is no tensor
    DType dtype = DType::float32;
    Dims sizes;
    bool is_tensor() const { return !value; }
    bool fits(PyObject* object) const;
  };
  static constexpr int calls_between = 15;

  Trials trials_{{}};
  Trials::Choice settled_;
  uint64_t settled_key_ = 0;
  int left_ = 0;
  std::vector<Input> inputs_;  // arguments, then what is found by name
  size_t positional_, tensor_count_ = 0;
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
  // Whether there will never be any.
  bool is_hopeless() const { return over_ && all_.empty(); }
  // The recording that such a call may go by now; null.
  Recorded* find(const Given& given);
  PyObject* call(Recorded& recorded, const Given& given) const {
    return recorded.call(given, *premises_);
  }
  // Whether a call that is about to be made as it is is to be recorded. The trials know how long
  // such calls take.
  bool is_due(const Trials& trials, uint64_t key);
  Ref record(PyObject* function, const Given& given);
  // Counts a call that failed when it was made without Python.
  void note_failure();
  // Why the last call that was to be recorded was not; empty if it was.
  const std::string& reason() const { return reason_; }
  int traverse(visitproc visit, void* arg) const;

 private:
  static constexpr size_t max_recordings = 8;
  static constexpr int max_failures = 8, max_renewals = 4, max_refusals = 3;
  // To find that no recording fits takes time, which those that fit have to save.
  static constexpr int misses_per_hit = 16, most_misses = 1024;
  void find_premises(PyObject* function);
  void start_again();
  void forget_old();
  void refuse(std::string doubt);
  void give_up(std::string reason);

  std::unique_ptr<Premises> premises_;
  std::vector<std::unique_ptr<Recorded>> all_;
  // Those that no longer hold, but that somebody may be inside of.
  std::vector<std::unique_ptr<Recorded>> old_;
  std::vector<std::unique_ptr<Premises>> old_premises_;
  int64_t calls_ = 0;
  int inside_ = 0, failures_ = 0, renewals_ = 0, refusals_ = 0, misses_ = 0;
  bool over_ = false;
  std::string reason_;
};

}  // namespace wisp::python
