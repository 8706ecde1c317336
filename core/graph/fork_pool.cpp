// Threads that make forked calls while the program goes on. They are not those of the kernels, all
// of which a region takes at once and until its end: each makes its calls, and their kernels,
// alone. Whoever waits for a call that nobody has begun makes it itself, so there is always
// somebody.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "base/one_thread.h"
#include "base/parallel.h"
#include "graph/beside.h"
#include "graph/error.h"
#include "graph/future.h"

namespace wisp::graph {

namespace {

// A thread that waits takes over other calls meanwhile; these may wait in turn. Each takes some of
// the thread's stack.
constexpr int most_helped = 2;
constinit WISP_THREAD_LOCAL int helped = 0;

struct Helping {
  Helping() { ++helped; }
  ~Helping() { --helped; }
};

constexpr std::chrono::milliseconds between_looks{50};

bool is_in_fork() { return execution.unwanted != nullptr; }

// The modes of the thread that forked, for a scope of the one that makes the call.
class Handed {
 public:
  Handed(const Mode& modes, const Execution& how) : mode_(mode), execution_(execution) {
    mode = modes;
    execution = how;
  }
  ~Handed() {
    mode = mode_;
    execution = execution_;
  }
  Handed(const Handed&) = delete;
  Handed& operator=(const Handed&) = delete;

 private:
  const Mode mode_;
  const Execution execution_;
};

}  // namespace

class ForkPool {
 public:
  static ForkPool& get() {
    static ForkPool& pool = *new ForkPool;  // its threads never end
    return pool;
  }

  void add(FutureData& fork, Forked& forked);
  // Makes the call, or waits until it is done.
  void finish(FutureData& fork);
  // Nobody waits for it any more.
  void settle(FutureData& fork);
  void abandon(Forked& forked);
  Ref<FutureData> wanted(const Forked& forked);
  int under_way() const { return under_way_.load(std::memory_order_relaxed); }

 private:
  using State = FutureData::State;
  static int most() { return num_threads() - 1; }

  void work();
  void start_thread();
  void count();
  bool take(FutureData& fork);
  FutureData* take_any();
  void make(FutureData& fork);
  void wait_for(FutureData& fork);

  std::mutex mutex_;
  std::condition_variable work_, done_;
  std::deque<FutureData*> queue_;  // held by what has forked them
  int threads_ = 0, working_ = 0;
  std::atomic<int> under_way_{0};  // queued or running
};

void ForkPool::add(FutureData& fork, Forked& forked) {
  {
    const std::lock_guard lock(mutex_);
    forked.futures_.push_back(Ref<FutureData>::share(&fork));
    fork.forked_ = &forked;
    fork.state_ = State::queued;
    queue_.push_back(&fork);
    ++under_way_;
    if (threads_ < most() && threads_ == working_) start_thread();
    count();
  }
  work_.notify_one();
}

void ForkPool::start_thread() {
  try {
    std::thread([this] { work(); }).detach();
    ++threads_;
  } catch (const std::system_error&) {}  // those who wait do it
}

// Kernels of other threads leave room for these. The lock is held.
void ForkPool::count() {
  const int wanted = static_cast<int>(std::min<size_t>(queue_.size(), threads_)) + working_;
  set_threads_elsewhere(std::min(wanted, most()));
}

void ForkPool::work() {
  const OneThread alone;
  const HostUnlock::Without never_had_it;
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [&] { return !queue_.empty() && working_ < most(); });
    FutureData& fork = *queue_.front();
    queue_.pop_front();
    fork.state_ = State::running;
    ++working_;
    lock.unlock();
    make(fork);
    lock.lock();
    --working_;
    count();
  }
}

// Nothing of the fork may be touched after this: whoever waited lets go of it.
void ForkPool::make(FutureData& fork) {
  const std::exception_ptr interrupt = fork.call();
  {
    const std::lock_guard lock(mutex_);
    fork.state_ = State::done;
    --under_way_;
    done_.notify_all();
  }
  if (interrupt) std::rethrow_exception(interrupt);
}

bool ForkPool::take(FutureData& fork) {
  const std::lock_guard lock(mutex_);
  if (fork.state_ != State::queued) return false;
  std::erase(queue_, &fork);
  fork.state_ = State::running;
  count();
  return true;
}

// One that waits for nobody but forks of its own: it cannot need what this thread is in.
FutureData* ForkPool::take_any() {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(queue_.begin(), queue_.end(),
                                  [](const FutureData* fork) { return !fork->waits_; });
  if (found == queue_.end()) return nullptr;
  FutureData* fork = *found;
  queue_.erase(found);
  fork->state_ = State::running;
  count();
  return fork;
}

void ForkPool::finish(FutureData& fork) {
  if (take(fork)) return make(fork);
  while (!fork.is_done() && helped < most_helped) {
    FutureData* const other = take_any();
    if (!other) break;
    const Helping counted;
    make(*other);
    look_around();
  }
  if (!fork.is_done()) wait_for(fork);
}

