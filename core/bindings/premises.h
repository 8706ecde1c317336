// What a recorded call rests on: whatever a Python function finds by name.
#pragma once

#include <string>
#include <vector>

#include "bindings/python.h"

namespace wisp::python {

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
  // Whether it is known what attributes of this object are looked at.
  bool knows_object(PyObject* object) const;
  // Tensors that the function finds by name.
  const std::vector<Ref>& tensors() const { return tensors_; }
  // Whether it matters which objects are the same.
  bool asks_identity() const { return asks_identity_; }
  // What is called while a call is recorded must be known. Why it is not, in words; empty: it is.
  std::string objection_to_code(PyObject* code) const;
  std::string objection_to_builtin(PyObject* function) const;
  int traverse(visitproc visit, void* arg) const;

 private:
  struct Names {  // in one dict
    Ref dict;
    std::vector<std::pair<Ref, Ref>> values;  // null: there is none of that name
    uint64_t version;
    bool whole = false;  // whether there are no others
    bool hold();
    bool are_the_same();
    bool are_all() const;
  };
  struct Parts {  // of a function
    Ref function, code, defaults, keyword_defaults;
    bool hold() const;
  };
  struct Attributes {  // of an object
    Ref object, dict;
    PyTypeObject* type;
    bool hold() const;
  };
  struct Items {  // of a list
    Ref list, items;
    bool hold() const;
  };
  Names& names_in(PyObject* dict);

  std::vector<Names> names_;
  std::vector<std::pair<Ref, Ref>> cells_;
  std::vector<Parts> functions_;
  std::vector<std::pair<Ref, unsigned>> types_;  // and their versions
  std::vector<Ref> tensors_;
  std::vector<Attributes> objects_;
  std::vector<Items> lists_;
  bool asks_identity_;
  std::vector<std::pair<Ref, Ref>> shunned_;  // what could not be read, and why
  std::vector<Ref> codes_;                    // what could
};

}  // namespace wisp::python
