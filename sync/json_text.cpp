#include "sync/json_text.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include "sync/error.h"

namespace tandem {

namespace {

// The parser takes a byte 0 for the end of the text, so what stands behind it would be passed over.
bool has_byte_0(std::string_view text) { return text.find('\0') != text.npos; }

// Looks at the events of a text, and builds no value. A callback of the parser would see the same, but with one the
// parser walks through all entries of a list whenever one of them ends.
class FlawFinder final : public nlohmann::json_sax<nlohmann::ordered_json> {
 public:
  using Json = nlohmann::ordered_json;
  explicit FlawFinder(int most_depth) : most_depth_(most_depth) {}
  const JsonFlaw& flaw() const { return flaw_.kind == JsonFlaw::Kind::none ? long_number_ : flaw_; }

  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(number_integer_t) override { return true; }
  bool number_unsigned(number_unsigned_t) override { return true; }
  // The parser reads a whole number as a float only where it has too many digits.
  bool number_float(number_float_t, const string_t& digits) override {
    if (long_number_.kind == JsonFlaw::Kind::none && digits.find_first_of(".eE") == std::string::npos)
      long_number_ = {JsonFlaw::Kind::digits, objects_.empty() ? "" : objects_.back().member};
    return true;
  }
  bool string(string_t&) override { return true; }
  bool binary(binary_t&) override { return true; }
  bool start_object(size_t) override {
    objects_.emplace_back();
    return opens();
  }
  bool end_object() override {
    objects_.pop_back();
    --depth_;
    return true;
  }
  bool start_array(size_t) override { return opens(); }
  bool end_array() override {
    --depth_;
    return true;
  }
  // Each object's names are in a set of their own, so a check takes log n and not n.
  bool key(string_t& name) override {
    Object& object = objects_.back();
    object.member = name;
    if (!object.names.insert(name).second) return found(JsonFlaw::Kind::twice, name);
    return object.names.size() <= kMostJsonMembers || found(JsonFlaw::Kind::members);
  }
  bool parse_error(size_t, const std::string&, const Json::exception& error) override {
    const std::string words = error.what();
    return found(JsonFlaw::Kind::syntax, words.substr(words.find(']') + 2));
  }

 private:
  bool opens() { return ++depth_ <= most_depth_ || found(JsonFlaw::Kind::depth); }
  bool found(JsonFlaw::Kind kind, std::string detail = "") {
    flaw_ = {kind, std::move(detail)};
    return false;  // the rest is not looked at
  }

  const int most_depth_;
  int depth_ = 0;
  struct Object {
    std::set<std::string> names{};
    std::string member{};  // that is being read
  };
  std::vector<Object> objects_;  // around the present place
  JsonFlaw flaw_, long_number_;
};

}  // namespace

// Counts open brackets outside of strings. The text need not be JSON for that.
bool json_nests_deeper(std::string_view text, int depth) {
  int open = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\\' && in_string) ++i;
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if ((c == '[' || c == '{') && ++open > depth) return true;
    if (c == ']' || c == '}') --open;
  }
  return false;
}

// The parser recurses by depth, so a text that nests too deep is refused before.
nlohmann::json parse_json(std::string_view text) {
  if (has_byte_0(text) || json_nests_deeper(text, kMostJsonDepth))
    return nlohmann::json(nlohmann::json::value_t::discarded);
  return nlohmann::json::parse(text, nullptr, false);
}

// The first flaw ends the scan. Its kind tells the caller which message to write.
JsonFlaw json_flaw(std::string_view text, int most_depth) {
  if (has_byte_0(text)) return {JsonFlaw::Kind::syntax, "it has a byte 0"};
  FlawFinder finder(most_depth);
  nlohmann::ordered_json::sax_parse(text, &finder);
  return finder.flaw();
}

// Bytes outside of UTF-8 are replaced, so that a line is always JSON.
std::string json_line(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// Checks the kind and the size of the file before it reads a byte.
std::string read_json_file(const std::string& path, const std::string& what) {
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored)) {
    throw Error("cannot read " + what, path, "expected a regular file");
  }
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw Error("cannot open " + what, path, "check the path and the rights to read it");
  // The stream was opened at its end, so its position is the size of the file.
  const auto bytes = static_cast<std::streamoff>(file.tellg());
  if (bytes < 0 || bytes > static_cast<std::streamoff>(kMostJsonBytes)) {
    throw Error("cannot read " + what, path, "expected at most " + std::to_string(kMostJsonBytes) + " bytes");
  }
  std::string text(static_cast<size_t>(bytes), '\0');
  file.seekg(0);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!file) throw Error("cannot read " + what, path, "check the path and the rights to read it");
  return text;
}

}  // namespace tandem
