#include "runtime/internal/container.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/bridge.h"
#include "runtime/internal/damage.h"
#include "runtime/operators.h"

namespace wisp::api {

namespace {

constexpr uint64_t largest_header = 100'000'000;  // the limit of the format
constexpr size_t largest_structure = 1 << 20;     // what goes into the header
constexpr size_t alignment = 64;                  // of the data in files of ours

constexpr std::pair<DType, const char*> dtype_names[] = {{DType::float64, "F64"},
                                                         {DType::float32, "F32"},
                                                         {DType::float16, "F16"},
                                                         {DType::bfloat16, "BF16"},
                                                         {DType::int64, "I64"},
                                                         {DType::int32, "I32"},
                                                         {DType::int16, "I16"},
                                                         {DType::int8, "I8"},
                                                         {DType::uint8, "U8"},
                                                         {DType::bool_, "BOOL"},
                                                         {DType::complex64, "C64"},
                                                         {DType::uint16, "U16"},
                                                         {DType::uint32, "U32"},
                                                         {DType::uint64, "U64"},
                                                         {DType::float8_e4m3fn, "F8_E4M3"},
                                                         {DType::float8_e5m2, "F8_E5M2"},
                                                         {DType::float8_e4m3fnuz, "F8_E4M3FNUZ"},
                                                         {DType::float8_e5m2fnuz, "F8_E5M2FNUZ"},
                                                         {DType::float8_e8m0fnu, "F8_E8M0"}};

const char* name_of(DType dtype) {
  for (const auto& [known, name] : dtype_names) {
    if (known == dtype) return name;
  }
  fail(ErrorKind::type, "files have no name for the dtype ", name(dtype));
}

// CRC-32 as in zip files, eight bytes at a time.
class Crc {
 public:
  void add(std::string_view bytes) {
    static const Tables tables = make_tables();
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
    size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
      const uint32_t low = sum_ ^ (at[0] | at[1] << 8 | at[2] << 16 | uint32_t(at[3]) << 24);
      sum_ = tables[7][low & 255] ^ tables[6][(low >> 8) & 255] ^ tables[5][(low >> 16) & 255] ^
             tables[4][low >> 24] ^ tables[3][at[4]] ^ tables[2][at[5]] ^ tables[1][at[6]] ^
             tables[0][at[7]];
    }
    for (; left; --left) sum_ = tables[0][(sum_ ^ *at++) & 255] ^ (sum_ >> 8);
  }
  int64_t value() const { return static_cast<int64_t>(~sum_); }

 private:
  using Tables = std::array<std::array<uint32_t, 256>, 8>;
  static Tables make_tables() {
    Tables tables{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t sum = i;
      for (int bit = 0; bit < 8; ++bit) sum = sum & 1 ? 0xedb88320u ^ (sum >> 1) : sum >> 1;
      tables[0][i] = sum;
    }
    for (size_t t = 1; t < 8; ++t) {
      for (uint32_t i = 0; i < 256; ++i) {
        tables[t][i] = tables[0][tables[t - 1][i] & 255] ^ (tables[t - 1][i] >> 8);
      }
    }
    return tables;
  }
  uint32_t sum_ = 0xffffffffu;
};

int64_t header_check(const Json& header, const std::string& structure) {
  Crc crc;
  crc.add(header.dump(/*spaced=*/true));
  crc.add(structure);
  return crc.value();
}

// The contents of a file, in `memory`.
std::string_view read_whole(const std::string& path, Tensor& memory) {
  struct stat found;
  const bool is_file = stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
  std::ifstream file(path, std::ios::binary);
  WISP_CHECK(is_file && file, "No such file, or not to be read: '", path, "'");
  const auto size = static_cast<std::streamoff>(found.st_size);
  WISP_CHECK(size > 0, "Ran out of input: the file is empty");
  memory = empty({size}, kUInt8);  // on large pages, not set to zero first
  char* contents = static_cast<char*>(memory.data_ptr());
  file.read(contents, size);
  WISP_CHECK(file, "the file '", path, "' could not be read");
  return {contents, static_cast<size_t>(size)};
}

}  // namespace

// --- reading

Container::Container(const std::string& path) : contents_(read_whole(path, memory_)) {
  WISP_CHECK(contents_.compare(0, 4, "PK\3\4") != 0, "'", path,
             "' is a file of PyTorch's: load it in Python and save it with wisp.save()");
  uint64_t size = 0;
  for (size_t i = std::min<size_t>(8, contents_.size()); i-- > 0;) {
    size = size << 8 | static_cast<unsigned char>(contents_[i]);
  }
  const bool plausible =
      contents_.size() >= 10 && size >= 2 && size <= largest_header && contents_[8] == '{';
  WISP_CHECK(
      plausible,
      "the file is neither one of wisp's nor a safetensors file, or its beginning is damaged");
  if (size > contents_.size() - 8) {
    fail_damaged("its header should have ", size, " bytes, the file has ", contents_.size());
  }
  begin_ = 8 + static_cast<size_t>(size);
  read_entries(Json::parse(contents_.substr(8, size)));
  check_ranges();
}

