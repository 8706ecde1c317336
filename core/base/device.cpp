#include "base/device.h"

#include <charconv>

#include "base/error.h"

namespace wisp {

namespace {

constexpr std::string_view type_names[num_device_types] = {"cpu",  "cuda",   "mps",    "xpu", "hip",
                                                           "meta", "opencl", "vulkan", "xla"};

// Programs read the names out of this message: nothing else tells them.
[[noreturn]] void fail_unknown_type(std::string_view type) {
  std::string known;
  for (const std::string_view name : type_names) {
    if (!known.empty()) known += ", ";
    known += name;
  }
  fail(ErrorKind::runtime, "Expected one of ", known,
       " device type at start of device string: ", type);
}

}  // namespace

std::string to_string(Device device) {
  std::string text(type_names[static_cast<size_t>(device.type)]);
  if (device.index >= 0) text += ":" + std::to_string(device.index);
  return text;
}

Device parse_device(std::string_view text) {
  WISP_CHECK(!text.empty(), "Device string must not be empty");
  const size_t colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  int index = -1;
  if (colon != std::string_view::npos) {
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + colon + 1, end, index);
    WISP_CHECK(error == std::errc() && stop == end && index >= 0 && index < 128,
               "Invalid device string: '", text, "'");
  }
  for (size_t i = 0; i < num_device_types; ++i) {
    if (type == type_names[i]) return {static_cast<DeviceType>(i), static_cast<int8_t>(index)};
  }
  fail_unknown_type(type);
}

Device usable(Device device) {
  if (device.type == DeviceType::meta) return {DeviceType::meta};
  WISP_CHECK(device.type == DeviceType::cpu, "device '", to_string(device),
             "' is not available: wisp computes on the CPU. Use device='cpu', or leave the device ",
             "out");
  WISP_CHECK(device.index <= 0, "device '", to_string(device),
             "' does not exist: there is one CPU device, 'cpu'");
  return {};
}

const char* name(MemoryFormat format) {
  switch (format) {
    case MemoryFormat::contiguous:
      return "contiguous_format";
    case MemoryFormat::preserve:
      return "preserve_format";
    case MemoryFormat::channels_last:
      return "channels_last";
    case MemoryFormat::channels_last_3d:
      return "channels_last_3d";
  }
  return "";
}

}  // namespace wisp
