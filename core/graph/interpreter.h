// Runs graphs. Everything goes through call(), so autograd, forward mode and the rest see what they
// would see of the same calls from Python.
#pragma once

#include <atomic>
#include <span>
#include <vector>

#include "graph/graph.h"

namespace wisp::graph {

// A graph as a list of instructions over numbered registers, each told which of its inputs it is
// the last to read.
class Code {
 public:
  explicit Code(const Graph& graph, std::string function_name = "");
  ~Code();
  struct Impl;
  const Impl& impl() const { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

// Makes what run() would make on the first call: after it, threads may call the function at once.
void prepare(const Function& function);
// Values for the parameters of the function (self first for a method); None where it has a default
// has to be filled by the caller.
std::vector<Datum> run(const Function& function, std::vector<Datum> arguments);
std::vector<Datum> run(const Code& code, std::vector<Datum> arguments);
// The result of a function of tensors that has one and no `with` blocks, with little else around
// it.
Datum run_plain(const Code& code, std::span<TensorImpl* const> arguments);
// One result, or a tuple of them.
Datum call(const Function& function, std::vector<Datum> arguments);
Datum call_method(ObjectData& self, std::string_view method, std::vector<Datum> arguments);

// How calls that begin on this thread are run.
struct Execution {
  // Whether what is the same in every round of a loop may be made once, calls put off or run beside
  // each other, and what dies be written over. Else each node of a graph runs by itself and in
  // order.
  bool optimized = true;
  bool fuses = true;   // whether several nodes may be done in one step
  int depth = 0;       // calls inside one another; forks go on counting where they stand
  bool wrote = false;  // set as soon as a call may have written into what it was given
  // Of a fork: whether nobody wants its result any more.
  const std::atomic<bool>* unwanted = nullptr;
};
extern constinit WISP_THREAD_LOCAL Execution execution;

// What scripts need of a host language. Set by bindings; a C++ program may leave it empty.
struct HostFunction {  // prim::HostCall: a function that only the host has
  std::string name;
  std::vector<TypeRef> params;
  TypeRef result;
};
struct GraphHost {
  // The result has to be of the function's type.
  Datum (*call)(const HostFunction& function, std::vector<Datum> arguments) = nullptr;
  bool (*has)(const std::string& function) = nullptr;
  void (*print)(const std::string& text) = nullptr;
  std::string (*show)(const Tensor& tensor) = nullptr;  // as print() shows it
  std::string (*source_line)(const std::string& file, int line) = nullptr;
};
extern GraphHost graph_host;

}  // namespace wisp::graph
