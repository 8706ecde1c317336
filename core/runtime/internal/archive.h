// Files of compiled programs, in the form that wisp/jit/_files.py describes.
#pragma once

#include "graph/graph.h"

namespace wisp::api::jit {

// A program, and what of it was saved: a function or a module.
struct Archive {
  Ref<graph::Program> program;
  graph::Function* function = nullptr;
  Ref<graph::ObjectData> module;
  std::string name;  // of the function or of the module's class
};
Archive read_archive(const std::string& path);

}  // namespace wisp::api::jit
