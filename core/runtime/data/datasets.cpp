#include "runtime/data/datasets.h"

#include <cstring>
#include <fstream>

namespace wisp::api::data::datasets {

PairDataset::PairDataset(Tensor data, Tensor target)
    : data_(std::move(data)), target_(std::move(target)) {
  WISP_CHECK_VALUE(data_.size(0) == target_.size(0),
                   "Size mismatch between tensors: ", data_.size(0), " samples, but ",
                   target_.size(0), " targets");
}

namespace {

// A number of the header: four bytes, the highest first.
int64_t read_number(std::ifstream& file, const std::string& path) {
  unsigned char bytes[4];
  file.read(reinterpret_cast<char*>(bytes), 4);
  WISP_CHECK(file, "the file ", path, " is damaged: its header is not complete");
  return (int64_t(bytes[0]) << 24) | (bytes[1] << 16) | (bytes[2] << 8) | bytes[3];
}

std::string find_file(const std::string& root, const std::string& name) {
  for (const std::string& folder : {root + "/", root + "/MNIST/raw/"}) {
    if (std::ifstream(folder + name).good()) return folder + name;
  }
  fail(ErrorKind::runtime, "Error opening images file at ", root, "/", name);
}

}  // namespace

Tensor read_idx(const std::string& path) {
  constexpr int64_t bytes_mark = 0x08;  // the type of elements, of which there are others
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  WISP_CHECK(file, "Error opening images file at ", path);
  const auto length = static_cast<int64_t>(file.tellg());
  file.seekg(0);
  const int64_t magic = read_number(file, path);
  const int64_t ndim = magic & 0xff;
  WISP_CHECK(magic >> 8 == bytes_mark && ndim > 0 && ndim <= 8, "the file ", path,
             " is no idx file of bytes: it begins with ", magic);
  std::vector<int64_t> sizes;
  int64_t count = 1;
  for (int64_t d = 0; d < ndim; ++d) {
    sizes.push_back(read_number(file, path));
    WISP_CHECK(sizes[d] == 0 || count <= length / sizes[d], "the file ", path,
               " is damaged: it is shorter than its header says");
    count *= sizes[d];
  }
  WISP_CHECK(length == 4 + 4 * ndim + count, "the file ", path, " is damaged: it should have ",
             4 + 4 * ndim + count, " bytes, it has ", length);
  Tensor read = empty(IntList(sizes), kUInt8);
  file.read(static_cast<char*>(read.data_ptr()), count);
  WISP_CHECK(file, "the file ", path, " could not be read");
  return read;
}

MNIST::MNIST(const std::string& root, Mode mode) : mode_(mode) {
  const std::string part = mode == Mode::kTrain ? "train" : "t10k";
  const Tensor images = read_idx(find_file(root, part + "-images-idx3-ubyte"));
  const Tensor labels = read_idx(find_file(root, part + "-labels-idx1-ubyte"));
  WISP_CHECK(images.dim() == 3 && labels.dim() == 1 && images.size(0) == labels.size(0),
             "the files of MNIST in ", root, " do not fit: images ", images.sizes(), ", labels ",
             labels.sizes());
  images_ = images.to(kFloat32).div_(255).unsqueeze(1);
  targets_ = labels.to(kInt64);
}

}  // namespace wisp::api::data::datasets
