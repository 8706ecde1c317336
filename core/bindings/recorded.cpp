#include "bindings/recorded.h"

#include <algorithm>
#include <cstring>

#include "bindings/graph_values.h"
#include "bindings/tensor_object.h"
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

// --- Premises

namespace {

// A number that changes with every change of a dict; 0: Python has none, so its items are looked
// at.
uint64_t version_of([[maybe_unused]] PyObject* dict) {
#if PY_VERSION_HEX < 0x030c0000
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#else
  return 0;
#endif
}

// The same of a class; 0: unknown.
unsigned version_of(PyTypeObject* type) {
#if PY_VERSION_HEX < 0x030d0000
  if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
  return type->tp_version_tag;
}

// A class that nobody has looked anything up in since it was changed has no version.
unsigned given_version_of(PyTypeObject* type) {
#if PY_VERSION_HEX >= 0x030c0000
  PyUnstable_Type_AssignVersionTag(type);
#endif
  return version_of(type);
}

PyFunctionObject* as_function(const Ref& function) {
  return reinterpret_cast<PyFunctionObject*>(function.get());
}

PyObject* item(PyObject* tuple, Py_ssize_t i) { return PyTuple_GET_ITEM(tuple, i); }

template <class F>
void each(PyObject* tuple, F f) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) f(item(tuple, i));
}

}  // namespace

bool Premises::Names::are_the_same() {
  for (const auto& [name, value] : values) {
    if (PyDict_GetItemWithError(dict.get(), name.get()) != value.get()) {
      PyErr_Clear();
      return false;
    }
  }
  version = version_of(dict.get());
  return true;
}

WISP_INLINE bool Premises::Names::hold() {
  const uint64_t now = version_of(dict.get());
  return (now != 0 && now == version) || are_the_same();
}

WISP_INLINE bool Premises::Parts::hold() const {
  const PyFunctionObject* now = as_function(function);
  return now->func_code == code.get() && now->func_defaults == defaults.get() &&
         now->func_kwdefaults == keyword_defaults.get();
}

Premises::Names& Premises::names_in(PyObject* dict) {
  for (Names& names : names_) {
    if (names.dict.get() == dict) return names;
  }
  names_.push_back({Ref::borrow(dict), {}, version_of(dict)});
  return names_.back();
}

// (names: ((dict, name[, value]), ...), cells: ((cell, value), ...), functions, classes, tensors)
Premises::Premises(PyObject* found) {
  each(item(found, 0), [&](PyObject* name) {
    PyObject* value = PyTuple_GET_SIZE(name) > 2 ? item(name, 2) : nullptr;
    names_in(item(name, 0)).values.emplace_back(Ref::borrow(item(name, 1)), Ref::borrow(value));
  });
  each(item(found, 1), [&](PyObject* cell) {
    cells_.emplace_back(Ref::borrow(item(cell, 0)), Ref::borrow(item(cell, 1)));
  });
  each(item(found, 2), [&](PyObject* function) {
    const Ref owner = Ref::borrow(function);
    const PyFunctionObject* now = as_function(owner);
    functions_.push_back({owner, Ref::borrow(now->func_code), Ref::borrow(now->func_defaults),
                          Ref::borrow(now->func_kwdefaults)});
  });
  each(item(found, 3), [&](PyObject* type) {
    types_.emplace_back(Ref::borrow(type), given_version_of(reinterpret_cast<PyTypeObject*>(type)));
  });
  each(item(found, 4), [&](PyObject* tensor) { tensors_.push_back(Ref::borrow(tensor)); });
}

WISP_INLINE bool Premises::hold() {
  for (const auto& [type, version] : types_) {
    if (version == 0 || version_of(reinterpret_cast<PyTypeObject*>(type.get())) != version)
      return false;
  }
  for (const Parts& parts : functions_) {
    if (!parts.hold()) return false;
  }
  for (Names& names : names_) {
    if (!names.hold()) return false;
  }
  for (const auto& [cell, value] : cells_) {
    if (PyCell_GET(cell.get()) != value.get()) return false;
  }
  return true;
}

