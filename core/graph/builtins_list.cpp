// Lists and ranges.
#include <algorithm>

#include "graph/builtins_parts.h"
#include "ops/ops.h"

namespace wisp::graph {

namespace {

int64_t size_of(const Datum& list) { return static_cast<int64_t>(list.items().size()); }

bool is_sequence(const Datum& item) { return item.tag() == Tag::list || item.tag() == Tag::tuple; }

bool is_number(const Datum& item) {
  return item.tag() == Tag::boolean || item.tag() == Tag::integer || item.tag() == Tag::real;
}

// The order of sort(). Items of different kinds meet where a list is of any type.
bool less(const Datum& a, const Datum& b) {
  if (is_number(a) && is_number(b)) {
    const Scalar x = a.scalar(), y = b.scalar();
    return x.is_integer() && y.is_integer() ? x.integer() < y.integer() : x.real() < y.real();
  }
  WISP_CHECK_TYPE(a.tag() == b.tag(), "Only values of same type can be compared");
  if (a.tag() == Tag::string) return a.string() < b.string();
  return std::lexicographical_compare(a.items().begin(), a.items().end(), b.items().begin(),
                                      b.items().end(), less);
}

bool sortable(const Datum& item) {
  if (is_sequence(item)) return std::all_of(item.items().begin(), item.items().end(), sortable);
  return item.tag() == Tag::string || is_number(item);
}

// Sorts a copy: where the order fails, no item is lost.
void sort_items(std::vector<Datum>& items, bool reverse) {
  WISP_CHECK_TYPE(std::all_of(items.begin(), items.end(), sortable),
                  "only lists of numbers, strings, and tuples or lists of these can be sorted");
  std::vector<Datum> sorted = items;
  std::stable_sort(sorted.begin(), sorted.end(), [reverse](const Datum& a, const Datum& b) {
    return reverse ? less(b, a) : less(a, b);
  });
  items.swap(sorted);
}

bool counts_as_true(const Datum& item) {
  if (is_number(item)) return item.scalar().truth();
  if (item.is_tensor()) return item.tensor().item().truth();
  if (item.tag() == Tag::string) return !item.string().empty();
  if (item.tag() == Tag::dict) return !item.dict_data().entries.empty();
  return is_sequence(item) ? !item.items().empty() : !item.is_none();
}

Datum extreme_item(const Datum& list, bool largest) {
  const std::vector<Datum>& items = list.items();
  WISP_CHECK_VALUE(!items.empty(), largest ? "max" : "min", "() arg is an empty sequence");
  WISP_CHECK_TYPE(std::all_of(items.begin(), items.end(), sortable),
                  "only numbers, strings, and tuples or lists of these have an order");
  const Datum* found = &items[0];
  for (const Datum& item : items) {
    if (largest ? less(*found, item) : less(item, *found)) found = &item;
  }
  return *found;
}

int64_t position_of(const std::vector<Datum>& items, const Datum& wanted) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (alike(items[i], wanted)) return static_cast<int64_t>(i);
  }
  return -1;
}

// index() from one place on, up to another; both may be counted from the end.
Datum index_in_part(BuiltinArgs args) {
  const auto& items = args[0].items();
  const auto size = static_cast<int64_t>(items.size());
  auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + size : at, 0, size); };
  const int64_t stop = place(args[3].integer());
  for (int64_t at = place(args[2].integer()); at < stop; ++at)
    if (alike(items[static_cast<size_t>(at)], args[1])) return at;
  fail(ErrorKind::value, repr(args[1]), " is not in list");
}

Datum slice_of(BuiltinArgs args) {
  const auto& items = args[0].items();
  const Range range = resolve_slice(args[1], args[2], args[3], size_of(args[0]));
  std::vector<Datum> chosen;
  chosen.reserve(static_cast<size_t>(range.count));
  for (int64_t i = 0; i < range.count; ++i)
    chosen.push_back(items[static_cast<size_t>(range.start + i * range.step)]);
  return Datum::list(std::move(chosen));
}

// a[start:stop] = values, with step 1 as the only one.
Datum set_slice(BuiltinArgs args) {
  auto& items = args[0].items();
  const Range range = resolve_slice(args[1], args[2], Datum(1), size_of(args[0]));
  const std::vector<Datum> values = args[3].items();  // a copy: they may be the list itself
  const auto begin = items.begin() + range.start;
  const auto at = items.erase(begin, begin + range.count);
  items.insert(at, values.begin(), values.end());
  return {};
}

