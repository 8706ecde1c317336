// What the tracer has to be told by the parts of the bindings that turn tensors into Python values
// and Python values into arguments.
#pragma once

#include "bindings/python.h"
#include "graph/trace.h"

namespace wisp::python {

// The recorder of this thread, or null.
extern constinit WISP_THREAD_LOCAL graph::Recorder* tracing;

// Whom this thread tells of reads, beside the recorder: a function of the name of what reads.
extern constinit WISP_THREAD_LOCAL PyObject* read_watcher;

// How often this thread has switched the recording of gradients, or inference mode.
extern constinit WISP_THREAD_LOCAL unsigned mode_switches;

// Makes a recorder, or none, that of this thread.
WISP_COLD void trace_into(graph::Recorder* recorder);
WISP_COLD void warn_read(const char* what);
WISP_COLD void tell_read(const char* what);
WISP_COLD void note_traced_number(PyObject* value, const void* address, int64_t bits);
WISP_COLD void note_traced_param(PyObject* value, const char* param);
WISP_COLD void note_traced_data(PyObject* data, const Tensor& made);
WISP_COLD PyObject* traced_size(const Tensor& tensor, int64_t dim);
WISP_COLD PyObject* traced_shape(const Tensor& tensor);
WISP_COLD PyObject* traced_numel(const Tensor& tensor);

// What happens in a scope is no part of the trace.
class Untraced {
 public:
  Untraced() : recorder_(tracing) {
    if (WISP_UNLIKELY(recorder_ != nullptr)) trace_into(nullptr);
  }
  ~Untraced() {
    if (WISP_UNLIKELY(recorder_ != nullptr)) trace_into(recorder_);
  }
  Untraced(const Untraced&) = delete;
  Untraced& operator=(const Untraced&) = delete;

 private:
  graph::Recorder* recorder_;
};

// A tensor's contents become a Python value: what depends on it will be fixed in the trace.
inline void note_read(const char* what) {
  if (WISP_UNLIKELY(tracing != nullptr)) warn_read(what);
  if (WISP_UNLIKELY(read_watcher != nullptr)) tell_read(what);
}
// A number was converted and stands at an address that the next call will read.
inline void note_number(PyObject* value, const void* address, int64_t bits) {
  if (WISP_UNLIKELY(tracing != nullptr)) note_traced_number(value, address, bits);
}
// A tensor was made of numbers.
inline void note_data(PyObject* data, const Tensor& made) {
  if (WISP_UNLIKELY(tracing != nullptr)) note_traced_data(data, made);
}
// A number will be the argument of that name of the next call.
inline void note_param(PyObject* value, const char* param) {
  if (WISP_UNLIKELY(tracing != nullptr)) note_traced_param(value, param);
}

}  // namespace wisp::python
