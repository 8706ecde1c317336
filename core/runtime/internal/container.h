// The safetensors layout: eight bytes of length, a JSON header, then the data of all tensors
// without gaps. Files of ours have the structure of what was saved in the metadata, and checksums;
// see wisp/serialization for the same in Python.
#pragma once

#include <map>
#include <unordered_map>

#include "runtime/internal/json.h"
#include "runtime/tensor.h"

namespace wisp::api {

constexpr int64_t structure_version = 1;

// A file that has been read and checked: every entry lies inside the data, without overlaps or
// gaps.
class Container {
 public:
  explicit Container(const std::string& path);

  struct Entry {
    DType dtype;
    std::vector<int64_t> sizes;
    int64_t begin, end;
  };
  // In the order of the file.
  const std::vector<std::pair<std::string, Entry>>& entries() const { return entries_; }
  const Entry& entry(const std::string& name) const;
  // The data of an entry, and the same as a new tensor of bytes.
  std::string_view view_of(const Entry& entry) const;
  Tensor bytes_of(const Entry& entry) const;
  // What was saved, as JSON, its checksums compared; nothing if the file is not one of ours.
  std::optional<Json> structure() const;
  // The same for the description of a compiled program.
  std::optional<Json> program() const;

 private:
  void read_entries(const Json& header);
  void check_ranges() const;
  void check_sums(const std::string& structure) const;
  std::string_view data() const { return contents_.substr(begin_); }

  Tensor memory_;
  std::string_view contents_;
  size_t begin_ = 0;  // of the data
  Json header_;       // without the metadata
  std::map<std::string, std::string> metadata_;
  std::vector<std::pair<std::string, Entry>> entries_;
  std::unordered_map<std::string, size_t> places_;  // in entries_
};

// Writes the data of `blobs` under their names, and the structure around them. At any moment there
// is the old file or the new one, never a part.
void write_container(const std::string& path, const Json& structure,
                     std::vector<std::pair<std::string, Tensor>> blobs);

}  // namespace wisp::api
