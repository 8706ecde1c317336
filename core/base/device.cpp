#include "base/device.h"

#include <charconv>

#include "base/error.h"

namespace wisp {

std::string to_string(Device device) {
  std::string text = device.type == DeviceType::cpu ? "cpu" : "opencl";
  if (device.index >= 0) text += ":" + std::to_string(device.index);
  return text;
}

Device parse_device(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view type = text.substr(0, colon);
  int index = -1;
  if (colon != std::string_view::npos) {
    const char* end = text.data() + text.size();
    auto [stop, error] = std::from_chars(text.data() + colon + 1, end, index);
    WISP_CHECK(error == std::errc() && stop == end && index >= 0 && index < 128,
               "Invalid device string: '", text, "'");
  }
  if (type == "cpu") {
    WISP_CHECK(index <= 0, "device 'cpu:", index,
               "' does not exist: there is one CPU device, 'cpu'");
    return {DeviceType::cpu, static_cast<int8_t>(index)};
  }
  for (const char* known : {"cuda", "mps", "xpu", "hip", "meta", "opencl", "vulkan", "xla"}) {
    WISP_CHECK(type != known, "device '", text, "' is not available: wisp computes on the CPU. ",
               "Use device='cpu', or leave the device out");
  }
  fail(ErrorKind::runtime, "Invalid device string: '", text, "'");
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
