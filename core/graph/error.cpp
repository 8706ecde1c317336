#include "graph/error.h"

#include <algorithm>

#include "graph/code.h"

namespace wisp::graph {

std::string place_text(const Span& span, const std::string& function) {
  const Source& source = *span.source;
  std::string text = str("  File \"", source.file, "\", line ", span.line());
  if (!function.empty()) text += ", in " + function;
  text += "\n";
  const auto size = source.text.size();
  const auto from = std::min(static_cast<size_t>(span.begin), size);
  if (size == 0) return text;
  size_t start = from == 0 ? 0 : source.text.rfind('\n', from - 1) + 1;  // npos + 1 is 0
  const size_t end = std::min(source.text.find('\n', from), size);
  while (start < from && source.text[start] == ' ') ++start;
  const auto to = std::max(std::min(static_cast<size_t>(span.end), end), from + 1);
  text += "    " + source.text.substr(start, end - start) + "\n";
  text += "    " + std::string(from - start, ' ') + std::string(to - from, '~') + " <--- HERE\n";
  return text;
}

}  // namespace wisp::graph
