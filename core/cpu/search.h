// Binary search in sorted rows, the order of rows, and counting elements by intervals.
#pragma once

#include "base/dtype.h"

namespace wisp::cpu {

// For every value, the first place where it can be inserted without disturbing the order (after
// equal elements if `right`).
struct Search {
  DType dtype;             // of boundaries and values
  const char* boundaries;  // rows of `length` elements, or one row for all values
  const int64_t* sorter;   // an order that sorts each row, or null
  int64_t rows, length;
  const char* values;
  int64_t count;  // values per row
  bool right;
};
void search_sorted(const Search& job, int64_t* out);

// The order that sorts `rows` rows of `width` elements by their first elements, then their second
// ones and so on. Equal rows keep their order, NaN counts as larger than everything.
void order_of_rows(DType dtype, int64_t rows, int64_t width, const char* in, int64_t* order);

// How an element finds its interval: by binary search among the edges; by where it is between the
// first and the last edge; or by that, corrected by a look at the neighbouring edges.
enum class Binning { search, linear, linear_checked };

template <class T>
struct BinAxis {
  const T* edges;  // bins + 1 of them
  int64_t bins;
};

// For `points` points of `axes` coordinates, the number of their cell, or -1 outside. The last
// interval of an axis includes its end.
template <class T>
void cells_of(const T* in, int64_t points, const BinAxis<T>* axes, int64_t count, Binning how,
              int64_t* cells);

}  // namespace wisp::cpu
