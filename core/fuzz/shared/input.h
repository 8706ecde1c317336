// What the fuzzers share: parts of an input, files in memory, and containers whose checksums are
// right whatever is in them, since no change of a file would get beyond these otherwise.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wisp::fuzz {

// The parts of an input that zero bytes separate, at most `count`: the last may contain some.
std::vector<std::string_view> split(std::string_view input, size_t count);

// A file that is gone with the object.
class File {
 public:
  explicit File(std::string_view contents);
  ~File();
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

// A file of ours: `document` under `key` in its metadata, `header` the JSON of its entries, and the
// data. If that is no JSON, it stands in the file as it is.
std::string container(std::string_view key, std::string_view document, std::string_view header,
                      std::string_view data);

// A file of a compiled program, from its description, its header without the program, the program
// and the data of the rest.
std::string archive(const std::vector<std::string_view>& parts);

}  // namespace wisp::fuzz
