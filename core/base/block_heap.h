// Free memory in large blocks, which can be cut and joined again.
//
// A block that comes back is kept as it is for the next request of its size: programs repeat
// themselves, and its contents may still be in the caches. Only when nothing fits are blocks that
// lie next to each other joined.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

namespace wisp::memory {

class BlockHeap {
 public:
  static constexpr size_t unit = 64 << 10;  // sizes are multiples of this

  struct Range {
    char* begin = nullptr;
    size_t bytes = 0;
    char* end() const { return begin + bytes; }
  };

  // The latest block of just this size, or the beginning of the smallest range that is large
  // enough; null if there is none.
  char* take(size_t bytes);
  void give(Range block);
  // Memory that no block was made of yet, joined with what is next to it.
  void add(Range range);

  // Memory to be given back to the system: about as much, if the largest range has it.
  Range drop(size_t bytes);

  size_t bytes() const { return bytes_; }
  // How many pieces there are of each size.
  std::map<size_t, int64_t> sizes() const;

 private:
  char* cut(size_t bytes);
  void join_recent();
  void insert(Range range);
  void erase(std::map<char*, size_t>::iterator range);

  std::unordered_map<size_t, std::vector<char*>> recent_;  // by size, the latest last
  std::map<char*, size_t> ranges_;                         // none next to another
  std::set<std::pair<size_t, char*>> by_size_;             // the same
  size_t bytes_ = 0;
};

}  // namespace wisp::memory
