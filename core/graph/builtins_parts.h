// What the files of builtins share: each adds the functions of one kind of values to the table.
#pragma once

#include <limits>
#include <vector>

#include "graph/builtins.h"
#include "graph/error.h"

namespace wisp::graph {

using BuiltinArgs = std::span<Datum>;

void add_number_builtins(std::vector<BuiltinRow>& table);
void add_math_builtins(std::vector<BuiltinRow>& table);
void add_string_builtins(std::vector<BuiltinRow>& table);
void add_list_builtins(std::vector<BuiltinRow>& table);
void add_dict_builtins(std::vector<BuiltinRow>& table);
void add_tensor_builtins(std::vector<BuiltinRow>& table);
void add_type_builtins(std::vector<BuiltinRow>& table);
void add_context_builtins(std::vector<BuiltinRow>& table);
void add_gradient_builtins(std::vector<BuiltinRow>& table);

// The parts of a text with commas between them, without looking into brackets.
std::vector<std::string_view> split_list(std::string_view text);

// Reads a plain value as a C++ type.
template <class T>
T value_of(const Datum& value);
template <>
inline int64_t value_of(const Datum& value) {
  return value.integer();
}
template <>
inline double value_of(const Datum& value) {
  return value.real();
}
template <>
inline bool value_of(const Datum& value) {
  return value.boolean();
}
template <>
inline std::complex<double> value_of(const Datum& value) {
  return value.complex();
}
template <>
inline const std::string& value_of(const Datum& value) {
  return value.string();
}

// Table entries from a function of one or two C++ values.
template <class T, auto f>
Datum unary(BuiltinArgs args) {
  return f(value_of<T>(args[0]));
}
template <class T, auto f>
Datum binary(BuiltinArgs args) {
  return f(value_of<T>(args[0]), value_of<T>(args[1]));
}

// A place in a sequence of `size` items, counted from its end if negative; fails with IndexError.
int64_t checked_position(int64_t index, int64_t size, const char* what);

// The items [start, stop) by step of a sequence, limited to it as Python does. An end of None is
// the natural one.
struct Range {
  int64_t start, step, count;
};
Range resolve_slice(const Datum& start, const Datum& stop, const Datum& step, int64_t size);

// How many numbers range(start, stop, step) has.
int64_t range_length(int64_t start, int64_t stop, int64_t step);

// str.format(): `{}`, `{0}`, `{:>8.2f}`, `{!r}`.
std::string format_text(const std::string& pattern, BuiltinArgs values);
std::string percent_text(const std::string& pattern, BuiltinArgs values);  // pattern % values

// Characters, not bytes.
std::u32string decode_utf8(const std::string& text);
std::string encode_utf8(const std::u32string& text);

// Whether values are equal as Python's == says: tensors in lists and dicts by their only element.
bool alike(const Datum& a, const Datum& b);

}  // namespace wisp::graph