Datum repeated(BuiltinArgs args) {
  const auto& items = args[0].items();
  const int64_t times = std::max<int64_t>(args[1].integer(), 0);
  WISP_CHECK_VALUE(items.empty() || times <= (int64_t(1) << 40) / size_of(args[0]),
                   "the repeated list would be too long");
  std::vector<Datum> result;
  result.reserve(items.size() * static_cast<size_t>(times));
  for (int64_t i = 0; i < times; ++i) result.insert(result.end(), items.begin(), items.end());
  return Datum::list(std::move(result));
}

Datum pop(BuiltinArgs args) {
  auto& items = args[0].items();
  WISP_CHECK_INDEX(!items.empty(), "pop from empty list");
  const int64_t at = checked_position(args[1].integer(), size_of(args[0]), "pop");
  Datum item = std::move(items[static_cast<size_t>(at)]);
  items.erase(items.begin() + at);
  return item;
}

Datum insert(BuiltinArgs args) {
  auto& items = args[0].items();
  const int64_t size = size_of(args[0]);
  const int64_t wanted = args[1].integer() < 0 ? args[1].integer() + size : args[1].integer();
  items.insert(items.begin() + std::clamp<int64_t>(wanted, 0, size), args[2]);
  return {};
}

Datum remove(BuiltinArgs args) {
  auto& items = args[0].items();
  const int64_t at = position_of(items, args[1]);
  WISP_CHECK_VALUE(at >= 0, "list.remove(x): x not in list");
  items.erase(items.begin() + at);
  return {};
}

Datum range_list(BuiltinArgs args) {
  const int64_t start = args[0].integer(), step = args[2].integer();
  const int64_t count = range_length(start, args[1].integer(), step);
  std::vector<Datum> items;
  items.reserve(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) items.push_back(start + i * step);
  return Datum::list(std::move(items));
}

Datum concatenated(BuiltinArgs args) {
  std::vector<Datum> items = args[0].items();
  const auto& more = args[1].items();
  items.insert(items.end(), more.begin(), more.end());
  return Datum::list(std::move(items));
}

Datum extend(BuiltinArgs args) {
  const std::vector<Datum> more = args[1].items();  // a copy: it may be the list itself
  auto& items = args[0].items();
  items.insert(items.end(), more.begin(), more.end());
  return {};
}

