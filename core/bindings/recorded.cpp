#include "bindings/recorded.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bindings/graph_values.h"
#include "bindings/tensor_object.h"
#include "bindings/types.h"
#include "graph/interpreter.h"
#include "graph/trace.h"
#include "tensor/contents.h"
#include "transform/levels.h"

namespace wisp::python {

using graph::Datum;
using graph::Kind;
using graph::Prim;
using graph::Recorder;
using graph::TypeRef;
using graph::Value;

// --- Recorded

namespace {

// Whether a tensor has no attributes of its own, which could hide methods.
bool is_bare(PyObject* tensor) {
  PyObject* dict = reinterpret_cast<TensorObject*>(tensor)->dict;
  return !dict || PyDict_GET_SIZE(dict) == 0;
}

bool same_number(PyObject* a, PyObject* b) {
  if (PyFloat_CheckExact(a)) {
    const double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return std::memcmp(&x, &y, sizeof(x)) == 0;
  }
  return (PyLong_CheckExact(a) || PyUnicode_CheckExact(a)) &&
         PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

PyObject* item(PyObject* tuple, Py_ssize_t i) { return PyTuple_GET_ITEM(tuple, i); }

bool same_names(PyObject* a, PyObject* b) {
  if (a == b) return true;
  return a && b && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

bool is_plain(PyObject* value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
         PyFloat_CheckExact(value) || PyUnicode_CheckExact(value);
}

// Lists, tuples and dicts count as what they hold.
bool is_holder(PyObject* value) {
  return PyTuple_CheckExact(value) || PyList_CheckExact(value) || PyDict_CheckExact(value);
}

template <class F>
void each_key(PyObject* dict, F f) {
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &key, &value);) f(key);
}

template <class F>
void each_item(PyObject* holder, F f) {
  if (PyDict_CheckExact(holder)) {
    each_key(holder, [&](PyObject* key) { f(PyDict_GetItemWithError(holder, key)); });
    return;
  }
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(holder); ++i)
    f(PySequence_Fast_GET_ITEM(holder, i));
}

// All that a call is given, and what that holds.
template <class F>
void each_within(PyObject* value, F f) {
  if (is_holder(value)) {
    each_item(value, [&](PyObject* item) { each_within(item, f); });
  } else {
    f(value);
  }
}
template <class F>
void each_within(const Given& given, F f) {
  for (size_t i = 0; i < given.count(); ++i) each_within(given.args[i], f);
}

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

// Notes, while it lives, if something is called of which it is not known what it does.
class Watching {
 public:
  Watching(const Premises& premises, std::string& doubt) : premises_(premises), doubt_(doubt) {
    watching = this;
    PyEval_SetProfile(note, nullptr);
  }
  ~Watching() {
    PyEval_SetProfile(nullptr, nullptr);
    watching = nullptr;
  }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;

 private:
  static int note(PyObject*, PyFrameObject* frame, int what, PyObject* called) {
    if (!watching || !watching->doubt_.empty()) return 0;
    if (what == PyTrace_C_CALL) watching->doubt_ = watching->premises_.objection_to_builtin(called);
    if (what != PyTrace_CALL) return 0;
    const Ref code(reinterpret_cast<PyObject*>(PyFrame_GetCode(frame)));
    watching->doubt_ = watching->premises_.objection_to_code(code.get());
    return 0;
  }

  static WISP_THREAD_LOCAL Watching* watching;
  const Premises& premises_;
  std::string& doubt_;
};
WISP_THREAD_LOCAL Watching* Watching::watching = nullptr;

// Records this thread's calls in its scope.
class Recording {
 public:
  explicit Recording(Recorder& recorder) { transform::set_recorder(&recorder); }
  ~Recording() { transform::set_recorder(nullptr); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
};

// What a function returned, as a value of its graph; null: it cannot be made again.
Value* value_of(Recorder& recorder, PyObject* result) {
  if (is_tensor(result)) return &recorder.value_of(tensor_of(result));
  if (is_plain(result)) return &recorder.constant(to_datum(result), type_of(result));
  if (!PyTuple_CheckExact(result)) return nullptr;
  std::vector<Value*> parts;
  std::vector<TypeRef> types;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(result); ++i) {
    Value* part = value_of(recorder, item(result, i));
    if (!part) return nullptr;
    parts.push_back(part);
    types.push_back(part->type);
  }
  return &recorder.construct(Prim::TupleConstruct, parts, graph::tuple_of(std::move(types)));
}

}  // namespace

