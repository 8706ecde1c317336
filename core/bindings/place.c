/* Reads the interpreter's current frame without making a frame object: this runs for every recorded
   operation. The layout of frames differs between Python versions, hence C and the internal
   headers. */
#define PY_SSIZE_T_CLEAN
#if defined(__GNUC__)
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#endif
#include <Python.h>
#if PY_VERSION_HEX >= 0x030B0000
#define Py_BUILD_CORE
#include "internal/pycore_frame.h"
#undef Py_BUILD_CORE
#else
#include <frameobject.h>
#endif

#include <stdio.h>
#include <string.h>

#include "place.h"

static char library_folder[4096];
static size_t library_length = 0;

void wisp_place_set_library(const char* folder) {
  library_length = strlen(folder);
  if (library_length >= sizeof(library_folder)) library_length = 0;
  memcpy(library_folder, folder, library_length);
}

/* Whether code belongs to the library, remembered by address. An entry may be stale after a code
   object died; then a line of the library is reported, no more. */
#define CACHE_SIZE 1024
static struct {
  PyCodeObject* code;
  int own;
} cache[CACHE_SIZE];

static int is_library(PyCodeObject* code) {
  size_t slot = ((size_t)code >> 5) % CACHE_SIZE;
  if (cache[slot].code == code) return cache[slot].own;
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) {
    PyErr_Clear();
    return 0;
  }
  cache[slot].own = library_length > 0 && strncmp(file, library_folder, library_length) == 0;
  cache[slot].code = code;
  return cache[slot].own;
}

#if PY_VERSION_HEX >= 0x030B0000

static struct _PyInterpreterFrame* current_frame(PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030D0000
  return state->current_frame;
#else
  return state->cframe->current_frame;
#endif
}

// Null for frames that are not of Python code.
static PyCodeObject* code_of(struct _PyInterpreterFrame* frame) {
#if PY_VERSION_HEX >= 0x030C0000
  if (frame->owner == FRAME_OWNED_BY_CSTACK) return NULL;
#endif
#if PY_VERSION_HEX >= 0x030E0000
  PyObject* code = PyStackRef_AsPyObjectBorrow(frame->f_executable);
#elif PY_VERSION_HEX >= 0x030D0000
  PyObject* code = frame->f_executable;
#else
  PyObject* code = (PyObject*)frame->f_code;
#endif
  return code && PyCode_Check(code) ? (PyCodeObject*)code : NULL;
}

PyObject* wisp_place_here(int* instruction) {
  PyThreadState* state = PyThreadState_Get();
  struct _PyInterpreterFrame* frame = current_frame(state);
  PyCodeObject* found = NULL;
  for (; frame; frame = frame->previous) {
    PyCodeObject* code = code_of(frame);
    if (!code) continue;
    found = code;
#if PY_VERSION_HEX >= 0x030D0000
    *instruction = (int)(frame->instr_ptr - _PyCode_CODE(code)) * (int)sizeof(_Py_CODEUNIT);
#else
    *instruction = (int)(frame->prev_instr - _PyCode_CODE(code)) * (int)sizeof(_Py_CODEUNIT);
#endif
    if (!is_library(code)) break;
  }
  Py_XINCREF((PyObject*)found);
  return (PyObject*)found;
}

int wisp_place_level(void) {
  struct _PyInterpreterFrame* frame = current_frame(PyThreadState_Get());
  int level = 0;
  for (; frame; frame = frame->previous) {
    PyCodeObject* code = code_of(frame);
    if (!code) continue;
    ++level;
    if (!is_library(code)) return level;
  }
  return 1;
}

#else

int wisp_place_level(void) {
  PyFrameObject* frame = PyThreadState_Get()->frame;
  for (int level = 1; frame; frame = frame->f_back, ++level) {
    if (!is_library(frame->f_code)) return level;
  }
  return 1;
}

PyObject* wisp_place_here(int* instruction) {
  PyThreadState* state = PyThreadState_Get();
  PyFrameObject* frame = state->frame;
  PyCodeObject* found = NULL;
  for (; frame; frame = frame->f_back) {
    found = frame->f_code;
    *instruction = frame->f_lasti * (int)sizeof(_Py_CODEUNIT);
    if (!is_library(found)) break;
  }
  Py_XINCREF((PyObject*)found);
  return (PyObject*)found;
}

#endif

int wisp_place_describe(PyObject* object, int instruction, char* buffer, size_t size) {
  PyCodeObject* code = (PyCodeObject*)object;
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  const char* name = PyUnicode_AsUTF8(code->co_name);
  if (!file || !name) {
    PyErr_Clear();
    return 0;
  }
  const int line = PyCode_Addr2Line(code, instruction);
  if (strcmp(name, "<module>") == 0) {
    snprintf(buffer, size, "%s:%d", file, line);
  } else {
    snprintf(buffer, size, "%s:%d in %s", file, line, name);
  }
  return 1;
}