void ForkPool::wait_for(FutureData& fork) {
  for (;;) {
    {
      const HostUnlock unlock(true);
      std::unique_lock lock(mutex_);
      if (done_.wait_for(lock, between_looks, [&] { return fork.is_done(); })) return;
    }
    look_around();
  }
}

void ForkPool::settle(FutureData& fork) {
  const std::lock_guard lock(mutex_);
  if (!fork.forked_) return;
  auto& futures = std::exchange(fork.forked_, nullptr)->futures_;
  const auto at = std::find_if(futures.begin(), futures.end(),
                               [&](const auto& each) { return each.get() == &fork; });
  if (at != futures.end()) futures.erase(at);
}

void ForkPool::abandon(Forked& forked) {
  const HostUnlock unlock(true);
  std::unique_lock lock(mutex_);
  for (const auto& fork : forked.futures_) {
    fork->forked_ = nullptr;
    fork->unwanted_ = true;
    if (fork->state_ != State::queued) continue;
    std::erase(queue_, fork.get());
    fork->state_ = State::fresh;
    --under_way_;
  }
  count();
  for (const auto& fork : forked.futures_) {
    done_.wait(lock, [&] { return fork->state_ != State::running; });
  }
}

// One that somebody else than the list holds.
Ref<FutureData> ForkPool::wanted(const Forked& forked) {
  const std::lock_guard lock(mutex_);
  const auto& futures = forked.futures_;
  const auto found = std::find_if(futures.begin(), futures.end(),
                                  [](const auto& fork) { return fork->use_count() > 1; });
  return found == futures.end() ? nullptr : *found;
}

Forked::~Forked() { ForkPool::get().abandon(*this); }

void Forked::finish() {
  ForkPool& pool = ForkPool::get();
  while (const Ref<FutureData> fork = pool.wanted(*this)) {
    pool.finish(*fork);
    pool.settle(*fork);
  }
}

// --- Futures

FutureData::FutureData(std::shared_ptr<const Code> code, std::vector<Datum> arguments, bool waits)
    : code_(std::move(code)),
      arguments_(std::move(arguments)),
      mode_(mode),
      execution_(execution),
      waits_(waits) {
  mode_.warnings = &warnings_;
  execution_.unwanted = &unwanted_;
}

bool FutureData::is_unrecorded() const {
  uint64_t key = 0;
  return std::all_of(arguments_.begin(), arguments_.end(), [&](const Datum& value) {
    if (value.tag() == Tag::object) return !mode.grad;
    return value.tag() == Tag::string || value.tag() == Tag::future ||
           graph::is_unrecorded(value, key);
  });
}

void FutureData::run() {
  state_ = State::done;
  try {
    result_ = std::move(graph::run(*code_, arguments_)[0]);
  } catch (const Error&) {
    error_ = std::current_exception();
  }
}

// What of a result the thread has put off until its next kernel, which may be long in coming.
static void compute_awaited(const Datum& value) {
  if (!Storage::any_awaited()) return;
  if (value.is_tensor()) Storage::run_awaited(&value.tensor()->storage());
  if (value.tag() != Tag::list && value.tag() != Tag::tuple) return;
  for (const Datum& item : value.items()) compute_awaited(item);
}

// Gives what is no error of the call and concerns the thread that happens to make it: Ctrl-C.
// Arguments stay: they may be the last to hold something of the host's, which another thread must
// not drop.
std::exception_ptr FutureData::call() {
  const Handed handed(mode_, execution_);
  try {
    result_ = std::move(graph::run(*code_, arguments_)[0]);
    compute_awaited(result_);
  } catch (const Error&) {
    error_ = std::current_exception();
  } catch (...) {
    error_ = std::current_exception();
    if (!in_parallel_region()) return error_;
  }
  return nullptr;
}

void FutureData::begin(Forked& forked) {
  handed_out_ = true;
  ForkPool::get().add(*this, forked);
}

void FutureData::forget() {
  code_.reset();
  arguments_.clear();
}

Datum FutureData::wait() {
  if (state_ == State::fresh) run();
  if (handed_out_) {
    ForkPool& pool = ForkPool::get();
    if (!is_done()) pool.finish(*this);
    pool.settle(*this);
  }
  if (!is_in_fork()) {  // others may be here too
    for (const std::string& message : std::exchange(warnings_, {})) warn(message);
    forget();
  }
  if (!error_) return result_;
  try {
    std::rethrow_exception(error_);
  } catch (const ScriptError& error) {
    throw ScriptError(error);  // a copy: those who wait add their own places
  }
}

bool may_fork() {
  const bool watched = mode.interceptor || mode.deferrer || mode.transforms > 0;
  return !watched && num_threads() > 1 && (is_in_fork() || !in_parallel_region()) &&
         !Storage::any_deferred();
}

bool forks_are_under_way() { return ForkPool::get().under_way() > 0; }

void look_around() {
  if (is_in_fork() && *execution.unwanted) {
    fail(ErrorKind::runtime, "the call is not wanted any more");
  }
  if (in_parallel_region()) return;
  if (host.check_interrupt) host.check_interrupt();
  const HostUnlock others(true);
}

}  // namespace wisp::graph
