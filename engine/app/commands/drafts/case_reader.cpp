// Reads the cases of `tandem spec`, which hand-made files describe. Unknown and repeated keys are errors, since a
// misspelt key would otherwise test something else.
#include "engine/app/commands/drafts/case_reader.h"

#include <limits>
#include <utility>

#include "engine/app/parameters.h"
#include "engine/app/text_input.h"
#include "sync/error.h"
#include "sync/json_text.h"

namespace tandem::app {
namespace {

using nlohmann::json;

constexpr int64_t kMostId = std::numeric_limits<int32_t>::max();

// Numbers above 2^63 are unsigned in the parser and would become negative, so they are compared first.
bool is_whole(const json& value, int64_t least, int64_t most) {
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(most)) return false;
  return value.get<int64_t>() >= least && value.get<int64_t>() <= most;
}

constexpr const char* kForm = R"(expected JSON: {"cases": [...]})";

// Finds what a parsed value does not tell: an object that has a key twice, and where a text stops being JSON. Nothing
// is said about a text that nests too deep.
class CaseScan : public json::json_sax_t {
 public:
  explicit CaseScan(std::string file) : file_(std::move(file)) {}

  bool null() override { return next(); }
  bool boolean(bool) override { return next(); }
  bool number_integer(number_integer_t) override { return next(); }
  bool number_unsigned(number_unsigned_t) override { return next(); }
  bool number_float(number_float_t, const string_t&) override { return next(); }
  bool string(string_t&) override { return next(); }
  bool binary(binary_t&) override { return next(); }
  bool start_object(size_t) override { return enter(true); }
  bool start_array(size_t) override { return enter(false); }
  bool end_object() override { return leave(); }
  bool end_array() override { return leave(); }
  // The JSON library keeps one of two equal keys in silence, so a scan before it looks for them.
  bool key(string_t& key) override {
    if (!levels_.back().keys.insert(key).second)
      throw Error("a case cannot be read", where(levels_.size() - 1) + ": " + key, "The key is there twice");
    levels_.back().key = key;
    return true;
  }
  bool parse_error(size_t byte, const std::string&, const nlohmann::detail::exception&) override {
    throw Error("the cases cannot be read", where(levels_.size()),
                std::string(kForm) + "; the text is none from byte " + std::to_string(byte) + " on");
  }

 private:
  // A level of the text around the scan's place: an object with its present key, or a list with its present entry.
  struct Level {
    bool is_object;
    size_t entry = 0;  // of a list
    std::string key{};
    std::set<std::string> keys{};
  };
  bool next() {
    if (!levels_.empty()) ++levels_.back().entry;
    return true;
  }
  bool enter(bool is_object) {
    levels_.push_back({is_object});
    return levels_.size() <= size_t{kMostJsonDepth};
  }
  bool leave() {
    levels_.pop_back();
    return next();
  }
  // The place in the first levels, as CaseReader names it. Around a case are the file's object and the list of cases.
  std::string where(size_t levels) const {
    std::string text = file_;
    for (size_t i = 0; i < levels; ++i) {
      const Level& level = levels_[i];
      const std::string entry = std::to_string(level.entry);
      if (i == 1)
        text += ": case " + entry;
      else if (i > 1 && level.is_object)
        text += level.key.empty() ? "" : ": " + level.key;
      else if (i > 1)
        text += "[" + entry + "]";
    }
    return text;
  }

  const std::string file_;
  std::vector<Level> levels_;
};

}  // namespace

// The place of a case is part of every message, so a wrong value in a long file is found.
CaseReader::CaseReader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
  if (!object.is_object()) throw Error("a case cannot be read", where_, "expected an object of keys and values");
}

void CaseReader::fail(const std::string& key, const std::string& expected) const {
  throw Error("a case cannot be read", where_ + ": " + key, "expected " + expected);
}

// Asked keys are remembered, so that require_all_read() finds the others.
bool CaseReader::has(const char* key) {
  asked_.insert(key);
  return object_.contains(key);
}

const json& CaseReader::value(const char* key) {
  if (!has(key)) fail(key, "this key");
  return object_[key];
}