bool Recorded::Input::items_fit(PyObject* object) const {
  size_t i = 0;
  if (!PyDict_CheckExact(object)) {
    if (static_cast<size_t>(PySequence_Fast_GET_SIZE(object)) != items.size()) return false;
    PyObject** const values = PySequence_Fast_ITEMS(object);
    return std::all_of(items.begin(), items.end(),
                       [&](const Input& input) { return input.fits(values[i++]); });
  }
  if (static_cast<size_t>(PyDict_GET_SIZE(object)) != items.size()) return false;
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(object, &at, &key, &value); ++i) {
    if (!same_names(key, keys[i].get()) || !items[i].fits(value)) return false;
  }
  return true;
}

WISP_INLINE bool Recorded::Input::fits(PyObject* object) const {
  if (Py_TYPE(object) != type) return false;
  if (WISP_UNLIKELY(holds)) return items_fit(object);
  if (!is_tensor()) return object == value.get() || same_number(object, value.get());
  const TensorImpl& impl = *impl_of(object);
  return impl.dtype() == dtype && wisp::same(impl.sizes(), sizes) && is_bare(object);
}

Recorded::Input Recorded::input_of(PyObject* object) {
  Input input{Py_TYPE(object), {}, false, DType::float32, {}};
  if (is_tensor(object)) {
    input.dtype = tensor_of(object).dtype();
    input.sizes = Dims(tensor_of(object).sizes());
  } else if (is_holder(object)) {
    input.holds = true;
    each_item(object, [&](PyObject* item) { input.items.push_back(input_of(item)); });
    if (PyDict_CheckExact(object))
      each_key(object, [&](PyObject* key) { input.keys.push_back(Ref::borrow(key)); });
  } else {
    input.value = Ref::borrow(object);
  }
  return input;
}

Recorded::Recorded(const Given& given, const Premises& premises)
    : default_device_(default_device()),
      positional_(given.positional()),
      kwnames_(Ref::borrow(given.kwnames)) {
  for (size_t i = 0; i < given.count(); ++i) inputs_.push_back(input_of(given.args[i]));
  for (const Ref& tensor : premises.tensors()) inputs_.push_back(input_of(tensor.get()));
}

WISP_INLINE bool Recorded::fits(const Given& given, const Premises& premises) const {
  const size_t count = given.count();
  const std::vector<Ref>& named = premises.tensors();
  if (count + named.size() != inputs_.size() || given.positional() != positional_ ||
      !same_names(given.kwnames, kwnames_.get()))
    return false;
  for (size_t i = 0; i < count; ++i) {
    if (!inputs_[i].fits(given.args[i])) return false;
  }
  for (size_t i = 0; i < named.size(); ++i) {
    if (!inputs_[count + i].fits(named[i].get())) return false;
  }
  if (WISP_UNLIKELY(uses_defaults_) && !same_defaults()) return false;
  return WISP_LIKELY(places_.empty()) || places_fit(given, premises);
}

WISP_INLINE size_t Recorded::collect(const Given& given, const Premises& premises,
                                     TensorImpl** tensors) const {
  size_t count = 0;
  for (size_t i = 0; i < given.count(); ++i) {
    if (WISP_LIKELY(inputs_[i].is_tensor())) {
      tensors[count++] = impl_of(given.args[i]);
    } else if (inputs_[i].holds) {
      each_within(given.args[i], [&](PyObject* item) {
        if (is_tensor(item)) tensors[count++] = impl_of(item);
      });
    }
  }
  for (const Ref& tensor : premises.tensors()) tensors[count++] = impl_of(tensor.get());
  return count;
}

// Of each tensor the first place it is in.
std::vector<size_t> Recorded::places_in(const Given& given, const Premises& premises) const {
  TensorImpl* tensors[max_tensors];
  const size_t count = collect(given, premises, tensors);
  std::vector<size_t> places;
  for (size_t i = 0; i < count; ++i)
    places.push_back(static_cast<size_t>(std::find(tensors, tensors + i, tensors[i]) - tensors));
  return places;
}

// Whether what was one tensor in several places is so again; and, if the function asks, whether
// nothing else is: neither arguments, nor what operators return of tensors that are contiguous.
bool Recorded::places_fit(const Given& given, const Premises& premises) const {
  TensorImpl* tensors[max_tensors];
  const size_t count = collect(given, premises, tensors);
  for (size_t i = 0; i < count; ++i) {
    if (tensors[i] != tensors[places_[i]]) return false;
  }
  if (!premises.asks_identity()) return true;
  return places_in(given, premises) == places_ && same_layouts(tensors, count) &&
         same_values(given);
}

