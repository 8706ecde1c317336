#include "fuzz/shared/input.h"

#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "runtime/internal/json.h"

namespace wisp::fuzz {

using api::Json;

std::vector<std::string_view> split(std::string_view input, size_t count) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < count) {
    const size_t end = input.find('\0');
    if (end == std::string_view::npos) break;
    parts.push_back(input.substr(0, end));
    input.remove_prefix(end + 1);
  }
  parts.push_back(input);
  return parts;
}

File::File(std::string_view contents)
    : descriptor_(memfd_create("input", MFD_CLOEXEC)),
      path_("/proc/self/fd/" + std::to_string(descriptor_)) {
  const ssize_t written = write(descriptor_, contents.data(), contents.size());
  if (written != static_cast<ssize_t>(contents.size())) std::abort();
}

File::~File() { close(descriptor_); }

namespace {

int64_t checksum(std::string_view bytes) {
  uint32_t sum = 0xffffffffu;
  for (const char byte : bytes) {
    sum ^= static_cast<unsigned char>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? 0xedb88320u ^ (sum >> 1) : sum >> 1;
  }
  return static_cast<int64_t>(~sum);
}

std::string with_length(const std::string& header) {
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(header.size() >> (8 * i) & 255);
  return length + header;
}

// The entries with metadata in front.
std::string whole_header(std::string_view key, std::string_view document, const Json& entries,
                         std::string_view data) {
  const std::string checked = entries.dump(/*spaced=*/true) + std::string(document);
  const Json sums =
      std::vector<Json::Member>{{"header", checksum(checked)}, {"data", checksum(data)}};
  std::vector<Json::Member> members{
      {"__metadata__", std::vector<Json::Member>{{std::string(key), std::string(document)},
                                                 {"wisp.checksums", sums.dump(false)}}}};
  members.insert(members.end(), entries.members.begin(), entries.members.end());
  return Json(std::move(members)).dump(/*spaced=*/false);
}

}  // namespace

std::string container(std::string_view key, std::string_view document, std::string_view header,
                      std::string_view data) {
  std::string text(header);
  try {
    text = whole_header(key, document, Json::parse(header), data);
  } catch (const Error&) {}
  return with_length(text) + std::string(data);
}

std::string archive(const std::vector<std::string_view>& parts) {
  const std::string program(parts[2]), data(parts[3]);
  std::string header(parts[1]);
  const std::string entry =
      str("\"__program__\":{\"dtype\":\"U8\",\"shape\":[", program.size(), "],\"data_offsets\":[",
          data.size(), ",", data.size() + program.size(), "]}");
  const size_t end = header.rfind('}');
  const bool alone = header.find_first_not_of("{ }") == std::string::npos;
  if (end != std::string::npos) header.insert(end, (alone ? "" : ",") + entry);
  return container("wisp.jit", parts[0], header, data + program);
}

}  // namespace wisp::fuzz
