// What a jit::Module holds. Not part of what is installed.
#pragma once

#include "runtime/internal/archive.h"
#include "runtime/jit/module.h"

namespace wisp::api::jit {

struct Module::Impl {
  Archive what;
  const graph::Function* find(const std::string& method) const;
  const graph::Function& get(const std::string& method) const;
  const graph::Datum* attribute(const std::string& name) const;
};

}  // namespace wisp::api::jit
