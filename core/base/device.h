// Where a tensor lives: on the CPU, or nowhere ("meta": a shape and a dtype without values). The
// others are names that programs compare with, and that a later room may add.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/compiler.h"

namespace wisp {

enum class DeviceType : uint8_t { cpu, cuda, mps, xpu, hip, meta, opencl, vulkan, xla };
constexpr int num_device_types = 9;

struct Device {
  DeviceType type = DeviceType::cpu;
  int8_t index = -1;  // -1: the current device of that type
  friend bool operator==(Device a, Device b) { return a.type == b.type && a.index == b.index; }
  friend bool operator!=(Device a, Device b) { return !(a == b); }
};

WISP_API std::string to_string(Device device);

// Parses "cpu", "cpu:0", "cuda:1".
WISP_API Device parse_device(std::string_view text);
// The device as tensors that live there show it, without an index: there is one of each type.
// Fails, with advice, if none can.
Device usable(Device device);

enum class MemoryFormat : uint8_t { contiguous, preserve, channels_last, channels_last_3d };
enum class Layout : uint8_t { strided };

const char* name(MemoryFormat format);

}  // namespace wisp
