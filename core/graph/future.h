// Calls that prim::Fork makes: their results are asked for later, by prim::Wait.
#pragma once

#include <atomic>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include "dispatch/mode.h"
#include "graph/graph.h"
#include "graph/interpreter.h"

namespace wisp::graph {

class FutureData;

// Forks that one call of a function has begun. They end with it: nobody knows what those who called
// it do next to what the forks read.
class Forked {
 public:
  Forked() = default;
  ~Forked();  // what is not done yet is not wanted
  Forked(const Forked&) = delete;
  Forked& operator=(const Forked&) = delete;
  // Waits for those that somebody may still ask for.
  void finish();

 private:
  friend class ForkPool;
  std::vector<Ref<FutureData>> futures_;
};

class FutureData : public Object {
 public:
  explicit FutureData(Datum result) : state_(State::done), result_(std::move(result)) {}
  // In the modes of this thread. `waits` says whether the call may wait for other forks.
  FutureData(std::shared_ptr<const Code> code, std::vector<Datum> arguments, bool waits = false);

  // Whether nothing is recorded of calls with its arguments.
  bool is_unrecorded() const;
  // Makes the call; an error is kept for those who wait.
  void run();
  // Has another thread make the call, if one is free before somebody waits for it.
  void begin(Forked& forked);
  bool is_done() const { return state_ == State::done; }
  // The result, or the error.
  Datum wait();

 private:
  friend class ForkPool;
  friend class Forked;
  enum class State { fresh, queued, running, done };

  std::exception_ptr call();
  void forget();  // what only the call needed

  std::shared_ptr<const Code> code_;
  std::vector<Datum> arguments_;
  Mode mode_;
  Execution execution_;
  const bool waits_ = false;
  bool handed_out_ =
      false;  // else the pool is not asked: after fork() of the process it may be locked
  std::atomic<bool> unwanted_{false};
  // Everything below belongs to the thread that makes the call until it is done; `state_` and
  // `forked_` to the pool.
  std::atomic<State> state_{State::fresh};
  Forked* forked_ = nullptr;
  std::vector<std::string> warnings_;
  Datum result_;
  std::exception_ptr error_;
};

// Whether this thread may hand out calls: there are others, and nobody watches those that it makes.
bool may_fork();
// Whether other threads make calls for this one or for others.
bool forks_are_under_way();
// Every now and then in long loops: lets the host see to its signals and its other threads; ends a
// fork that nobody wants.
void look_around();

// Which forks of a graph may run while what stands behind them does: they do nothing but compute,
// and nobody changes what they read.
class Forks {
 public:
  explicit Forks(const Graph& graph);
  // Adds the functions that it calls.
  bool may_run_beside(const Node& fork, std::vector<const Function*>& calls) const;

 private:
  bool calm_ = true;
  bool changes_containers_ = false;
};

}  // namespace wisp::graph
