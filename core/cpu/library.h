// Shared libraries that are installed next to wisp and loaded when first needed.
#pragma once

#include <string>

namespace wisp::cpu {

// Opens `name` next to this library, or else `built_from`, where it was when wisp was built. Null
// if neither is there; `errors` then says why.
void* open_library(const char* name, const char* built_from, std::string& errors);

}  // namespace wisp::cpu
