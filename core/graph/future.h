// Calls that prim::Fork makes: their results are asked for later, by prim::Wait.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "graph/graph.h"
#include "graph/interpreter.h"

namespace wisp::graph {

class FutureData;

// Forks of one call of a function that have not begun. The first that is waited for has all of them
// run, beside each other.
struct Waiting {
  std::vector<Ref<FutureData>> futures;
};

// Seen by one thread at a time: while others run some, the one that waits does nothing else.
class FutureData : public Object {
 public:
  explicit FutureData(Datum result) : done_(true), result_(std::move(result)) {}
  FutureData(std::shared_ptr<const Code> code, std::vector<Datum> arguments)
      : code_(std::move(code)), arguments_(std::move(arguments)) {}

  // Whether nothing is recorded of calls with its arguments.
  bool is_unrecorded() const;
  // Makes the call; an error is kept for those who wait.
  void run();
  void put_off(const std::shared_ptr<Waiting>& waiting);
  // The result, or the error.
  Datum wait();

 private:
  static void run_all(std::vector<Ref<FutureData>> futures);
  void forget();  // what only the call needed

  std::shared_ptr<const Code> code_;
  std::vector<Datum> arguments_;
  std::shared_ptr<Waiting> waiting_;
  bool done_ = false;
  Datum result_;
  std::exception_ptr error_;
};

// Which forks of a graph may begin later than where they stand: they do nothing but compute, and
// nobody changes what they read.
class Forks {
 public:
  explicit Forks(const Graph& graph);
  // Adds the functions that it calls.
  bool may_wait(const Node& fork, std::vector<const Function*>& calls) const;

 private:
  bool calm_ = true;
  bool changes_containers_ = false;
};

}  // namespace wisp::graph
