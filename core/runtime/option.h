#pragma once

#include <utility>

// A setting of an Options class: options.name(value) sets it, options.name() asks for it.
#define WISP_OPTION(type, name, ...)           \
 public:                                       \
  auto& name(type value) {                     \
    name##_ = std::move(value);                \
    return *this;                              \
  }                                            \
  const type& name() const { return name##_; } \
                                               \
 private:                                      \
  type name##_ = __VA_ARGS__
