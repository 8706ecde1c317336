// Datasets: samples by number, in memory or from files.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/operators.h"

#pragma GCC visibility push(default)
namespace wisp::api::data {

template <class Data = Tensor, class Target = Tensor>
struct Example {
  Data data;
  Target target;
};
using TensorExample = Example<Tensor, std::nullptr_t>;

namespace datasets {

template <class Source, class Transform>
class MapDataset;

// Gives whole batches. Loaders with workers have a copy of it for each.
template <class Self, class Batch>
class BatchDataset {
 public:
  using BatchType = Batch;
  virtual ~BatchDataset() = default;
  virtual Batch get_batch(const std::vector<size_t>& indices) = 0;
  virtual std::optional<size_t> size() const = 0;
  // The same with something done to every batch, see transforms.
  template <class Transform>
  MapDataset<Self, Transform> map(Transform transform) const& {
    return {static_cast<const Self&>(*this), std::move(transform)};
  }
  template <class Transform>
  MapDataset<Self, Transform> map(Transform transform) && {
    return {static_cast<Self&&>(*this), std::move(transform)};
  }
};

// Gives samples: subclasses define get() and size().
template <class Self, class Single = Example<>>
class Dataset : public BatchDataset<Self, std::vector<Single>> {
 public:
  using ExampleType = Single;
  virtual Single get(size_t index) = 0;
  std::vector<Single> get_batch(const std::vector<size_t>& indices) override {
    std::vector<Single> batch;
    batch.reserve(indices.size());
    for (size_t index : indices) batch.push_back(get(index));
    return batch;
  }
};

template <class Source, class Transform>
class MapDataset
    : public BatchDataset<MapDataset<Source, Transform>, typename Transform::OutputBatchType> {
 public:
  using OutputBatchType = typename Transform::OutputBatchType;
  MapDataset(Source source, Transform transform)
      : source_(std::move(source)), transform_(std::move(transform)) {}
  OutputBatchType get_batch(const std::vector<size_t>& indices) override {
    return transform_.apply_batch(source_.get_batch(indices));
  }
  std::optional<size_t> size() const override { return source_.size(); }
  const Source& dataset() const { return source_; }

 private:
  Source source_;
  Transform transform_;
};

// The rows of a tensor.
class TensorDataset : public Dataset<TensorDataset, TensorExample> {
 public:
  explicit TensorDataset(Tensor tensor) : tensor_(std::move(tensor)) {}
  TensorExample get(size_t index) override {
    return {tensor_[static_cast<int64_t>(index)], nullptr};
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(tensor_.size(0)); }

 private:
  Tensor tensor_;
};

// The rows of two tensors: what goes in, and what should come out.
class PairDataset : public Dataset<PairDataset> {
 public:
  PairDataset(Tensor data, Tensor target);
  Example<> get(size_t index) override {
    return {data_[static_cast<int64_t>(index)], target_[static_cast<int64_t>(index)]};
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(data_.size(0)); }

 private:
  Tensor data_, target_;
};

// Handwritten digits, from the four files of the database as they are distributed (unpacked), in
// `root` or in `root`/MNIST/raw.
class MNIST : public Dataset<MNIST> {
 public:
  enum class Mode { kTrain, kTest };
  explicit MNIST(const std::string& root, Mode mode = Mode::kTrain);
  Example<> get(size_t index) override {
    return {images_[static_cast<int64_t>(index)], targets_[static_cast<int64_t>(index)]};
  }
  std::optional<size_t> size() const override { return static_cast<size_t>(images_.size(0)); }
  bool is_train() const { return mode_ == Mode::kTrain; }
  const Tensor& images() const { return images_; }  // (count, 1, 28, 28), float32 from 0 to 1
  const Tensor& targets() const { return targets_; }

 private:
  Mode mode_;
  Tensor images_, targets_;
};

// The contents of a file in the idx format, as a tensor of bytes.
Tensor read_idx(const std::string& path);

}  // namespace datasets
}  // namespace wisp::api::data
#pragma GCC visibility pop
