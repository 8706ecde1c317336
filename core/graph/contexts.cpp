#include "graph/contexts.h"

#include "base/compiler.h"
#include "graph/builtins_parts.h"
#include "graph/interpreter.h"

namespace wisp::graph {

namespace {

WISP_THREAD_LOCAL constinit std::vector<Datum> entered;

// __exit__ learns of an error by arguments that are not None, where it takes anything.
void leave(const Datum& context) {
  const ClassDef& cls = *context.object().cls;
  const auto found = cls.methods.find("__exit__");
  if (found == cls.methods.end()) return;
  std::vector<Datum> arguments{context};
  for (const Parameter& param : found->second->params) {
    arguments.push_back(param.type->kind == Kind::any ? Datum("error") : Datum());
  }
  run(*found->second, std::move(arguments));
}

Datum enter_context(BuiltinArgs args) {
  WISP_CHECK(args[0].tag() == Tag::object, "with: expected an object");
  entered.push_back(args[0]);
  return {};
}

Datum leave_context(BuiltinArgs) {
  WISP_CHECK(!entered.empty(), "with: a block is left that was not entered");
  entered.pop_back();
  return {};
}

}  // namespace

Contexts::Contexts() : before_(entered.size()) {}

Contexts::~Contexts() {
  if (WISP_UNLIKELY(entered.size() > before_)) entered.resize(before_);
}

void Contexts::leave_all() {
  while (entered.size() > before_) {
    const Datum context = std::move(entered.back());
    entered.pop_back();
    try {
      leave(context);
    } catch (...) {
      leave_all();
      throw;
    }
  }
}

void add_context_builtins(std::vector<BuiltinRow>& table) {
  table.push_back({"_enter_context(Any context) -> ()", enter_context, false});
  table.push_back({"_leave_context() -> ()", leave_context, false});
}

}  // namespace wisp::graph
