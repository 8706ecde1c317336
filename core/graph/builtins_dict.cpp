// Dicts, which keep the order of insertion.
#include "graph/builtins_parts.h"

namespace wisp::graph {

namespace {

template <class Pick>
Datum list_of_entries(const DictData& dict, Pick pick) {
  std::vector<Datum> items;
  items.reserve(dict.entries.size());
  for (const auto& entry : dict.entries) items.push_back(pick(entry));
  return Datum::list(std::move(items));
}

Datum get_item(BuiltinArgs args) {
  const Datum* found = args[0].dict_data().find(args[1]);
  if (!found) raise("KeyError", repr(args[1]));
  return *found;
}

Datum pop(BuiltinArgs args) {
  Datum value = get_item(args);
  args[0].dict_data().erase(args[1]);
  return value;
}

Datum pop_default(BuiltinArgs args) {
  DictData& dict = args[0].dict_data();
  const Datum* found = dict.find(args[1]);
  if (!found) return args[2];
  Datum value = *found;
  dict.erase(args[1]);
  return value;
}

// The newest.
Datum pop_item(BuiltinArgs args) {
  DictData& dict = args[0].dict_data();
  if (dict.entries.empty()) raise("KeyError", "popitem(): dictionary is empty");
  const auto [key, value] = dict.entries.back();
  dict.erase(key);
  return Datum::tuple({key, value});
}

Datum update(BuiltinArgs args) {
  const auto entries = args[1].dict_data().entries;  // a copy: it may be the dict itself
  for (const auto& [key, value] : entries) args[0].dict_data().set(key, value);
  return {};
}

Datum copied(BuiltinArgs args) {
  Datum made = Datum::dict();
  made.dict_data().entries = args[0].dict_data().entries;
  return made;
}

Datum from_pairs(BuiltinArgs args) {
  Datum made = Datum::dict();
  for (const Datum& pair : args[0].items()) made.dict_data().set(pair.items()[0], pair.items()[1]);
  return made;
}

Datum set_default(BuiltinArgs args) {
  DictData& dict = args[0].dict_data();
  if (const Datum* found = dict.find(args[1])) return *found;
  dict.set(args[1], args[2]);
  return args[2];
}

}  // namespace

void add_dict_builtins(std::vector<BuiltinRow>& table) {
  static constexpr BuiltinRow entries[] = {
      {"len.dict(Dict(K, V) a) -> int",
       [](BuiltinArgs a) -> Datum {
         return static_cast<int64_t>(a[0].dict_data().entries.size());
       }},
      {"__getitem__.dict(Dict(K, V) self, K key) -> V", get_item},
      {"__contains__.dict(Dict(K, V) self, K key) -> bool",
       [](BuiltinArgs a) -> Datum { return a[0].dict_data().find(a[1]) != nullptr; }},
      {"get.dict(Dict(K, V) self, K key) -> V?",
       [](BuiltinArgs a) -> Datum {
         const Datum* found = a[0].dict_data().find(a[1]);
         return found ? *found : Datum();
       }},
      {"get.default(Dict(K, V) self, K key, V default) -> V",
       [](BuiltinArgs a) -> Datum {
         const Datum* found = a[0].dict_data().find(a[1]);
         return found ? *found : a[2];
       }},
      {"keys.dict(Dict(K, V) self) -> K[]",
       [](BuiltinArgs a) -> Datum {
         return list_of_entries(a[0].dict_data(), [](const auto& entry) { return entry.first; });
       }},
      {"values.dict(Dict(K, V) self) -> V[]",
       [](BuiltinArgs a) -> Datum {
         return list_of_entries(a[0].dict_data(), [](const auto& entry) { return entry.second; });
       }},
      {"items.dict(Dict(K, V) self) -> (K, V)[]",
       [](BuiltinArgs a) -> Datum {
         return list_of_entries(a[0].dict_data(), [](const auto& entry) {
           return Datum::tuple({entry.first, entry.second});
         });
       }},
      {"copy.dict(Dict(K, V) self) -> Dict(K, V)", copied},
      {"dict.pairs((K, V)[] pairs) -> Dict(K, V)", from_pairs},
      {"_set_item.dict(Dict(K, V) self, K key, V value) -> ()",
       [](BuiltinArgs a) -> Datum {
         a[0].dict_data().set(std::move(a[1]), std::move(a[2]));
         return {};
       },
       false},
      {"__delitem__.dict(Dict(K, V) self, K key) -> ()",
       [](BuiltinArgs a) -> Datum {
         if (!a[0].dict_data().erase(a[1])) raise("KeyError", repr(a[1]));
         return {};
       },
       false},
      {"pop.dict(Dict(K, V) self, K key) -> V", pop, false},
      {"pop.dict_default(Dict(K, V) self, K key, V default) -> V", pop_default, false},
      {"popitem.dict(Dict(K, V) self) -> (K, V)", pop_item, false},
      {"setdefault.dict(Dict(K, V) self, K key, V default) -> V", set_default, false},
      {"update.dict(Dict(K, V) self, Dict(K, V) other) -> ()", update, false},
      {"clear.dict(Dict(K, V) self) -> ()",
       [](BuiltinArgs a) -> Datum {
         a[0].dict_data().entries.clear();
         return {};
       },
       false},
  };
  table.insert(table.end(), std::begin(entries), std::end(entries));
}

}  // namespace wisp::graph
