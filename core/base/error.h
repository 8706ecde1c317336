// Errors that reach the user. The kind decides the Python exception type. Programs in C++17 include
// this file too, as they do the others that runtime/ includes.
#pragma once

#include <exception>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "base/compiler.h"

namespace wisp {

enum class ErrorKind {
  runtime,          // RuntimeError
  type,             // TypeError
  value,            // ValueError
  index,            // IndexError
  not_implemented,  // NotImplementedError
  memory,           // wisp.OutOfMemoryError, a RuntimeError
  buffer,           // BufferError
  linalg,           // wisp.linalg.LinAlgError, a RuntimeError
};

class WISP_API Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  ErrorKind kind() const { return kind_; }
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  ErrorKind kind_;
  std::string message_;
};

namespace detail {

template <class T, class = void>
inline constexpr bool is_printable = false;
template <class T>
inline constexpr bool is_printable<
    T, std::void_t<decltype(std::declval<std::ostream&>() << std::declval<const T&>())>> = true;

inline void put(std::ostream& out, bool value) { out << (value ? "True" : "False"); }

template <class T>
void put(std::ostream& out, const T& value) {
  if constexpr (is_printable<T>) {
    out << value;
  } else {  // a range of numbers prints as a Python list
    out << '[';
    const char* separator = "";
    for (const auto& item : value) {
      out << separator;
      put(out, item);
      separator = ", ";
    }
    out << ']';
  }
}

// A part of a message, and what writes it. Parts of all types are put together by the same code:
// there are about two thousand messages.
struct Part {
  const void* value;
  void (*put)(std::ostream& out, const void* value);
};
template <class T>
void put_at(std::ostream& out, const void* value) {
  put(out, *static_cast<const T*>(value));
}
inline void put_text(std::ostream& out, const void* text) { out << static_cast<const char*>(text); }
inline Part part(const char* text) { return {text, put_text}; }
template <class T>
Part part(const T& value) {
  return {&value, put_at<T>};
}

WISP_API std::string join(const Part* parts, size_t count);
[[noreturn]] WISP_API void fail(ErrorKind kind, const Part* parts, size_t count);

// How a part is handed on: texts as such, whatever their lengths.
template <class T>
inline constexpr bool is_text = std::is_array_v<T> && std::is_same_v<std::remove_extent_t<T>, char>;
template <class T>
using Handed = std::conditional_t<is_text<T>, const char*, const T&>;

template <class... Parts>
WISP_COLD std::string str(Parts... parts) {
  const Part all[] = {part(parts)...};
  return join(all, sizeof...(parts));
}
template <class... Parts>
[[noreturn]] WISP_COLD void fail(ErrorKind kind, Parts... parts) {
  const Part all[] = {part(parts)...};
  fail(kind, all, sizeof...(parts));
}

}  // namespace detail

// Concatenates its arguments: str("expected ", 2, " got ", sizes).
template <class... Parts>
std::string str(const Parts&... parts) {
  return detail::str<detail::Handed<Parts>...>(parts...);
}

template <class... Parts>
[[noreturn]] WISP_INLINE void fail(ErrorKind kind, const Parts&... parts) {
  detail::fail<detail::Handed<Parts>...>(kind, parts...);
}

// check(condition, "message ", value): throws RuntimeError's counterpart unless the condition
// holds.
#define WISP_CHECK_KIND(kind, condition, ...)                                            \
  do {                                                                                   \
    if (WISP_UNLIKELY(!(condition))) ::wisp::fail(::wisp::ErrorKind::kind, __VA_ARGS__); \
  } while (0)
#define WISP_CHECK(condition, ...) WISP_CHECK_KIND(runtime, condition, __VA_ARGS__)
#define WISP_CHECK_TYPE(condition, ...) WISP_CHECK_KIND(type, condition, __VA_ARGS__)
#define WISP_CHECK_VALUE(condition, ...) WISP_CHECK_KIND(value, condition, __VA_ARGS__)
#define WISP_CHECK_INDEX(condition, ...) WISP_CHECK_KIND(index, condition, __VA_ARGS__)

}  // namespace wisp
