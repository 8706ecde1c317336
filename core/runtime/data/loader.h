// The loader: batches of a dataset, fetched ahead of the loop by threads.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

#include "runtime/data/samplers.h"
#include "runtime/data/transforms.h"
#include "runtime/option.h"

#pragma GCC visibility push(default)
namespace wisp::api::data {

class DataLoaderOptions {
 public:
  DataLoaderOptions(size_t batch_size = 1) : batch_size_(batch_size) {}
  WISP_OPTION(size_t, batch_size, 1);
  WISP_OPTION(size_t, workers, 0);                   // threads; 0: batches are fetched by the loop
  WISP_OPTION(std::optional<size_t>, max_jobs, {});  // batches ahead of the loop; 2 * workers
  WISP_OPTION(bool, drop_last, false);               // a last batch that is not full
};

// Threads that fetch batches. What one throws reaches the loop in the place of its batch.
template <class Dataset>
class Workers {
 public:
  using Batch = typename Dataset::BatchType;
  Workers(const Dataset& dataset, size_t count) {
    try {
      for (size_t i = 0; i < count; ++i) {
        threads_.emplace_back([this, own = dataset]() mutable { work(own); });
      }
    } catch (...) {  // there are no more threads to be had
      stop();
      throw;
    }
  }
  ~Workers() { stop(); }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void ask(std::vector<size_t> indices) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back({next_job_++, std::move(indices)});
    }
    wanted_.notify_one();
  }
  size_t pending() const { return next_job_ - next_result_; }
  // The batch that was asked for first.
  Batch wait() {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&] { return results_.count(next_result_) != 0; });
    Result result = std::move(results_.extract(next_result_++).mapped());
    lock.unlock();
    if (result.error) std::rethrow_exception(result.error);
    return std::move(*result.batch);
  }
  // Forgets what was asked for and not waited for.
  void forget() {
    const std::lock_guard lock(mutex_);
    jobs_.clear();
    results_.clear();
    next_result_ = next_job_;
  }

 private:
  struct Job {
    size_t number;
    std::vector<size_t> indices;
  };
  struct Result {
    std::optional<Batch> batch;
    std::exception_ptr error;
  };

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    wanted_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  void work(Dataset& dataset) {
    std::unique_lock lock(mutex_);
    while (true) {
      wanted_.wait(lock, [&] { return stopping_ || !jobs_.empty(); });
      if (stopping_) return;
      const Job job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      Result result = fetch(dataset, job.indices);
      lock.lock();
      if (job.number < next_result_) continue;  // forgotten meanwhile
      results_.emplace(job.number, std::move(result));
      finished_.notify_all();
    }
  }
  static Result fetch(Dataset& dataset, const std::vector<size_t>& indices) {
    try {
      return {dataset.get_batch(indices), nullptr};
    } catch (...) {
      return {std::nullopt, std::current_exception()};
    }
  }

  std::mutex mutex_;
  std::condition_variable wanted_, finished_;
  std::deque<Job> jobs_;
  std::map<size_t, Result> results_;
  size_t next_job_ = 0, next_result_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

// for (auto& batch : *loader): every begin() is a new epoch, and ends the one before.
template <class Dataset, class Sampler>
class DataLoader {
 public:
  using Batch = typename Dataset::BatchType;
  DataLoader(Dataset dataset, Sampler sampler, DataLoaderOptions options)
      : dataset_(std::move(dataset)), sampler_(std::move(sampler)), options_(std::move(options)) {
    WISP_CHECK_VALUE(options_.batch_size() > 0,
                     "batch_size should be a positive integer value, but got batch_size=0");
    if (options_.workers()) {
      workers_ = std::make_unique<Workers<Dataset>>(dataset_, options_.workers());
    }
  }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = Batch*;
    using reference = Batch&;
    Iterator() = default;
    explicit Iterator(DataLoader* loader) : loader_(loader) { ++*this; }
    Iterator& operator++() {
      batch_ = loader_->next();
      return *this;
    }
    Batch& operator*() { return *batch_; }
    Batch* operator->() { return &*batch_; }
    bool operator==(const Iterator& other) const { return is_end() == other.is_end(); }
    bool operator!=(const Iterator& other) const { return !(*this == other); }

   private:
    bool is_end() const { return !batch_; }
    DataLoader* loader_ = nullptr;
    std::optional<Batch> batch_;
  };
  Iterator begin() {
    if (workers_) workers_->forget();
    sampler_.reset();
    return Iterator(this);
  }
  Iterator end() { return {}; }
  const DataLoaderOptions& options() const { return options_; }
  const Dataset& dataset() const { return dataset_; }

 private:
  std::optional<std::vector<size_t>> next_indices() {
    auto indices = sampler_.next(options_.batch_size());
    const bool dropped = indices && options_.drop_last() && indices->size() < options_.batch_size();
    return dropped ? std::nullopt : indices;
  }
  std::optional<Batch> next() {
    if (!workers_) {
      const auto indices = next_indices();
      return indices ? std::optional<Batch>(dataset_.get_batch(*indices)) : std::nullopt;
    }
    while (workers_->pending() < options_.max_jobs().value_or(2 * options_.workers())) {
      auto indices = next_indices();
      if (!indices) break;
      workers_->ask(std::move(*indices));
    }
    return workers_->pending() ? std::optional<Batch>(workers_->wait()) : std::nullopt;
  }

  Dataset dataset_;
  Sampler sampler_;
  DataLoaderOptions options_;
  std::unique_ptr<Workers<Dataset>> workers_;
};

template <class Dataset, class Sampler>
std::unique_ptr<DataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset, Sampler sampler,
                                                               DataLoaderOptions options) {
  return std::make_unique<DataLoader<Dataset, Sampler>>(std::move(dataset), std::move(sampler),
                                                        std::move(options));
}
// In random order, unless make_data_loader<samplers::SequentialSampler>(...) says otherwise.
template <class Sampler = samplers::RandomSampler, class Dataset>
std::unique_ptr<DataLoader<Dataset, Sampler>> make_data_loader(Dataset dataset,
                                                               DataLoaderOptions options = {}) {
  const std::optional<size_t> size = dataset.size();
  WISP_CHECK_VALUE(size, "Expected the dataset to be sized in order to construct the Sampler");
  return make_data_loader(std::move(dataset), Sampler(*size), std::move(options));
}

}  // namespace wisp::api::data
#pragma GCC visibility pop
