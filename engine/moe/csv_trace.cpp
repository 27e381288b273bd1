// Routing as CSV: a line of names, then a line for each expert that a token goes to in a layer.
#include <charconv>
#include <cmath>
#include <istream>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "engine/moe/layer_lines.h"
#include "sync/error.h"

namespace tandem {
namespace {

std::string_view without_blanks(std::string_view cell) {
  constexpr std::string_view kBlanks = " \t\r";
  cell.remove_prefix(std::min(cell.find_first_not_of(kBlanks), cell.size()));
  cell.remove_suffix(cell.size() - (cell.find_last_not_of(kBlanks) + 1));
  return cell;
}

// The end of the quoted text that begins at `begin`. Two quotes in it are one quote of the text (RFC 4180).
size_t closing_quote(std::string_view line, size_t begin) {
  size_t quote = line.find('"', begin);
  while (quote != std::string_view::npos && quote + 1 < line.size() && line[quote + 1] == '"')
    quote = line.find('"', quote + 2);
  return quote;
}

// The parts between commas, without blanks and quotes around them. A comma between quotes is part of its cell. Nothing:
// a quote is not closed on the line, or something follows it.
std::optional<std::vector<std::string_view>> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  for (size_t begin = 0; begin <= line.size();) {
    const size_t first = line.find_first_not_of(" \t\r", begin);
    const bool quoted = first != std::string_view::npos && line[first] == '"';
    const size_t closing = quoted ? closing_quote(line, first + 1) : begin;
    if (closing == std::string_view::npos) return std::nullopt;
    const size_t end = std::min(line.find(',', closing), line.size());
    if (quoted && without_blanks(line.substr(closing + 1, end - closing - 1)) != "") return std::nullopt;
    cells.push_back(
        without_blanks(quoted ? line.substr(first + 1, closing - first - 1) : line.substr(begin, end - begin)));
    begin = end + 1;
  }
  return cells;
}

template <typename T>
std::optional<T> number_in(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The first line names the columns, so files of other programs can have them in any order, with other columns between
// them. A token's k experts are k lines of one layer.
class CsvReader {
 public:
  CsvReader(const std::string& source, int64_t used) : collected_(source), used_(static_cast<size_t>(used)) {}

  // Reads all lines, then looks for layers whose last token is not complete, and joins the layers at last.
  void read(std::istream& lines, const std::string& first, int64_t number, const RoutingHints& hints,
            RecordedRouting& routing) {
    line_ = number;
    read_names(first);
    if (used_ == 0)
      throw Error("a CSV file does not say how many experts a token has", collected_.source(), "Say it: --top-k N");
    for (std::string text; std::getline(lines, text);) {
      ++line_;
      if (!is_blank(text)) read_line(text);
    }
    for (const auto& [layer, begun] : begun_)
      if (!begun.ids.empty())
        collected_.fail(
            "the lines of layer " + std::to_string(layer) + " are no multiple of --top-k " + std::to_string(used_),
            begun.line);
    collected_.put_together(routing, {}, hints);
  }

 private:
  [[noreturn]] void fail(const std::string& problem) const { collected_.fail(problem, line_); }

  std::vector<std::string_view> cells_in(std::string_view line) const {
    auto cells = cells_of(line);
    if (!cells) fail("a quoted cell does not end where its quote does");
    return *std::move(cells);
  }

  void read_names(const std::string& line) {
    const auto names = cells_in(line);
    count_ = names.size();
    for (size_t i = 0; i < names.size(); ++i)
      if (!columns_.emplace(names[i], i).second && !names[i].empty())
        fail("the first line names the column '" + std::string(names[i]) + "' twice");
    for (const char* name : {"layer", "expert"})
      if (!columns_.contains(name)) fail("the first line names no column '" + std::string(name) + "'");
  }

  // The cell of that column, or nothing where there is no such column.
  std::optional<std::string_view> cell(const std::vector<std::string_view>& cells, const char* name) const {
    const auto column = columns_.find(name);
    if (column == columns_.end()) return std::nullopt;
    if (column->second >= cells.size()) fail("there is no " + std::string(name));
    return cells[column->second];
  }

  int64_t whole(const std::vector<std::string_view>& cells, const char* name, int64_t most) const {
    const auto value = number_in<int64_t>(cell(cells, name).value_or(""));
    if (!value || *value < 0 || *value > most)
      fail(std::string(name) + " is no whole number from 0 to " + std::to_string(most));
    return *value;
  }

  // A layer's token is complete with its k-th line.
  void read_line(const std::string& text) {
    const auto cells = cells_in(text);
    if (cells.size() > count_ && !(cells.size() == count_ + 1 && cells.back().empty()))
      fail("the line has " + std::to_string(cells.size()) + " cells, and the first line " + std::to_string(count_));
    const int64_t layer = whole(cells, "layer", kMostRecordedLayers - 1);
    LayerLine& token = begun_[layer];
    const auto name = cell(cells, "seq");
    const int64_t sequence = name ? collected_.sequence_of(std::string(*name)) : 0;
    if (!token.ids.empty() && token.sequence != sequence) fail("a token's lines are of different sequences");
    token.line = line_;
    token.sequence = sequence;
    token.ids.push_back(static_cast<int32_t>(whole(cells, "expert", kMostRecordedExperts - 1)));
    if (const auto weight = cell(cells, "weight")) {
      const auto value = number_in<float>(*weight);
      if (!value || !std::isfinite(*value)) fail("weight is no number");
      token.weights.push_back(*value);
    }
    if (token.ids.size() == used_) collected_.add(layer, std::exchange(token, {}));
  }

  LayerLines collected_;
  const size_t used_;                                   // k
  size_t count_ = 0;                                    // columns
  std::map<std::string, size_t, std::less<>> columns_;  // of each name
  std::map<int64_t, LayerLine> begun_;                  // the incomplete token of each layer
  int64_t line_ = 0;
};

}  // namespace

void read_csv_trace(std::istream& lines, const std::string& first, int64_t number, const std::string& source,
                    const RoutingHints& hints, RecordedRouting& routing) {
  CsvReader(source, hints.used).read(lines, first, number, hints, routing);
}

}  // namespace tandem
