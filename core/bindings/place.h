/* Which line of the user's program a call comes from. */
#pragma once

#include <Python.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Files whose path starts with this are the library's own and are passed over. */
void wisp_place_set_library(const char* folder);
/* The code object (a new reference, or NULL) and the instruction that is running. */
PyObject* wisp_place_here(int* instruction);
/* How many calls up the user's program is: a stacklevel for warnings. */
int wisp_place_level(void);
/* "file.py:12 in function"; 0 on error. */
int wisp_place_describe(PyObject* code, int instruction, char* buffer, size_t size);

#ifdef __cplusplus
}
#endif