// Every reader checks the type and names the key in its error. The functions below do the same.
const json& CaseReader::list(const char* key) {
  const json& values = value(key);
  if (!values.is_array()) fail(key, "a list");
  return values;
}

int64_t CaseReader::whole(const char* key, int64_t least, int64_t most) {
  const json& number = value(key);
  if (!is_whole(number, least, most)) fail(key, to_string(WholeRange{least, most}));
  return number.get<int64_t>();
}

int64_t CaseReader::whole_or(const char* key, int64_t least, int64_t most, int64_t absent) {
  return has(key) ? whole(key, least, most) : absent;
}

std::string CaseReader::word(const char* key) {
  const json& text = value(key);
  if (!text.is_string()) fail(key, "a word");
  return text.get<std::string>();
}

// The form that was expected is the caller's: a list of ids, or a list of such lists.
std::vector<int32_t> CaseReader::ids_of(const json& list, const char* key, const char* expected) const {
  if (!list.is_array()) fail(key, expected);
  std::vector<int32_t> ids;
  for (const json& each : list) {
    if (!is_whole(each, 0, kMostId)) fail(key, expected);
    ids.push_back(each.get<int32_t>());
  }
  return ids;
}

std::vector<int32_t> CaseReader::ids(const char* key) { return ids_of(value(key), key, "a list of token ids"); }

std::vector<std::vector<int32_t>> CaseReader::id_lists(const char* key) {
  std::vector<std::vector<int32_t>> lists;
  for (const json& each : list(key)) lists.push_back(ids_of(each, key, "a list of lists of token ids"));
  return lists;
}

// Numbers without an upper limit of their own get one that keeps sums exact.
std::vector<int64_t> CaseReader::wholes(const char* key, int64_t least) {
  constexpr int64_t kMost = int64_t{1} << 40;  // sums of them stay far below 2^63
  std::vector<int64_t> numbers;
  for (const json& each : list(key)) {
    if (!is_whole(each, least, kMost)) fail(key, "a list of whole numbers from " + std::to_string(least) + " on");
    numbers.push_back(each.get<int64_t>());
  }
  return numbers;
}

// NaN fails the comparison, too.
std::vector<double> CaseReader::numbers(const char* key, double least, double most) {
  std::vector<double> numbers;
  for (const json& each : list(key)) {
    if (!each.is_number() || !(each.get<double>() >= least && each.get<double>() <= most))
      fail(key, "a list of numbers from " + json(least).dump() + " to " + json(most).dump());
    numbers.push_back(each.get<double>());
  }
  return numbers;
}

// Each object reads its keys by itself and has a place of its own.
std::vector<CaseReader> CaseReader::objects(const char* key) {
  std::vector<CaseReader> readers;
  const json& values = list(key);
  for (size_t i = 0; i < values.size(); ++i)
    readers.emplace_back(values[i], where_ + ": " + key + "[" + std::to_string(i) + "]");
  return readers;
}

// A count may be written as the list that it counts, or as null.
int64_t CaseReader::count(const char* key, int64_t most) {
  const json& counted = value(key);
  if (counted.is_null()) return 0;
  return counted.is_array() ? std::ssize(ids(key)) : whole(key, 0, most);
}

// A misspelt key would otherwise change nothing.
void CaseReader::require_all_read() const {
  for (const auto& [key, each] : object_.items())
    if (!asked_.contains(key)) throw Error("a case cannot be read", where_ + ": " + key, "No such key is known here");
}

// Two walks over the text: one that finds repeated keys and deep nesting, and then the parse.
json read_cases(const std::string& path) {
  const std::string text = read_file(path);
  CaseScan scan(path);
  json::sax_parse(text, &scan);
  const json file = parse_json(text);
  const bool has_cases = file.is_object() && file.contains("cases") && file["cases"].is_array();
  if (!has_cases) throw Error("the cases cannot be read", path, kForm);
  for (const auto& [key, each] : file.items())
    if (key != "cases") throw Error("the cases cannot be read", path + ": " + key, "No such key is known here");
  return file["cases"];
}

}  // namespace tandem::app
