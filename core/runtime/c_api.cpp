#include <algorithm>
#include <memory>

#include "runtime/bridge.h"
#include "runtime/c.h"
#include "runtime/wisp.h"

namespace api = wisp::api;

struct wisp_tensor {
  api::Tensor tensor;  // contiguous
};
struct wisp_module {
  api::jit::Module module;
};

namespace {

#define WISP_SAME(id, ...) static_cast<int>(wisp::DType::id)
static_assert(WISP_SAME(bool_) == WISP_BOOL && WISP_SAME(uint8) == WISP_UINT8 &&
              WISP_SAME(int8) == WISP_INT8 && WISP_SAME(int16) == WISP_INT16 &&
              WISP_SAME(int32) == WISP_INT32 && WISP_SAME(int64) == WISP_INT64 &&
              WISP_SAME(float16) == WISP_FLOAT16 && WISP_SAME(bfloat16) == WISP_BFLOAT16 &&
              WISP_SAME(float32) == WISP_FLOAT32 && WISP_SAME(float64) == WISP_FLOAT64 &&
              WISP_SAME(complex64) == WISP_COMPLEX64 && WISP_SAME(complex128) == WISP_COMPLEX128);
#undef WISP_SAME

thread_local std::string last_error;

void note_error(const char* message) noexcept {
  try {
    last_error = message;
  } catch (...) {  // not even memory for the message
    last_error.clear();
  }
}

// Calls f; what it throws is noted, and `failed` is returned.
template <class Result, class F>
Result guarded(Result failed, F f) noexcept {
  try {
    return f();
  } catch (const std::exception& error) {
    note_error(error.what());
  } catch (...) {
    note_error("an unknown error");
  }
  return failed;
}

// What f says of a tensor; 0 or null if there is none.
template <class F>
auto asked(const wisp_tensor* tensor, F f) noexcept {
  using Result = decltype(f(tensor->tensor));
  return guarded(Result(), [&]() -> Result {
    WISP_CHECK_VALUE(tensor, "a tensor is null");
    return f(tensor->tensor);
  });
}

wisp::DType dtype_in(wisp_dtype dtype) {
  const auto number = static_cast<unsigned>(dtype);
  WISP_CHECK_VALUE(number < wisp::num_dtypes, "there is no dtype ", number);
  return static_cast<wisp::DType>(number);
}

api::Tensor on_memory(void* data, wisp_dtype dtype, const int64_t* shape, size_t ndim) {
  const api::IntList sizes(shape, ndim);
  WISP_CHECK_VALUE(shape || ndim == 0, "a shape is missing");
  const bool empty = std::count(sizes.begin(), sizes.end(), 0) > 0;
  WISP_CHECK_VALUE(data || empty, "the data of a tensor is missing");
  return api::from_blob(data, sizes, dtype_in(dtype));
}

// Any byte but 0 is true.
api::Tensor copied(const api::Tensor& shared, void* data) {
  if (shared.dtype() != api::kBool) return shared.clone();
  return api::from_blob(data, shared.sizes(), api::kUInt8).ne(0);
}

// Appends the tensors of a result.
void collect(const api::Value& value, std::vector<api::Tensor>& found) {
  using Kind = api::Value::Kind;
  switch (value.kind()) {
    case Kind::tensor:
      found.push_back(value.to_tensor().detach().contiguous());
      break;
    case Kind::boolean:
      found.push_back(api::tensor(value.to_bool()));
      break;
    case Kind::integer:
      found.push_back(api::tensor(value.to_int()));
      break;
    case Kind::real:
      found.push_back(api::tensor(value.to_double(), api::kFloat64));
      break;
    case Kind::list:
    case Kind::tuple:
      for (const api::Value& item : value.to_list()) collect(item, found);
      break;
    case Kind::dict:
      for (const auto& [key, item] : value.to_dict()) collect(item, found);
      break;
    default:
      wisp::fail(wisp::ErrorKind::type, "the result holds ", value.kind_name(),
                 ", which is no tensor");
  }
}

std::vector<api::Value> values_in(const wisp_tensor* const* inputs, size_t count) {
  std::vector<api::Value> values;
  for (size_t i = 0; i < count; ++i) {
    WISP_CHECK_VALUE(inputs && inputs[i], "input ", i, " is missing");
    values.emplace_back(inputs[i]->tensor);
  }
  return values;
}

wisp_tensor** array_of(const std::vector<api::Tensor>& tensors) {
  std::vector<std::unique_ptr<wisp_tensor>> owned;
  for (const api::Tensor& tensor : tensors) owned.emplace_back(new wisp_tensor{tensor});
  auto array = std::make_unique<wisp_tensor*[]>(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) array[i] = owned[i].release();
  return array.release();
}

}  // namespace

