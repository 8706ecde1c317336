// All that is recorded of one function.
#include <algorithm>
#include <bit>

#include "bindings/recorded.h"

namespace wisp::python {

namespace {

// A number that tells most calls apart that are not alike, by sizes and numbers.
uint64_t key_of(PyObject* value) {
  if (is_tensor(value)) return static_cast<uint64_t>(impl_of(value)->numel());
  if (PyFloat_CheckExact(value)) return std::bit_cast<uint64_t>(PyFloat_AS_DOUBLE(value));
  if (!PyLong_CheckExact(value)) return 0;
  int overflow;
  return static_cast<uint64_t>(PyLong_AsLongAndOverflow(value, &overflow));
}

uint64_t key_of(const Given& given) {
  uint64_t key = given.positional();
  for (size_t i = 0; i < given.count(); ++i) key = mixed(key, key_of(given.args[i]));
  return key;
}

// Why a call with such arguments cannot be recorded; null: it can.
const char* objection(const Given& given, const Premises& premises) {
  Py_ssize_t most_objects = 1024;
  for (size_t i = 0; i < given.count(); ++i) {
    if (!is_small(given.args[i], most_objects)) return "it is called with lists of many objects";
  }
  size_t count = 0;
  bool classes_known = true;
  const auto see = [&](PyObject* object) {
    classes_known = classes_known && is_bare(object) && premises.knows(Py_TYPE(object));
    ++count;
  };
  bool values_known = true;
  each_within(given, [&](PyObject* value) {
    if (is_tensor(value)) {
      see(value);
    } else {
      values_known = values_known && (is_plain(value) || premises.knows_object(value));
    }
  });
  if (!values_known) return "it is called with something else than tensors and numbers";
  for (const Ref& tensor : premises.tensors()) see(tensor.get());
  if (!classes_known) return "it is called with tensors of other classes, or with attributes";
  return count > Recorded::max_tensors ? "it reads too many tensors" : nullptr;
}

}  // namespace

void Recordings::forget_old() {
  // What they let go of may run Python code, which may come here.
  const auto premises = std::exchange(old_premises_, {});
  const auto recordings = std::exchange(old_, {});
}

Recorded* Recordings::find(const Given& given) {
  if (WISP_UNLIKELY(!premises_->hold())) {
    start_again();
    return nullptr;
  }
  if (all_.size() == 1) return all_[0]->fits(given, *premises_) ? all_[0].get() : nullptr;
  const uint64_t key = key_of(given);
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i] == key && all_[i]->fits(given, *premises_)) return all_[i].get();
  }
  if (all_.size() >= few_recordings) note_miss();
  return nullptr;
}

void Recordings::note_miss() {
  if (++misses_ < most_misses) return;
  start_again();
  give_up("its calls are seldom alike, or Python is faster");
}

// Finding out what a function does takes about as long as it has taken so far, and a call in the
// order of microseconds.
bool Recordings::is_due(const Trials& trials, uint64_t key) {
  constexpr int64_t often = 64, longest = 100'000, enough = 1'000'000;  // nanoseconds
  if (over_ || ++calls_ - looked_at_ < often || all_.size() == max_recordings) return false;
  looked_at_ = calls_;
  const int64_t time = trials.times(key).other;
  return time <= longest && calls_ * time >= enough << std::min(renewals_, 8);
}

// A module that draws random numbers while it is trained need not do so afterwards.
bool Recordings::revives() {
  if (!premises_ || renewals_ == max_renewals || premises_->hold()) return false;
  over_ = false;
  refusals_ = 0;
  start_again();
  return true;
}

void Recordings::give_up(std::string reason) {
  reason_ = std::move(reason);
  over_ = true;
}

void Recordings::start_again() {
  if (premises_) reason_ = premises_->change() + ", so that it has to be recorded anew";
  std::move(all_.begin(), all_.end(), std::back_inserter(old_));
  all_.clear();
  keys_.clear();
  if (premises_) old_premises_.push_back(std::move(premises_));
  calls_ = looked_at_ = 0;
  if (inside_ == 0) forget_old();
  if (++renewals_ > max_renewals) give_up("what it refers to by name keeps changing");
}

void Recordings::note_failure() {
  if (++failures_ < max_failures) return;
  start_again();
  give_up("calls without Python failed");
}

// Whatever goes wrong with that is no concern of the function.
void Recordings::find_premises(PyObject* function, const Given& given) {
  static PyObject* const find = import_attribute("wisp._premises", "premises_of");
  const Ref arguments = owned(PyTuple_New(static_cast<Py_ssize_t>(given.count())));
  for (size_t i = 0; i < given.count(); ++i)
    PyTuple_SET_ITEM(arguments.get(), i, Ref::borrow(given.args[i]).release());
  const Ref found(PyObject_CallFunctionObjArgs(find, function, arguments.get(), nullptr));
  if (!found) {
    PyErr_Clear();
    give_up("its code could not be read");
  } else if (PyUnicode_Check(found.get())) {
    give_up(text_of(found.get()));
  } else if (!premises_) {  // another thread may have found them meanwhile
    premises_ = std::make_unique<Premises>(found.get());
  }
}

Ref Recordings::record(PyObject* function, const Given& given) {
  calls_ = looked_at_ = 0;
  if (premises_ && !premises_->hold()) start_again();
  if (!premises_) find_premises(function, given);
  const bool possible = premises_ && !over_;
  const char* const objects = possible ? objection(given, *premises_) : nullptr;
  if (objects) refuse(objects);
  if (objects || !possible)
    return Ref(PyObject_Vectorcall(function, given.args, given.nargsf, given.kwnames));
  const Inside inside(*this);
  const Premises* const premises = premises_.get();  // another thread may start again meanwhile
  auto made = std::make_unique<Recorded>(given, *premises);
  std::string doubt;
  Ref result = made->record(function, given, *premises, doubt);
  if (doubt.empty() && premises == premises_.get() && !premises_->hold())
    doubt = premises_->change() + " by itself";
  if (!doubt.empty() || !result) {
    refuse(doubt.empty() ? "it failed" : std::move(doubt));
  } else if (premises == premises_.get() && all_.size() < max_recordings) {
    all_.push_back(std::move(made));
    keys_.push_back(key_of(given));
    reason_.clear();
  }
  return result;
}

void Recordings::refuse(std::string doubt) {
  reason_ = std::move(doubt);
  if (++refusals_ == max_refusals) over_ = true;
}

int Recordings::traverse(visitproc visit, void* arg) const {
  for (const auto* list : {&old_premises_}) {
    for (const auto& premises : *list) {
      if (const int status = premises->traverse(visit, arg)) return status;
    }
  }
  if (premises_) {
    if (const int status = premises_->traverse(visit, arg)) return status;
  }
  for (const auto* list : {&all_, &old_}) {
    for (const auto& recorded : *list) {
      if (const int status = recorded->traverse(visit, arg)) return status;
    }
  }
  return 0;
}

}  // namespace wisp::python
