// Functions and methods, called from outside of programs.
#include <mutex>

#include "graph/code.h"
#include "graph/interpreter.h"

namespace wisp::graph {

std::shared_ptr<const Code> code_of(const Function& function) {
  if (WISP_LIKELY(function.code != nullptr)) return function.code;
  static std::mutex mutex;
  std::lock_guard lock(mutex);
  if (!function.code) function.code = std::make_shared<Code>(*function.graph, function.name);
  return function.code;
}

void prepare(const Function& function) { code_of(function); }

std::vector<Datum> run(const Function& function, std::vector<Datum> arguments) {
  const std::shared_ptr<const Code> code = code_of(function);
  return run(*code, std::move(arguments));
}

Datum call(const Function& function, std::vector<Datum> arguments) {
  std::vector<Datum> results = run(function, std::move(arguments));
  if (results.size() == 1) return std::move(results[0]);
  return results.empty() ? Datum() : Datum::tuple(std::move(results));
}

Datum call_method(ObjectData& self, std::string_view method, std::vector<Datum> arguments) {
  const auto found = self.cls->methods.find(std::string(method));
  WISP_CHECK(found != self.cls->methods.end(), self.cls->name, " has no method '", method, "'");
  arguments.insert(arguments.begin(), Datum(Ref<ObjectData>::share(&self)));
  return call(*found->second, std::move(arguments));
}

}  // namespace wisp::graph
