// JSON as the headers of files use it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace wisp::api {

class Json {
 public:
  enum class Kind { null, boolean, integer, real, text, list, object };
  using Member = std::pair<std::string, Json>;

  Json() = default;
  Json(bool value) : kind(Kind::boolean), integer(value) {}
  Json(int64_t value) : kind(Kind::integer), integer(value) {}
  Json(double value) : kind(Kind::real), real(value) {}
  Json(std::string value) : kind(Kind::text), text(std::move(value)) {}
  Json(const char* value) : Json(std::string(value)) {}
  Json(std::vector<Json> value) : kind(Kind::list), items(std::move(value)) {}
  Json(std::vector<Member> value) : kind(Kind::object), members(std::move(value)) {}

  // Strict: one value, keys only once, nothing too deep, numbers that fit.
  static Json parse(std::string_view text);
  // As Python's json.dumps writes it, everything beyond ASCII escaped. `spaced`: with its default
  // separators, and keys in order.
  std::string dump(bool spaced) const;

  const Json* find(std::string_view key) const;
  // These fail if it is something else, or has no such member.
  const Json& at(std::string_view key) const;
  int64_t to_size() const;  // not negative
  const std::string& to_text() const;
  const std::vector<Json>& to_items() const;
  const std::vector<Member>& to_members() const;
  std::vector<int64_t> to_sizes() const;

  Kind kind = Kind::null;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<Json> items;
  std::vector<Member> members;

 private:
  void write(std::string& out, bool spaced) const;
  void write_object(std::string& out, bool spaced) const;
};

// A number that reads back as the same, whatever the locale.
std::string real_text(double value);
double parse_real(const std::string& text);

}  // namespace wisp::api