std::string Premises::change() {
  for (Names& names : names_) {
    for (const auto& [name, value] : names.values) {
      const bool same = PyDict_GetItemWithError(names.dict.get(), name.get()) == value.get();
      PyErr_Clear();
      if (!same) return str("'", text_of(name.get()), "' stands for something else now");
    }
  }
  for (const Parts& parts : functions_) {
    if (!parts.hold())
      return str(text_of(as_function(parts.function)->func_qualname), "() was changed");
  }
  for (const auto& [cell, value] : cells_) {
    if (PyCell_GET(cell.get()) != value.get())
      return "a variable of the function around it was changed";
  }
  return "a class of tensors was changed";
}

bool Premises::knows(PyTypeObject* type) const {
  return std::any_of(types_.begin(), types_.end(), [&](const auto& known) {
    return known.first.get() == reinterpret_cast<PyObject*>(type);
  });
}

int Premises::traverse(visitproc visit, void* arg) const {
  for (const Names& names : names_) {
    Py_VISIT(names.dict.get());
    for (const auto& [name, value] : names.values) Py_VISIT(value.get());
  }
  for (const auto& [cell, value] : cells_) {
    Py_VISIT(cell.get());
    Py_VISIT(value.get());
  }
  for (const Parts& parts : functions_) {
    Py_VISIT(parts.function.get());
    Py_VISIT(parts.defaults.get());
    Py_VISIT(parts.keyword_defaults.get());
  }
  for (const auto& [type, version] : types_) Py_VISIT(type.get());
  for (const Ref& tensor : tensors_) Py_VISIT(tensor.get());
  return 0;
}

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

bool same_names(PyObject* a, PyObject* b) {
  if (a == b) return true;
  return a && b && PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

bool is_plain(PyObject* value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
         PyFloat_CheckExact(value) || PyUnicode_CheckExact(value);
}

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

WISP_INLINE bool Recorded::Input::fits(PyObject* object) const {
  if (Py_TYPE(object) != type) return false;
  if (!is_tensor()) return object == value.get() || same_number(object, value.get());
  const TensorImpl& impl = *impl_of(object);
  return impl.dtype() == dtype && wisp::same(impl.sizes(), sizes) && is_bare(object);
}

Recorded::Recorded(const Given& given, const Premises& premises)
    : positional_(given.positional()), kwnames_(Ref::borrow(given.kwnames)) {
  const auto add = [&](PyObject* object) {
    Input input{Py_TYPE(object), {}, DType::float32, {}};
    if (is_tensor(object)) {
      input.dtype = tensor_of(object).dtype();
      input.sizes = Dims(tensor_of(object).sizes());
      ++tensor_count_;
    } else {
      input.value = Ref::borrow(object);
    }
    inputs_.push_back(std::move(input));
  };
  for (size_t i = 0; i < given.count(); ++i) add(given.args[i]);
  for (const Ref& tensor : premises.tensors()) add(tensor.get());
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
  return true;
}

PyObject* Recorded::call(const Given& given, const Premises& premises) const {
  TensorImpl* tensors[max_tensors];
  size_t count = 0;
  for (size_t i = 0; i < given.count(); ++i) {
    if (inputs_[i].is_tensor()) tensors[count++] = impl_of(given.args[i]);
  }
  for (const Ref& tensor : premises.tensors()) tensors[count++] = impl_of(tensor.get());
  Datum result = graph::run_plain(*function_->code, {tensors, count});
  return result.is_tensor() ? wrap(result.take_tensor())
                            : to_python(result, function_->result.get());
}

Ref Recorded::record(PyObject* function, const Given& given, const Premises& premises,
                     std::string& doubt) {
  program_ = wisp::Ref<graph::Program>::adopt(new graph::Program);
  const auto recorder = wisp::Ref<Recorder>::adopt(new Recorder(program_, true));
  recorder->begin("recorded");
  const auto add = [&](const Tensor& tensor) {
    recorder->know(tensor, recorder->add_param("", graph::exact_type(tensor)));
  };
  for (size_t i = 0; i < given.count(); ++i) {
    if (inputs_[i].is_tensor()) add(tensor_of(given.args[i]));
  }
  for (const Ref& tensor : premises.tensors()) add(tensor_of(tensor.get()));
  Ref result;
  contents_read = false;
  {
    const Recording recording(*recorder);
    result = Ref(PyObject_Vectorcall(function, given.args, given.nargsf, given.kwnames));
  }
  if (contents_read) doubt = "it looks at what a tensor holds";
  try {
    if (result) finish(*recorder, result.get(), doubt);
  } catch (...) {  // the call itself has been made
    doubt = "it could not be recorded";
  }
  return result;
}

void Recorded::finish(Recorder& recorder, PyObject* result, std::string& doubt) {
  Value* value = value_of(recorder, result);
  if (!recorder.doubt().empty()) doubt = recorder.doubt();
  if (!value) doubt = "it returns something else than tensors, numbers and tuples of them";
  if (!doubt.empty()) return;
  function_ = &recorder.end(*value);
  recorder.close();
  graph::prepare(*function_);
}

int Recorded::traverse(visitproc visit, void* arg) const {
  for (const Input& input : inputs_) Py_VISIT(input.value.get());
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
  std::vector<const TensorImpl*> seen;
  bool classes_known = true;
  const auto see = [&](PyObject* object) {
    classes_known = classes_known && is_bare(object) && premises.knows(Py_TYPE(object));
    seen.push_back(impl_of(object));
  };
  for (size_t i = 0; i < given.count(); ++i) {
    if (is_tensor(given.args[i])) {
      see(given.args[i]);
    } else if (!is_plain(given.args[i])) {
      return "it is called with something else than tensors and numbers";
    }
  }
  for (const Ref& tensor : premises.tensors()) see(tensor.get());
  if (!classes_known) return "it is called with tensors of other classes, or with attributes";
  if (seen.size() > Recorded::max_tensors) return "it reads too many tensors";
  std::sort(seen.begin(), seen.end());
  const bool twice = std::adjacent_find(seen.begin(), seen.end()) != seen.end();
  return twice ? "it is called with one tensor in two places" : nullptr;
}

}  // namespace

