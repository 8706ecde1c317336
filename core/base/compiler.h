// Small compiler helpers that every room may use.
#pragma once

#define WISP_LIKELY(x) __builtin_expect(!!(x), 1)
#define WISP_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define WISP_COLD __attribute__((cold, noinline))
// What programs see of the shared library.
#define WISP_API __attribute__((visibility("default")))

// Kernels are compiled once per instruction set. A function that both the baseline and, say, an
// AVX-512 translation unit instantiate must never be emitted out of line: the linker would keep one
// copy for all of them, perhaps the one an old processor cannot run.
#define WISP_INLINE inline __attribute__((always_inline))

// The extension is always loaded at start-up or by import, never unloaded: the cheapest
// thread-local model is safe, and it saves a call per access.
#define WISP_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) thread_local
