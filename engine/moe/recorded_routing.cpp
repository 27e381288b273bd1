// Reads recorded routing in any of three forms. The first line tells which form it is.
#include "engine/moe/recorded_routing.h"

#include <algorithm>
#include <istream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <string_view>

#include "engine/moe/layer_lines.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // programs for tables write it before CSV

// A flag that contradicts the file is an error, since one of the two must be wrong.
void require_hint(const char* flag, int64_t hint, int64_t told, const std::string& source) {
  if (hint > 0 && hint != told)
    throw Error("the recorded routing says something else than " + std::string(flag), source,
                "It says " + std::to_string(told) + ", the flag says " + std::to_string(hint));
}

// The first line says how many tokens follow. A file that was cut between two lines has fewer of them, and can be
// replayed all the same.
void note_missing_tokens(const std::string& first, RecordedRouting& routing) {
  std::set<int64_t> sequences;
  int64_t longest = 0;
  for (const TracedToken& token : routing.trace.tokens) {
    sequences.insert(token.sequence);
    longest = std::max(longest, token.position + 1);
  }
  const auto meta = parse_json(first);
  const auto says_more = [&](const char* key, int64_t found, const char* what) {
    const auto told = meta.find(key);
    if (told == meta.end() || !told->is_number_unsigned() || told->get<uint64_t>() <= static_cast<uint64_t>(found))
      return;
    routing.notes.push_back("the first line says " + told->dump() + " " + what + ", and the file has " +
                            std::to_string(found) + ": it may have been cut");
  };
  says_more("sequences", std::ssize(sequences), "sequences");
  says_more("tokens_per_sequence", longest, "tokens for the longest of them");
}

// This program's own reader begins with the first line, which was read already.
void read_own_form(std::istream& lines, const std::string& first, int64_t number, const std::string& source,
                   const RoutingHints& hints, RecordedRouting& routing) {
  std::string all(static_cast<size_t>(number - 1), '\n');
  all += first + '\n';
  std::ostringstream rest;
  if (lines.peek() != std::istream::traits_type::eof()) rest << lines.rdbuf();
  std::istringstream whole(all + rest.str());
  routing.trace = parse_routing_trace(whole, source);
  require_hint("--experts", hints.experts, routing.trace.experts, source);
  require_hint("--top-k", hints.used, routing.trace.used, source);
  if (routing.trace.tokens.empty())
    throw Error("the recorded routing has no tokens", source, "docs/hybrimoe.md has the forms");
  note_missing_tokens(first, routing);
}

// The first bytes of files of gzip and zstd.
bool is_compressed(const std::string& line) {
  return line.starts_with("\x1F\x8B") || line.starts_with("\x28\xB5\x2F\xFD");
}

}  // namespace

// A line of JSON with `moe_layers` begins this program's form. A first line that is no JSON is a CSV's line of names.
RecordedRouting read_recorded_routing(std::istream& lines, const std::string& source, const RoutingHints& hints) {
  RecordedRouting routing;
  int64_t number = 0;
  for (std::string first; std::getline(lines, first);) {
    if (++number == 1 && first.starts_with(kByteOrderMark)) first.erase(0, kByteOrderMark.size());
    if (is_blank(first)) continue;
    if (number == 1 && is_compressed(first))
      throw Error("the recorded routing is compressed", source, "Unpack it first, with gunzip or unzstd");
    const size_t begin = first.find_first_not_of(" \t\r");
    const bool is_json = first[begin] == '{' || first[begin] == '[';
    const bool is_own = is_json && [&] {
      const auto meta = parse_json(first);
      return !meta.is_object() || meta.value("type", nlohmann::json()) != "meta" || meta.contains("moe_layers");
    }();
    routing.form = is_own ? "tandem" : is_json ? "vllm" : "csv";
    const auto read = is_own ? read_own_form : is_json ? read_vllm_log : read_csv_trace;
    read(lines, first, number, source, hints, routing);
    return routing;
  }
  throw Error("the recorded routing is empty", source, "docs/hybrimoe.md has the forms");
}

}  // namespace tandem
