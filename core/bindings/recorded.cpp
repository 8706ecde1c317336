#include "bindings/recorded.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "bindings/graph_values.h"
#include "bindings/tensor_object.h"
#include "bindings/tracing.h"
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

// What lists, tuples and dicts hold that a function is given: whether it puts others in their
// places.
class Held {
 public:
  explicit Held(const Given& given) : objects_(objects_in(given)) {}
  bool is_same(const Given& given) const {
    const std::vector<Ref> now = objects_in(given);
    return std::equal(objects_.begin(), objects_.end(), now.begin(), now.end(),
                      [](const Ref& a, const Ref& b) { return a.get() == b.get(); });
  }

 private:
  static std::vector<Ref> objects_in(const Given& given) {
    std::vector<Ref> objects;
    for (size_t i = 0; i < given.count(); ++i) add(given.args[i], objects);
    return objects;
  }
  static void add(PyObject* object, std::vector<Ref>& objects) {
    objects.push_back(Ref::borrow(object));
    if (is_holder(object)) each_item(object, [&](PyObject* item) { add(item, objects); });
  }

  const std::vector<Ref> objects_;
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

bool Recorded::fits(const Given& given, const Premises& premises) const {
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
  return WISP_LIKELY(plain_) || surroundings_fit(given, premises);
}

bool Recorded::surroundings_fit(const Given& given, const Premises& premises) const {
  return (!uses_defaults_ || same_defaults()) && (!switches_modes_ || same_modes()) &&
         (places_.empty() || places_fit(given, premises)) &&
         (!writes_ || may_write(given, premises));
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

// Those that it switches back to.
bool Recorded::same_modes() const { return mode.grad == grad_ && mode.inference == inference_; }

// Whether writes reach what they reached when they were recorded, and may be made at all: operators
// that return what they are given, or share its memory, do so because of strides.
bool Recorded::may_write(const Given& given, const Premises& premises) const {
  TensorImpl* tensors[max_tensors];
  const size_t count = collect(given, premises, tensors);
  for (size_t i = 0; i < count; ++i) {
    if (!wisp::same(tensors[i]->strides(), strides_[i])) return false;
  }
  for (const size_t at : written_) {
    const TensorImpl& target = *tensors[at];
    if (mode.grad && target.requires_grad() && target.is_leaf()) return false;
    for (size_t i = 0; i < count; ++i) {
      const bool same = places_.empty() ? i == at : places_[i] == places_[at];
      if (!same && &tensors[i]->storage() == &target.storage()) return false;
    }
  }
  return true;
}

void Recorded::find_writes(const Recorder& recorder, const Given& given, const Premises& premises,
                           std::string& doubt) {
  writes_ = !recorder.written().empty();
  TensorImpl* tensors[max_tensors];
  const size_t count = collect(given, premises, tensors);
  for (size_t i = 0; i < count && writes_; ++i) {
    strides_.emplace_back(tensors[i]->strides());
    if (recorder.written().contains(&tensors[i]->storage())) written_.push_back(i);
  }
  if (doubt.empty() && writes_ && !may_write(given, premises))
    doubt = "it writes into memory that several tensors share";
}

bool Recorded::same_values(const Given& given) const {
  for (size_t i = 0; i < given.count(); ++i) {
    const Input& input = inputs_[i];
    if (input.value && input.value.get() != given.args[i]) return false;
  }
  return true;
}

Unwritten::Unwritten() : outer_(std::exchange(graph::execution.wrote, false)) {}
Unwritten::~Unwritten() { graph::execution.wrote |= outer_; }
bool Unwritten::is_over() const { return graph::execution.wrote; }

PyObject* Recorded::call(const Given& given, const Premises& premises) const {
  TensorImpl* tensors[max_tensors];
  const size_t count = collect(given, premises, tensors);
  const GradMode switched_back(mode.grad);
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
  contents_read = out_given = false;
  const Held held(given);
  const unsigned switches = mode_switches;
  {
    const Watching watching(premises, doubt);
    const Recording recording(*recorder);
    result = Ref(PyObject_Vectorcall(function, given.args, given.nargsf, given.kwnames));
  }
  if (doubt.empty() && contents_read) doubt = "it looks at what a tensor holds";
  if (doubt.empty() && !(fits(given, premises) && held.is_same(given)))
    doubt = "it changes what it is given";
  if (doubt.empty() && out_given) doubt = "it writes into tensors that it gives for results";
  if (doubt.empty() && !same_modes()) doubt = "it switches the recording of gradients for good";
  switches_modes_ = mode_switches != switches || recorder->switches_grad();
  find_writes(*recorder, given, premises, doubt);
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
  plain_ = !uses_defaults_ && !switches_modes_ && !writes_ && places_.empty();
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

}  // namespace wisp::python
