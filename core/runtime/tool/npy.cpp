#include "runtime/tool/npy.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>
#include <vector>

namespace wisp::tool {

namespace {

using api::Tensor;

constexpr std::pair<DType, std::string_view> dtype_names[] = {
    {DType::bool_, "|b1"},     {DType::uint8, "|u1"},      {DType::int8, "|i1"},
    {DType::int16, "<i2"},     {DType::int32, "<i4"},      {DType::int64, "<i8"},
    {DType::float16, "<f2"},   {DType::float32, "<f4"},    {DType::float64, "<f8"},
    {DType::complex64, "<c8"}, {DType::complex128, "<c16"}};

constexpr std::string_view magic("\x93NUMPY", 6);
constexpr size_t alignment = 64;  // of the data
constexpr size_t most_dims = 64;

// What the text before the data says: {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
struct Header {
  std::string dtype;
  bool fortran_order = false;
  std::vector<int64_t> sizes;
};

class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& path) : text_(text), path_(path) {}

  Header run() {
    expect('{');
    while (!take('}')) {
      read_entry(quoted());
      if (!take(',') && peek() != '}') fail_here();
    }
    if (entries_ != 3 || seen_ != 7) fail_here();
    return header_;
  }

 private:
  [[noreturn]] void fail_here() const {
    fail(ErrorKind::runtime, "'", path_, "' is damaged: its header cannot be read at byte ", at_);
  }
  char peek() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }
  void expect(char c) {
    if (!take(c)) fail_here();
  }
  bool take_word(std::string_view word) {
    peek();
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }
  std::string quoted() {
    expect('\'');
    const size_t end = text_.find('\'', at_);
    if (end == std::string_view::npos) fail_here();
    const std::string text(text_.substr(at_, end - at_));
    at_ = end + 1;
    return text;
  }

  void read_entry(const std::string& key) {
    expect(':');
    ++entries_;
    if (key == "descr") {
      if (peek() == '[') fail(ErrorKind::type, "'", path_, "' holds records, not numbers");
      header_.dtype = quoted();
      seen_ |= 1;
    } else if (key == "fortran_order") {
      header_.fortran_order = take_word("True");
      if (!header_.fortran_order && !take_word("False")) fail_here();
      seen_ |= 2;
    } else if (key == "shape") {
      read_shape();
      seen_ |= 4;
    } else {
      fail_here();
    }
  }
  void read_shape() {
    expect('(');
    while (!take(')')) {
      int64_t size = 0;
      peek();
      const char* end = text_.data() + text_.size();
      const auto [stop, error] = std::from_chars(text_.data() + at_, end, size);
      if (error != std::errc() || size < 0 || header_.sizes.size() == most_dims) fail_here();
      header_.sizes.push_back(size);
      at_ = static_cast<size_t>(stop - text_.data());
      if (!take(',') && peek() != ')') fail_here();
    }
  }

  std::string_view text_;
  const std::string& path_;
  size_t at_ = 0;
  int entries_ = 0, seen_ = 0;  // a bit per key
  Header header_;
};

// All of it if it begins as it should; else the beginning, as what it is may have no end.
std::string read_whole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string contents(magic.size(), '\0');
  file.read(contents.data(), static_cast<std::streamsize>(contents.size()));
  contents.resize(static_cast<size_t>(file.gcount()));
  std::vector<char> block(contents == magic ? 1 << 20 : 0);
  while (!block.empty() && file) {
    file.read(block.data(), static_cast<std::streamsize>(block.size()));
    contents.append(block.data(), static_cast<size_t>(file.gcount()));
  }
  WISP_CHECK(file.good() || file.eof(), "the file '", path, "' could not be read");
  return contents;
}

// Splits a file into the text of its header and its data.
std::pair<std::string_view, std::string_view> parts_of(std::string_view contents,
                                                       const std::string& path) {
  WISP_CHECK(contents.size() >= 12 && contents.substr(0, magic.size()) == magic, "'", path,
             "' is no .npy file");
  const int version = contents[6];
  WISP_CHECK(version >= 1 && version <= 3, "'", path, "' is a .npy file of version ", version,
             ", which is not known");
  const size_t count = version == 1 ? 2 : 4;
  size_t size = 0;
  for (size_t i = count; i-- > 0;) size = size << 8 | static_cast<unsigned char>(contents[8 + i]);
  const size_t begin = 8 + count;
  WISP_CHECK(size <= contents.size() - begin, "'", path, "' is damaged: it ends in its header");
  return {contents.substr(begin, size), contents.substr(begin + size)};
}

DType dtype_in(const Header& header, const std::string& path) {
  for (const auto& [dtype, name] : dtype_names) {
    if (header.dtype == name) return dtype;
  }
  fail(ErrorKind::type, "'", path, "' holds an array of dtype '", header.dtype,
       "', which wisp does not have");
}

void check_size(const Header& header, DType dtype, size_t available, const std::string& path) {
  size_t bytes = item_size(dtype);
  bool fits = true;
  const bool empty = std::count(header.sizes.begin(), header.sizes.end(), 0) > 0;
  for (int64_t size : header.sizes)
    fits = fits && !__builtin_mul_overflow(bytes, static_cast<size_t>(empty ? 0 : size), &bytes);
  WISP_CHECK(fits && bytes == available, "'", path, "' is damaged: an array of shape ",
             api::IntList(header.sizes), " does not take ", available, " bytes");
}

}  // namespace

Tensor read_npy(const std::string& path) {
  const std::string contents = read_whole(path);
  const auto [text, data] = parts_of(contents, path);
  Header header = HeaderReader(text, path).run();
  const DType dtype = dtype_in(header, path);
  check_size(header, dtype, data.size(), path);
  if (header.fortran_order) std::reverse(header.sizes.begin(), header.sizes.end());
  // Any byte but 0 is true.
  const bool flags = dtype == DType::bool_;
  Tensor made = api::empty(header.sizes, flags ? DType::uint8 : dtype);
  if (!data.empty()) std::memcpy(made.data_ptr(), data.data(), data.size());
  if (flags) made = made.ne(0);
  if (!header.fortran_order) return made;
  std::vector<int64_t> backwards;
  for (int64_t i = made.dim(); i-- > 0;) backwards.push_back(i);
  return made.permute(backwards).contiguous();
}

void write_npy(const std::string& path, const Tensor& tensor) {
  Tensor plain = tensor.detach().contiguous();
  if (plain.dtype() == DType::bfloat16) plain = plain.to(DType::float32);
  std::string shape;
  for (int64_t size : plain.sizes()) shape += std::to_string(size) + ",";
  const auto* known = std::find_if(std::begin(dtype_names), std::end(dtype_names),
                                   [&](const auto& pair) { return pair.first == plain.dtype(); });
  std::string header =
      str("{'descr': '", known->second, "', 'fortran_order': False, 'shape': (", shape, "), }");
  constexpr size_t before = 10;  // bytes: magic, version, length
  header.append(alignment - 1 - (before + header.size()) % alignment, ' ');
  header += '\n';
  const char length[] = {static_cast<char>(header.size() & 255),
                         static_cast<char>(header.size() >> 8)};
  std::ofstream file(path, std::ios::binary);
  file << magic << '\1' << '\0';
  file.write(length, 2);
  file << header;
  if (plain.numel())
    file.write(static_cast<const char*>(plain.data_ptr()),
               static_cast<std::streamsize>(plain.nbytes()));
  file.close();
  WISP_CHECK(file, "'", path, "' could not be written");
}

}  // namespace wisp::tool