void Container::read_entries(const Json& header) {
  std::vector<Json::Member> kept;
  for (const auto& [name, value] : header.to_members()) {
    if (name == "__metadata__") {
      for (const auto& [key, text] : value.to_members()) metadata_[key] = text.to_text();
      continue;
    }
    const std::string& dtype = value.at("dtype").to_text();
    const auto* known = std::find_if(std::begin(dtype_names), std::end(dtype_names),
                                     [&](const auto& pair) { return dtype == pair.second; });
    WISP_CHECK(known != std::end(dtype_names), "the tensor '", name, "' is of dtype ", dtype,
               ", which wisp does not have");
    const std::vector<int64_t> range = value.at("data_offsets").to_sizes();
    if (range.size() != 2 || value.members.size() != 3)
      fail_damaged("the entry '", name, "' is not complete");
    places_.emplace(name, entries_.size());
    entries_.emplace_back(name,
                          Entry{known->first, value.at("shape").to_sizes(), range[0], range[1]});
    kept.emplace_back(name, value);
  }
  header_ = std::move(kept);
}

void Container::check_ranges() const {
  std::vector<const std::pair<std::string, Entry>*> order;
  for (const auto& entry : entries_) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->second.begin, a->second.end) < std::pair(b->second.begin, b->second.end);
  });
  const auto available = static_cast<int64_t>(data().size());
  int64_t end = 0;
  for (const auto* item : order) {
    const Entry& entry = item->second;
    if (entry.begin != end || entry.end < entry.begin || entry.end > available) {
      fail_damaged("the data of '", item->first, "' is at ", entry.begin, " to ", entry.end, " of ",
                   available, " bytes, not at ", end);
    }
    end = entry.end;
    int64_t bytes = static_cast<int64_t>(item_size(entry.dtype));
    for (int64_t size : entry.sizes) {
      if (size && bytes > available / size)
        bytes = available + 1;  // too large, without overflow
      else
        bytes *= size;
    }
    if (std::find(entry.sizes.begin(), entry.sizes.end(), 0) != entry.sizes.end()) bytes = 0;
    if (bytes != entry.end - entry.begin || entry.sizes.size() > 64) {
      fail_damaged("'", item->first, "' of shape ", IntList(entry.sizes), " does not take ",
                   entry.end - entry.begin, " bytes");
    }
  }
  if (end != available)
    fail_damaged("it should have ", begin_ + static_cast<size_t>(end), " bytes, it has ",
                 contents_.size());
}

const Container::Entry& Container::entry(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) fail_damaged("the data of '", name, "' is missing");
  return entries_[found->second].second;
}

std::string_view Container::view_of(const Entry& entry) const {
  return data().substr(static_cast<size_t>(entry.begin),
                       static_cast<size_t>(entry.end - entry.begin));
}

Tensor Container::bytes_of(const Entry& entry) const {
  Tensor bytes = empty({entry.end - entry.begin}, kUInt8);
  const std::string_view found = view_of(entry);
  // Not by data_ptr(), which says that somebody else has the address.
  if (!found.empty()) std::memcpy(core(bytes)->bytes(), found.data(), found.size());
  return bytes;
}

std::optional<Json> Container::structure() const {
  const auto in_header = metadata_.find("wisp"), elsewhere = metadata_.find("wisp.structure");
  std::string text;
  if (in_header != metadata_.end()) {
    text = in_header->second;
  } else if (elsewhere != metadata_.end()) {
    text = view_of(entry(elsewhere->second));
  } else {
    return std::nullopt;
  }
  check_sums(text);
  return Json::parse(text);
}

std::optional<Json> Container::program() const {
  const auto found = metadata_.find("wisp.jit");
  if (found == metadata_.end()) return std::nullopt;
  check_sums(found->second);
  return Json::parse(found->second);
}

void Container::check_sums(const std::string& structure) const {
  const auto found = metadata_.find("wisp.checksums");
  if (found == metadata_.end()) fail_damaged("its checksums are missing");
  const Json sums = Json::parse(found->second);
  Crc crc;
  crc.add(data());
  for (const auto& [part, value] :
       {std::pair("header", header_check(header_, structure)), std::pair("data", crc.value())}) {
    if (sums.at(part).to_size() != value) fail_damaged("its ", part, " is not what was written");
  }
}

