#include "graph/datum.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/generator.h"
#include "graph/future.h"
#include "graph/graph.h"
#include "graph/interpreter.h"

namespace wisp::graph {

Datum::Datum(std::complex<double> value) : tag_(Tag::complex) {
  auto* data = new ComplexData;
  data->value = value;
  as_.object = data;
}

Datum::Datum(std::string value) : tag_(Tag::string) {
  auto* data = new StringData;
  data->value = std::move(value);
  as_.object = data;
}

Datum::Datum(Scalar value) {
  switch (value.category()) {
    case Category::boolean:
      *this = Datum(value.truth());
      break;
    case Category::integral:
      *this = Datum(value.integer());
      break;
    case Category::floating:
      *this = Datum(value.real());
      break;
    case Category::complex:
      *this = Datum(value.complex());
      break;
  }
}

Datum::Datum(Generator* value) {
  if (!value) return;
  tag_ = Tag::generator;
  value->retain();
  as_.object = value;
}

Datum::Datum(Ref<ObjectData> value) {
  if (!value) return;
  tag_ = Tag::object;
  as_.object = value.detach();
}
Datum::Datum(Ref<FutureData> value) {
  tag_ = Tag::future;
  as_.object = value.detach();
}

Datum Datum::list(std::vector<Datum> items) {
  auto* data = new ListData;
  data->items = std::move(items);
  Datum made;
  made.tag_ = Tag::list;
  made.as_.object = data;
  return made;
}

Datum Datum::tuple(std::vector<Datum> items) {
  Datum made = list(std::move(items));
  made.tag_ = Tag::tuple;
  return made;
}

Datum Datum::dict() {
  Datum made;
  made.as_.object = new DictData;
  made.tag_ = Tag::dict;
  return made;
}

Datum Datum::layout() {
  Datum made;
  made.tag_ = Tag::layout;
  return made;
}

std::complex<double> Datum::complex() const {
  return static_cast<const ComplexData*>(as_.object)->value;
}

Scalar Datum::scalar() const {
  switch (tag_) {
    case Tag::boolean:
      return Scalar(boolean());
    case Tag::real:
      return Scalar(real());
    case Tag::complex:
      return Scalar(complex());
    default:
      return Scalar(integer());
  }
}

const std::string& Datum::string() const {
  return static_cast<const StringData*>(as_.object)->value;
}
std::vector<Datum>& Datum::items() const { return static_cast<ListData*>(as_.object)->items; }
ListData& Datum::list_data() const { return *static_cast<ListData*>(as_.object); }
DictData& Datum::dict_data() const { return *static_cast<DictData*>(as_.object); }
ObjectData& Datum::object() const { return *static_cast<ObjectData*>(as_.object); }
FutureData& Datum::future() const { return *static_cast<FutureData*>(as_.object); }
Generator* Datum::generator() const { return static_cast<Generator*>(as_.object); }

namespace {

// Objects that wait to be freed because others are being freed that led to them.
constinit WISP_THREAD_LOCAL std::vector<ObjectData*>* waiting = nullptr;
constinit WISP_THREAD_LOCAL int depth = 0;

}  // namespace

void ObjectData::destroy() {
  constexpr int deepest = 64;
  if (waiting && depth >= deepest) return waiting->push_back(this);
  if (waiting) {
    ++depth;
    delete this;
    --depth;
    return;
  }
  std::vector<ObjectData*> later = {this};
  waiting = &later;
  while (!later.empty()) {
    ObjectData* next = later.back();
    later.pop_back();
    delete next;
  }
  waiting = nullptr;
}

namespace {

size_t hash_of(const Datum& key) {
  if (key.tag() == Tag::string) return std::hash<std::string>()(key.string());
  return std::hash<double>()(key.scalar().real());  // equal for equal numbers of other types
}

}  // namespace

size_t DictData::place_of(const Datum& key) {
  constexpr size_t few = 16;
  if (entries.size() <= few) {
    const auto found = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto& entry) { return equal(entry.first, key); });
    return static_cast<size_t>(found - entries.begin());
  }
  if (indexed_ > entries.size()) indexed_ = 0;
  if (indexed_ == 0) index_.clear();
  for (; indexed_ < entries.size(); ++indexed_) {
    index_.emplace(hash_of(entries[indexed_].first), indexed_);
  }
  const auto [begin, end] = index_.equal_range(hash_of(key));
  for (auto at = begin; at != end; ++at) {
    if (equal(entries[at->second].first, key)) return at->second;
  }
  return entries.size();
}

Datum* DictData::find(const Datum& key) {
  const size_t place = place_of(key);
  return place < entries.size() ? &entries[place].second : nullptr;
}

void DictData::set(Datum key, Datum value) {
  if (Datum* there = find(key)) {
    *there = std::move(value);
  } else {
    entries.emplace_back(std::move(key), std::move(value));
  }
}

bool DictData::erase(const Datum& key) {
  const size_t place = place_of(key);
  if (place == entries.size()) return false;
  entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(place));
  indexed_ = 0;
  return true;
}

namespace {

bool is_number(const Datum& value) {
  const Tag tag = value.tag();
  return tag == Tag::boolean || tag == Tag::integer || tag == Tag::real || tag == Tag::complex;
}

bool equal_numbers(const Datum& a, const Datum& b) {
  const Scalar x = a.scalar(), y = b.scalar();
  if (x.is_integer() && y.is_integer()) return x.integer() == y.integer();
  return x.real() == y.real() && x.imag() == y.imag();
}

bool equal_items(const std::vector<Datum>& a, const std::vector<Datum>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), equal);
}

bool equal_dicts(DictData& a, DictData& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    const Datum* other = b.find(key);
    if (!other || !equal(value, *other)) return false;
  }
  return true;
}

