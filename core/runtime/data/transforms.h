// What map() does to the samples of a dataset, and to batches of them.
#pragma once

#include <functional>

#include "runtime/data/datasets.h"

#pragma GCC visibility push(default)
namespace wisp::api::data::transforms {

// Turns a batch into another.
template <class Input, class Output>
class BatchTransform {
 public:
  using InputBatchType = Input;
  using OutputBatchType = Output;
  virtual ~BatchTransform() = default;
  virtual Output apply_batch(Input batch) = 0;
};
// A batch of samples into one thing.
template <class Output, class Input = std::vector<Example<>>>
using Collation = BatchTransform<Input, Output>;

// Turns every sample into another.
template <class Input, class Output>
class Transform : public BatchTransform<std::vector<Input>, std::vector<Output>> {
 public:
  virtual Output apply(Input input) = 0;
  std::vector<Output> apply_batch(std::vector<Input> batch) override {
    std::vector<Output> result;
    result.reserve(batch.size());
    for (Input& input : batch) result.push_back(apply(std::move(input)));
    return result;
  }
};

template <class Input, class Output = Input>
class BatchLambda : public BatchTransform<Input, Output> {
 public:
  explicit BatchLambda(std::function<Output(Input)> function) : function_(std::move(function)) {}
  Output apply_batch(Input batch) override { return function_(std::move(batch)); }

 private:
  std::function<Output(Input)> function_;
};

template <class Input, class Output = Input>
class Lambda : public Transform<Input, Output> {
 public:
  explicit Lambda(std::function<Output(Input)> function) : function_(std::move(function)) {}
  Output apply(Input input) override { return function_(std::move(input)); }

 private:
  std::function<Output(Input)> function_;
};

// Changes the data of examples and leaves their targets alone.
template <class Target = Tensor>
class TensorTransform : public Transform<Example<Tensor, Target>, Example<Tensor, Target>> {
 public:
  virtual Tensor operator()(Tensor input) = 0;
  Example<Tensor, Target> apply(Example<Tensor, Target> example) override {
    example.data = (*this)(std::move(example.data));
    return example;
  }
};

template <class Target = Tensor>
class TensorLambda : public TensorTransform<Target> {
 public:
  explicit TensorLambda(std::function<Tensor(Tensor)> function) : function_(std::move(function)) {}
  Tensor operator()(Tensor input) override { return function_(std::move(input)); }

 private:
  std::function<Tensor(Tensor)> function_;
};

// (x - mean) / stddev, with one number or one for each channel.
template <class Target = Tensor>
class Normalize : public TensorTransform<Target> {
 public:
  Normalize(const std::vector<double>& mean, const std::vector<double>& stddev)
      : mean_(per_channel(mean)), stddev_(per_channel(stddev)) {}
  Normalize(double mean, double stddev)
      : Normalize(std::vector<double>{mean}, std::vector<double>{stddev}) {}
  Tensor operator()(Tensor input) override { return input.sub(mean_).div(stddev_); }

 private:
  static Tensor per_channel(const std::vector<double>& numbers) {
    Tensor made = empty({static_cast<int64_t>(numbers.size()), 1, 1}, kFloat32);
    for (size_t i = 0; i < numbers.size(); ++i) made[static_cast<int64_t>(i)] = numbers[i];
    return made;
  }
  Tensor mean_, stddev_;
};

// One tensor of all the data, and one of all the targets.
template <class T = Example<>>
class Stack : public Collation<T, std::vector<T>> {
 public:
  T apply_batch(std::vector<T> examples) override {
    Tensors data, target;
    for (T& example : examples) {
      data.push_back(std::move(example.data));
      if constexpr (has_target) target.push_back(std::move(example.target));
    }
    if constexpr (has_target) {
      return {stack(data), stack(target)};
    } else {
      return {stack(data), nullptr};
    }
  }

 private:
  static constexpr bool has_target = std::is_same_v<decltype(T::target), Tensor>;
};

}  // namespace wisp::api::data::transforms
#pragma GCC visibility pop