Recorded* Recordings::find(const Given& given) {
  if (WISP_UNLIKELY(!premises_->hold())) {
    start_again();
    return nullptr;
  }
  for (const auto& recorded : all_) {
    if (!recorded->fits(given, *premises_)) continue;
    misses_ = std::max(0, misses_ - misses_per_hit);
    return recorded.get();
  }
  if (all_.size() == max_recordings && ++misses_ == most_misses) {
    start_again();
    give_up("its calls are seldom alike");
  }
  return nullptr;
}

// Finding out what a function does takes about as long as it has taken so far, and a call in the
// order of microseconds.
bool Recordings::is_due(const Trials& trials, uint64_t key) {
  constexpr int64_t often = 64, longest = 100'000, enough = 1'000'000;  // nanoseconds
  if (over_ || ++calls_ % often != 0 || all_.size() == max_recordings) return false;
  const int64_t time = trials.times(key).other;
  return time <= longest && calls_ * time >= enough;
}

void Recordings::give_up(std::string reason) {
  reason_ = std::move(reason);
  over_ = true;
}

void Recordings::start_again() {
  if (premises_) reason_ = premises_->change() + ", so that it has to be recorded anew";
  std::move(all_.begin(), all_.end(), std::back_inserter(old_));
  all_.clear();
  if (premises_) old_premises_.push_back(std::move(premises_));
  calls_ = 0;
  if (inside_ == 0) forget_old();
  if (++renewals_ > max_renewals) give_up("what it refers to by name keeps changing");
}

void Recordings::note_failure() {
  if (++failures_ < max_failures) return;
  start_again();
  give_up("calls without Python failed");
}

// Whatever goes wrong with that is no concern of the function.
void Recordings::find_premises(PyObject* function) {
  static PyObject* const find = import_attribute("wisp._premises", "premises_of");
  const Ref found(PyObject_CallOneArg(find, function));
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
  calls_ = 0;
  if (premises_ && !premises_->hold()) start_again();
  if (!premises_) find_premises(function);
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
  if (!doubt.empty() || !result) {
    refuse(doubt.empty() ? "it failed" : std::move(doubt));
  } else if (premises == premises_.get() && all_.size() < max_recordings) {
    all_.push_back(std::move(made));
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