// Whether the payloads of two values of one tag without parts are the same.
bool equal_plain(const Datum& a, const Datum& b) {
  switch (a.tag()) {
    case Tag::dtype:
      return a.dtype() == b.dtype();
    case Tag::device:
      return a.device() == b.device();
    case Tag::memory_format:
      return a.memory_format() == b.memory_format();
    case Tag::tensor:
      return a.tensor().is_same(b.tensor());
    case Tag::generator:
      return a.generator() == b.generator();
    case Tag::object:
      return &a.object() == &b.object();
    case Tag::future:
      return &a.future() == &b.future();
    default:
      return true;
  }
}

}  // namespace

Datum deep_copy(const Datum& value) {
  if (value.tag() == Tag::dict) {
    Datum made = Datum::dict();
    for (const auto& [key, item] : value.dict_data().entries)
      made.dict_data().entries.emplace_back(key, deep_copy(item));
    return made;
  }
  if (value.tag() != Tag::list && value.tag() != Tag::tuple) return value;
  std::vector<Datum> items;
  for (const Datum& item : value.items()) items.push_back(deep_copy(item));
  if (value.tag() == Tag::list) return Datum::list(std::move(items));
  Datum made = Datum::tuple(std::move(items));
  made.list_data().named = value.list_data().named;
  return made;
}

bool equal(const Datum& a, const Datum& b) {
  if (is_number(a) && is_number(b)) return equal_numbers(a, b);
  if (a.tag() != b.tag()) return false;
  switch (a.tag()) {
    case Tag::string:
      return a.string() == b.string();
    case Tag::list:
    case Tag::tuple:
      return equal_items(a.items(), b.items());
    case Tag::dict:
      return equal_dicts(a.dict_data(), b.dict_data());
    default:
      return equal_plain(a, b);
  }
}

namespace {

// The shortest text that reads back as the same number; with an exponent where Python has one.
std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char text[400];
  const double size = std::abs(value);
  const bool plain = value == 0 || (size >= 1e-4 && size < 1e16);
  const auto end = std::to_chars(text, text + sizeof(text), value,
                                 plain ? std::chars_format::fixed : std::chars_format::scientific);
  std::string result(text, end.ptr);
  if (plain && result.find('.') == std::string::npos) result += ".0";
  return result;
}

std::string complex_text(std::complex<double> value) {
  auto part = [](double x) {
    const std::string text = real_text(x);
    return text.ends_with(".0") ? text.substr(0, text.size() - 2) : text;
  };
  if (value.real() == 0 && !std::signbit(value.real())) return part(value.imag()) + "j";
  const std::string imag = part(value.imag());
  return "(" + part(value.real()) + (imag.starts_with('-') ? "" : "+") + imag + "j)";
}

std::string quoted(const std::string& text) {
  const char quote =
      text.find('\'') != std::string::npos && text.find('"') == std::string::npos ? '"' : '\'';
  std::string result(1, quote);
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == quote || c == '\\') {
      result += {'\\', c};
    } else if (c == '\n') {
      result += "\\n";
    } else if (c == '\t') {
      result += "\\t";
    } else if (c == '\r') {
      result += "\\r";
    } else if (byte < 0x20 || byte == 0x7f) {
      constexpr const char* digits = "0123456789abcdef";
      result += {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    } else {
      result += c;
    }
  }
  return result + quote;
}

std::string joined(const std::vector<Datum>& items) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) text += (i ? ", " : "") + repr(items[i]);
  return text;
}

std::string tensor_text(const Tensor& tensor) {
  if (graph_host.show) return graph_host.show(tensor);
  return str("tensor(..., size=", tensor.sizes(), ", dtype=wisp.", name(tensor.dtype()), ")");
}

std::string dict_text(const DictData& dict) {
  std::string text;
  for (const auto& [key, value] : dict.entries) {
    text += (text.empty() ? "" : ", ") + repr(key) + ": " + repr(value);
  }
  return "{" + text + "}";
}

std::string device_text(Device device) {
  const std::string whole = to_string(device);
  const std::string type = whole.substr(0, whole.find(':'));
  if (device.index < 0) return "device(type='" + type + "')";
  return str("device(type='", type, "', index=", static_cast<int>(device.index), ")");
}

}  // namespace

std::string repr(const Datum& value) {
  switch (value.tag()) {
    case Tag::none:
      return "None";
    case Tag::boolean:
      return value.boolean() ? "True" : "False";
    case Tag::integer:
      return std::to_string(value.integer());
    case Tag::real:
      return real_text(value.real());
    case Tag::dtype:
      return std::string("wisp.") + name(value.dtype());
    case Tag::device:
      return device_text(value.device());
    case Tag::layout:
      return "wisp.strided";
    case Tag::memory_format:
      return std::string("wisp.") + name(value.memory_format());
    case Tag::tensor:
      return tensor_text(value.tensor());
    case Tag::generator:
      return "<wisp.Generator>";
    case Tag::complex:
      return complex_text(value.complex());
    case Tag::string:
      return quoted(value.string());
    case Tag::list:
      return "[" + joined(value.items()) + "]";
    case Tag::tuple:
      return "(" + joined(value.items()) + (value.items().size() == 1 ? ",)" : ")");
    case Tag::dict:
      return dict_text(value.dict_data());
    case Tag::object:
      return "<" + value.object().cls->name + " object>";
    case Tag::future:
      return "<Future>";
  }
  return "";
}

std::string str_of(const Datum& value) {
  if (value.tag() == Tag::string) return value.string();
  return value.tag() == Tag::device ? to_string(value.device()) : repr(value);
}

}  // namespace wisp::graph