void add_reading(std::vector<BuiltinRow>& table) {
  static constexpr BuiltinRow entries[] = {
      {"len.t(T[] a) -> int", [](BuiltinArgs a) -> Datum { return size_of(a[0]); }},
      {"__getitem__.t(T[] list, int index) -> T",
       [](BuiltinArgs a) -> Datum {
         const auto& items = a[0].items();
         return items[static_cast<size_t>(
             checked_position(a[1].integer(), static_cast<int64_t>(items.size()), "list"))];
       }},
      {"slice.t(T[] list, int? start, int? stop, int? step) -> T[]", slice_of},
      {"__contains__.t(T[] list, Any item) -> bool",
       [](BuiltinArgs a) -> Datum { return position_of(a[0].items(), a[1]) >= 0; }},
      {"eq.list(T[] a, T[] b) -> bool", [](BuiltinArgs a) -> Datum { return alike(a[0], a[1]); }},
      {"ne.list(T[] a, T[] b) -> bool", [](BuiltinArgs a) -> Datum { return !alike(a[0], a[1]); }},
      {"max.t_list(T[] a) -> T", [](BuiltinArgs a) -> Datum { return extreme_item(a[0], true); }},
      {"min.t_list(T[] a) -> T", [](BuiltinArgs a) -> Datum { return extreme_item(a[0], false); }},
      {"index.t(T[] list, Any item) -> int",
       [](BuiltinArgs a) -> Datum {
         const int64_t at = position_of(a[0].items(), a[1]);
         WISP_CHECK_VALUE(at >= 0, repr(a[1]), " is not in list");
         return at;
       }},
      {"index.part(T[] list, Any item, int start, int stop) -> int", index_in_part},
      {"count.t(T[] list, Any item) -> int",
       [](BuiltinArgs a) -> Datum {
         const auto& items = a[0].items();
         return static_cast<int64_t>(std::count_if(
             items.begin(), items.end(), [&](const Datum& item) { return alike(item, a[1]); }));
       }},
      {"add.t(T[] a, T[] b) -> T[]", concatenated},
      {"mul.t(T[] list, int times) -> T[]", repeated},
      {"list.t(T[] list) -> T[]",
       [](BuiltinArgs a) -> Datum { return Datum::list(std::vector<Datum>(a[0].items())); }},
      {"sorted.t(T[] list, bool reverse) -> T[]",
       [](BuiltinArgs a) -> Datum {
         std::vector<Datum> items = a[0].items();
         sort_items(items, a[1].boolean());
         return Datum::list(std::move(items));
       }},
      {"reversed.t(T[] list) -> T[]",
       [](BuiltinArgs a) -> Datum {
         const auto& items = a[0].items();
         return Datum::list(std::vector<Datum>(items.rbegin(), items.rend()));
       }},
      {"any.bool(bool[] list) -> bool",
       [](BuiltinArgs a) -> Datum {
         const auto& items = a[0].items();
         return std::any_of(items.begin(), items.end(), [](const Datum& x) { return x.boolean(); });
       }},
      {"all.bool(bool[] list) -> bool",
       [](BuiltinArgs a) -> Datum {
         const auto& items = a[0].items();
         return std::all_of(items.begin(), items.end(), [](const Datum& x) { return x.boolean(); });
       }},
      {"any.t(T[] list) -> bool",
       [](BuiltinArgs a) -> Datum {
         return std::any_of(a[0].items().begin(), a[0].items().end(), counts_as_true);
       }},
      {"all.t(T[] list) -> bool",
       [](BuiltinArgs a) -> Datum {
         return std::all_of(a[0].items().begin(), a[0].items().end(), counts_as_true);
       }},
      {"range.list(int start, int stop, int step) -> int[]", range_list},
      {"__range_length(int start, int stop, int step) -> int",
       [](BuiltinArgs a) -> Datum {
         return range_length(a[0].integer(), a[1].integer(), a[2].integer());
       }},
      {"__derive_index(int index, int start, int step) -> int",
       [](BuiltinArgs a) -> Datum { return a[1].integer() + a[0].integer() * a[2].integer(); }},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

void add_writing(std::vector<BuiltinRow>& table) {
  static constexpr BuiltinRow entries[] = {
      {"append.t(T[] self, T item) -> ()",
       [](BuiltinArgs a) -> Datum {
         a[0].items().push_back(std::move(a[1]));
         return {};
       },
       false},
      {"extend.t(T[] self, T[] other) -> ()", extend, false},
      {"insert.t(T[] self, int index, T item) -> ()", insert, false},
      {"pop.t(T[] self, int index) -> T", pop, false},
      {"remove.t(T[] self, T item) -> ()", remove, false},
      {"clear.t(T[] self) -> ()",
       [](BuiltinArgs a) -> Datum {
         a[0].items().clear();
         return {};
       },
       false},
      {"reverse.t(T[] self) -> ()",
       [](BuiltinArgs a) -> Datum {
         std::reverse(a[0].items().begin(), a[0].items().end());
         return {};
       },
       false},
      {"sort.t(T[] self, bool reverse) -> ()",
       [](BuiltinArgs a) -> Datum {
         sort_items(a[0].items(), a[1].boolean());
         return {};
       },
       false},
      {"_set_item.t(T[] self, int index, T item) -> ()",
       [](BuiltinArgs a) -> Datum {
         auto& items = a[0].items();
         const int64_t at = checked_position(a[1].integer(), size_of(a[0]), "list assignment");
         items[static_cast<size_t>(at)] = std::move(a[2]);
         return {};
       },
       false},
      {"_set_slice.t(T[] self, int? start, int? stop, T[] items) -> ()", set_slice, false},
      {"__delitem__.t(T[] self, int index) -> ()",
       [](BuiltinArgs a) -> Datum {
         auto& items = a[0].items();
         items.erase(items.begin() +
                     checked_position(a[1].integer(), size_of(a[0]), "list assignment"));
         return {};
       },
       false},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

}  // namespace

bool alike(const Datum& a, const Datum& b) {
  if (a.is_tensor() && b.is_tensor() && !a.tensor().is_same(b.tensor())) {
    const Tensor same = ops::eq(a.tensor(), b.tensor());
    WISP_CHECK(same.numel() == 1, "Boolean value of Tensor with more than one value is ambiguous");
    return same.item().truth();
  }
  if (a.tag() != b.tag()) return equal(a, b);
  if (a.tag() == Tag::dict) {
    const auto& entries = a.dict_data().entries;
    return entries.size() == b.dict_data().entries.size() &&
           std::all_of(entries.begin(), entries.end(), [&](const auto& entry) {
             const Datum* other = b.dict_data().find(entry.first);
             return other && alike(entry.second, *other);
           });
  }
  if (!is_sequence(a)) return equal(a, b);
  return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(), alike);
}

void add_list_builtins(std::vector<BuiltinRow>& table) {
  add_reading(table);
  add_writing(table);
}

}  // namespace wisp::graph