// --- writing

namespace {

// The bytes of a tensor in row-major order.
std::string_view raw(const Tensor& contiguous) {
  if (contiguous.numel() == 0) return {};
  return {static_cast<const char*>(contiguous.data_ptr()), contiguous.nbytes()};
}

Json header_of(const std::vector<std::pair<std::string, Tensor>>& blobs) {
  std::vector<Json::Member> header;
  int64_t end = 0;
  for (const auto& [name, blob] : blobs) {
    std::vector<Json> sizes;
    for (int64_t size : blob.sizes()) sizes.emplace_back(size);
    const int64_t begin = end;
    end += static_cast<int64_t>(blob.nbytes());
    header.emplace_back(name,
                        std::vector<Json::Member>{{"dtype", name_of(blob.dtype())},
                                                  {"shape", std::move(sizes)},
                                                  {"data_offsets", std::vector<Json>{begin, end}}});
  }
  return header;
}

// The bytes before the data.
std::string head(const Json& header, std::vector<Json::Member> metadata) {
  std::vector<Json::Member> named{{"__metadata__", std::move(metadata)}};
  named.insert(named.end(), header.members.begin(), header.members.end());
  std::string text = Json(std::move(named)).dump(/*spaced=*/false);
  text.append((alignment - (8 + text.size()) % alignment) % alignment, ' ');
  WISP_CHECK_VALUE(text.size() <= largest_header, "the structure to be saved takes ", text.size(),
                   " bytes, the format allows ", largest_header);
  std::string length;
  for (int i = 0; i < 8; ++i) length += static_cast<char>(text.size() >> (8 * i) & 255);
  return length + text;
}

// A file aside that takes the place of another when it is complete.
class Replacement {
 public:
  // The name is that of no other: there is one object at this address in this process.
  explicit Replacement(const std::string& path)
      : path_(path), aside_(str(path, ".", getpid(), ".", static_cast<const void*>(this))) {
    descriptor_ = open(aside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail_to("write to");
    struct stat old;
    if (stat(path.c_str(), &old) == 0) fchmod(descriptor_, old.st_mode & 07777);
  }
  ~Replacement() {
    if (descriptor_ < 0) return;
    close(descriptor_);
    unlink(aside_.c_str());
  }
  void write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written =
          ::write(descriptor_, bytes.data(), std::min<size_t>(bytes.size(), 1 << 30));
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) fail_to("write to");
      bytes.remove_prefix(static_cast<size_t>(written));
    }
  }
  void finish() {
    if (fsync(descriptor_) != 0 || rename(aside_.c_str(), path_.c_str()) != 0) fail_to("replace");
    close(std::exchange(descriptor_, -1));
  }

 private:
  [[noreturn]] void fail_to(const char* what) const {
    fail(ErrorKind::runtime, "save(): cannot ", what, " '", path_, "': ", std::strerror(errno));
  }
  std::string path_, aside_;
  int descriptor_ = -1;
};

}  // namespace

void write_container(const std::string& path, const Json& structure,
                     std::vector<std::pair<std::string, Tensor>> blobs) {
  const std::string text = structure.dump(/*spaced=*/false);
  std::vector<Json::Member> metadata{{"format", "pt"}};
  if (text.size() <= largest_structure) {
    metadata.emplace_back("wisp", text);
  } else {
    std::string name = "structure";
    while (std::any_of(blobs.begin(), blobs.end(),
                       [&](const auto& blob) { return blob.first == name; }))
      name += "_";
    Tensor bytes = empty({static_cast<int64_t>(text.size())}, kUInt8);
    std::memcpy(bytes.data_ptr(), text.data(), text.size());
    blobs.emplace_back(name, bytes);
    metadata.emplace_back("wisp.structure", name);
  }
  // Elements of many bytes come first, so that everything is aligned.
  for (auto& [name, blob] : blobs) blob = blob.detach().contiguous();
  std::stable_sort(blobs.begin(), blobs.end(), [](const auto& a, const auto& b) {
    return a.second.element_size() > b.second.element_size();
  });
  const Json header = header_of(blobs);
  Crc crc;
  for (const auto& [name, blob] : blobs) crc.add(raw(blob));
  const Json sums =
      std::vector<Json::Member>{{"header", header_check(header, text)}, {"data", crc.value()}};
  metadata.emplace_back("wisp.checksums", sums.dump(/*spaced=*/false));

  Replacement file(path);
  file.write(head(header, std::move(metadata)));
  for (const auto& [name, blob] : blobs) file.write(raw(blob));
  file.finish();
}

}  // namespace wisp::api