bool Recorded::same_layouts(TensorImpl* const* tensors, size_t count) const {
  for (size_t i = 0; i < count; ++i) {
    if (tensors[i]->is_contiguous() != contiguous_[i]) return false;
  }
  return true;
}

// New tensors are of these.
bool Recorded::same_defaults() const {
  return default_dtype() == default_dtype_ && default_device() == default_device_;
}

bool Recorded::same_values(const Given& given) const {
  for (size_t i = 0; i < given.count(); ++i) {
    const Input& input = inputs_[i];
    if (input.value && input.value.get() != given.args[i]) return false;
  }
  return true;
}

PyObject* Recorded::call(const Given& given, const Premises& premises) const {
  TensorImpl* tensors[max_tensors];
  const size_t count = collect(given, premises, tensors);
  Datum result = graph::run_plain(*function_->code, {tensors, count});
  return result.is_tensor() ? wrap(result.take_tensor())
                            : to_python(result, function_->result.get());
}

// Left empty where they do not matter.
void Recorded::find_places(const Given& given, const Premises& premises) {
  places_ = places_in(given, premises);
  TensorImpl* tensors[max_tensors];
  const size_t count = collect(given, premises, tensors);
  for (size_t i = 0; i < count; ++i) contiguous_.push_back(tensors[i]->is_contiguous());
  size_t at = 0;
  const bool apart =
      std::all_of(places_.begin(), places_.end(), [&](size_t i) { return i == at++; });
  if (apart && !premises.asks_identity()) places_.clear();
}

Ref Recorded::record(PyObject* function, const Given& given, const Premises& premises,
                     std::string& doubt) {
  program_ = wisp::Ref<graph::Program>::adopt(new graph::Program);
  const auto recorder = wisp::Ref<Recorder>::adopt(new Recorder(program_, true));
  recorder->begin("recorded");
  find_places(given, premises);
  size_t at = 0;
  const auto add = [&](const Tensor& tensor) {
    Value& param = recorder->add_param("", graph::exact_type(tensor));
    if (places_.empty() || places_[at] == at) recorder->know(tensor, param);
    ++at;
  };
  each_within(given, [&](PyObject* value) {
    if (is_tensor(value)) add(tensor_of(value));
  });
  for (const Ref& tensor : premises.tensors()) add(tensor_of(tensor.get()));
  Ref result;
  contents_read = false;
  {
    const Watching watching(premises, doubt);
    const Recording recording(*recorder);
    result = Ref(PyObject_Vectorcall(function, given.args, given.nargsf, given.kwnames));
  }
  if (doubt.empty() && contents_read) doubt = "it looks at what a tensor holds";
  if (doubt.empty() && !fits(given, premises)) doubt = "it changes what it is given";
  try {
    if (result) finish(*recorder, result.get(), doubt);
  } catch (...) {  // the call itself has been made
    doubt = "it could not be recorded";
  }
  return result;
}

void Recorded::finish(Recorder& recorder, PyObject* result, std::string& doubt) {
  Value* value = value_of(recorder, result);
  if (doubt.empty()) doubt = recorder.doubt();
  if (!value && doubt.empty())
    doubt = "it returns something else than tensors, numbers and tuples of them";
  if (!doubt.empty()) return;
  draws_ = recorder.draws();
  uses_defaults_ = recorder.uses_defaults();
  function_ = &recorder.end(*value);
  recorder.close();
  graph::prepare(*function_);
}

int Recorded::traverse(visitproc visit, void* arg) const {
  for (const Input& input : inputs_) {
    if (const int status = input.traverse(visit, arg)) return status;
  }
  return 0;
}

int Recorded::Input::traverse(visitproc visit, void* arg) const {
  Py_VISIT(value.get());
  for (const Input& item : items) {
    if (const int status = item.traverse(visit, arg)) return status;
  }
  return 0;
}

// --- Recordings

void Recordings::forget_old() {
  // What they let go of may run Python code, which may come here.
  const auto premises = std::exchange(old_premises_, {});
  const auto recordings = std::exchange(old_, {});
}

namespace {

// Why a call with such arguments cannot be recorded; null: it can.
const char* objection(const Given& given, const Premises& premises) {
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