const char* wisp_last_error() { return last_error.c_str(); }

int wisp_set_num_threads(int threads) {
  return guarded(1, [&] {
    api::set_num_threads(threads);
    return 0;
  });
}

// --- tensors

wisp_tensor* wisp_tensor_new(const void* data, wisp_dtype dtype, const int64_t* shape,
                             size_t ndim) {
  return guarded<wisp_tensor*>(nullptr, [&] {
    void* source = const_cast<void*>(data);  // only read
    return new wisp_tensor{copied(on_memory(source, dtype, shape, ndim), source)};
  });
}

wisp_tensor* wisp_tensor_wrap(void* data, wisp_dtype dtype, const int64_t* shape, size_t ndim) {
  return guarded<wisp_tensor*>(
      nullptr, [&] { return new wisp_tensor{on_memory(data, dtype, shape, ndim)}; });
}

void wisp_tensor_free(wisp_tensor* tensor) { delete tensor; }

wisp_dtype wisp_tensor_dtype(const wisp_tensor* tensor) {
  return asked(tensor, [](const api::Tensor& t) { return static_cast<wisp_dtype>(t.dtype()); });
}
size_t wisp_tensor_ndim(const wisp_tensor* tensor) {
  return asked(tensor, [](const api::Tensor& t) { return static_cast<size_t>(t.dim()); });
}
const int64_t* wisp_tensor_shape(const wisp_tensor* tensor) {
  return asked(tensor, [](const api::Tensor& t) { return api::core(t).sizes().data(); });
}
size_t wisp_tensor_numel(const wisp_tensor* tensor) {
  return asked(tensor, [](const api::Tensor& t) { return static_cast<size_t>(t.numel()); });
}
size_t wisp_tensor_nbytes(const wisp_tensor* tensor) {
  return asked(tensor, [](const api::Tensor& t) { return t.nbytes(); });
}
const void* wisp_tensor_data(const wisp_tensor* tensor) {
  return asked(tensor, [](const api::Tensor& t) -> const void* { return t.data_ptr(); });
}

// --- modules

wisp_module* wisp_module_load(const char* path) {
  return guarded<wisp_module*>(nullptr, [&] {
    WISP_CHECK_VALUE(path, "a path is missing");
    return new wisp_module{api::jit::load(path)};
  });
}

void wisp_module_free(wisp_module* module) { delete module; }

int wisp_module_run(const wisp_module* module, const char* method, const wisp_tensor* const* inputs,
                    size_t input_count, wisp_tensor*** outputs, size_t* output_count) {
  return guarded(1, [&] {
    WISP_CHECK_VALUE(module && method && outputs && output_count, "an argument is null");
    const api::NoGradGuard unrecorded;
    std::vector<api::Tensor> found;
    collect(module->module.run_method(method, values_in(inputs, input_count)), found);
    *outputs = array_of(found);
    *output_count = found.size();
    return 0;
  });
}

int wisp_module_forward(const wisp_module* module, const wisp_tensor* const* inputs,
                        size_t input_count, wisp_tensor*** outputs, size_t* output_count) {
  return wisp_module_run(module, "forward", inputs, input_count, outputs, output_count);
}

void wisp_tensors_free(wisp_tensor** tensors, size_t count) {
  for (size_t i = 0; tensors && i < count; ++i) delete tensors[i];
  delete[] tensors;
}
