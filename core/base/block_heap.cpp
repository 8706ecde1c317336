#include "base/block_heap.h"

#include <algorithm>

#include "base/huge_pages.h"

namespace wisp::memory {

char* BlockHeap::take(size_t bytes) {
  const auto same = recent_.find(bytes);
  if (same != recent_.end() && !same->second.empty()) {
    char* block = same->second.back();
    same->second.pop_back();
    bytes_ -= bytes;
    return block;
  }
  if (char* block = cut(bytes)) return block;
  join_recent();
  return cut(bytes);
}

void BlockHeap::give(Range block) {
  recent_[block.bytes].push_back(block.begin);
  bytes_ += block.bytes;
}

void BlockHeap::add(Range range) {
  if (range.bytes == 0) return;
  insert(range);
  bytes_ += range.bytes;
}

char* BlockHeap::cut(size_t bytes) {
  const auto found = by_size_.lower_bound({bytes, nullptr});
  if (found == by_size_.end()) return nullptr;
  const Range range{found->second, found->first};
  erase(ranges_.find(range.begin));
  if (range.bytes > bytes) insert({range.begin + bytes, range.bytes - bytes});
  bytes_ -= bytes;
  return range.begin;
}

void BlockHeap::join_recent() {
  for (const auto& [size, blocks] : recent_) {
    for (char* block : blocks) insert({block, size});
  }
  recent_.clear();
}

void BlockHeap::insert(Range range) {
  auto after = ranges_.lower_bound(range.begin);
  if (after != ranges_.end() && after->first == range.end()) {
    range.bytes += after->second;
    const auto joined = after++;
    erase(joined);
  }
  if (after != ranges_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == range.begin) {
      range = {before->first, before->second + range.bytes};
      erase(before);
    }
  }
  ranges_.emplace(range.begin, range.bytes);
  by_size_.emplace(range.bytes, range.begin);
}

void BlockHeap::erase(std::map<char*, size_t>::iterator range) {
  by_size_.erase({range->second, range->first});
  ranges_.erase(range);
}

BlockHeap::Range BlockHeap::drop(size_t bytes) {
  if (by_size_.empty()) join_recent();
  if (by_size_.empty()) return {};
  const auto [size, begin] = *by_size_.rbegin();
  const size_t dropped = std::min(size, (bytes + huge_page - 1) / huge_page * huge_page);
  erase(ranges_.find(begin));
  if (dropped < size) insert({begin, size - dropped});
  bytes_ -= dropped;
  return {begin + (size - dropped), dropped};
}

std::map<size_t, int64_t> BlockHeap::sizes() const {
  std::map<size_t, int64_t> counts;
  for (const auto& [size, blocks] : recent_) counts[size] += static_cast<int64_t>(blocks.size());
  for (const auto& [begin, size] : ranges_) ++counts[size];
  return counts;
}

}  // namespace wisp::memory
