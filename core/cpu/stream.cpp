#include "cpu/stream.h"

#include <algorithm>
#include <fstream>
#include <string>

namespace wisp::cpu {

namespace {

// Of the last level, as the system tells it; 0 if it does not. (sysconf() counts all caches of a
// machine as one on some processors.)
int64_t told_cache_bytes() {
  int64_t kilobytes = 0;
  for (const char* index : {"2", "3"}) {
    std::ifstream file(std::string("/sys/devices/system/cpu/cpu0/cache/index") + index + "/size");
    int64_t size = 0;
    char unit = 0;
    if (file >> size >> unit && unit == 'K') kilobytes = size;
  }
  return kilobytes << 10;
}

// One that is told to be larger is shared with many others.
int64_t cache_bytes() {
  static const int64_t bytes = [] {
    const int64_t told = told_cache_bytes();
    return told <= 0 ? 32 << 20 : std::clamp<int64_t>(told, 8 << 20, 64 << 20);
  }();
  return bytes;
}

}  // namespace

bool fetches_ahead(const Traffic& traffic) {
  return traffic.read + traffic.written > cache_bytes() / 2;
}

// Stores past the caches make a loop wait for them. Ordinary ones go on beside what it computes, if
// that is much and they do not compete with what it reads.
bool streams(const Traffic& traffic) {
  constexpr int64_t many_passes = 8;
  const bool waits = traffic.passes < many_passes || traffic.read >= 2 * traffic.written;
  return waits && traffic.read + traffic.written > 2 * cache_bytes();
}

}  // namespace wisp::cpu
