/* wisp for C, and for all languages that can call C: load a compiled model and run it.
 *
 * Nothing here throws. What fails returns a null pointer or a number other than 0, and
 * wisp_last_error() says why. What a function returns as a pointer without const belongs to the
 * caller, who gives it to the function that frees it; freeing a null pointer does nothing. */
#ifndef WISP_C_H
#define WISP_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define WISP_C_API __attribute__((visibility("default")))
#else
#define WISP_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct wisp_tensor wisp_tensor;
typedef struct wisp_module wisp_module;

typedef enum wisp_dtype {
  WISP_BOOL,
  WISP_UINT8,
  WISP_INT8,
  WISP_INT16,
  WISP_INT32,
  WISP_INT64,
  WISP_FLOAT16,
  WISP_BFLOAT16,
  WISP_FLOAT32,
  WISP_FLOAT64,
  WISP_COMPLEX64,
  WISP_COMPLEX128
} wisp_dtype;

/* Why the last call that failed on this thread did so; never null. Valid until the next failure. */
WISP_C_API const char* wisp_last_error(void);

/* How many threads compute. */
WISP_C_API int wisp_set_num_threads(int threads);

/* --- tensors: elements one after the other, the last dimension varying fastest */

/* A tensor with a copy of the data. */
WISP_C_API wisp_tensor* wisp_tensor_new(const void* data, wisp_dtype dtype, const int64_t* shape,
                                        size_t ndim);
/* A tensor on the data itself, which has to stay as long as the tensor and all results that share
 * it, say views. Bools are bytes of 0 or 1. */
WISP_C_API wisp_tensor* wisp_tensor_wrap(void* data, wisp_dtype dtype, const int64_t* shape,
                                         size_t ndim);
WISP_C_API void wisp_tensor_free(wisp_tensor* tensor);

/* What a tensor is and holds. Of a null pointer they return 0 or null, which is a failure. */
WISP_C_API wisp_dtype wisp_tensor_dtype(const wisp_tensor* tensor);
WISP_C_API size_t wisp_tensor_ndim(const wisp_tensor* tensor);
WISP_C_API const int64_t* wisp_tensor_shape(const wisp_tensor* tensor);
WISP_C_API size_t wisp_tensor_numel(const wisp_tensor* tensor);
WISP_C_API size_t wisp_tensor_nbytes(const wisp_tensor* tensor);
WISP_C_API const void* wisp_tensor_data(const wisp_tensor* tensor);

/* --- compiled models, which threads may share */

/* What wisp.jit.save() wrote in Python. */
WISP_C_API wisp_module* wisp_module_load(const char* path);
WISP_C_API void wisp_module_free(wisp_module* module);

/* Calls forward(), or a method by its name, and puts the tensors of the result into a new array:
 * of a tuple, list or dict one after the other; numbers become tensors of one element. A result
 * that holds anything else, say None or a text, is an error. Nothing is recorded for backward. */
WISP_C_API int wisp_module_forward(const wisp_module* module, const wisp_tensor* const* inputs,
                                   size_t input_count, wisp_tensor*** outputs,
                                   size_t* output_count);
WISP_C_API int wisp_module_run(const wisp_module* module, const char* method,
                               const wisp_tensor* const* inputs, size_t input_count,
                               wisp_tensor*** outputs, size_t* output_count);
/* Frees the array and its tensors; entries set to null have been taken out by the caller. */
WISP_C_API void wisp_tensors_free(wisp_tensor** tensors, size_t count);

#ifdef __cplusplus
}
#endif

#endif
