// Changes sampling within a conversation (`/set temp 0.7`). Ranges are those of the flags, so both say the same about
// a value.
#include "engine/app/commands/text/chat_settings.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "engine/app/parameters.h"
#include "sync/error.h"

namespace tandem::app {
namespace {

// A value that cannot be read leaves the setting as it was. That holds for all three functions.
bool set_real(float& place, const std::string& value, double least, double most) {
  const auto read = read_number(value, least, most);
  if (read) place = static_cast<float>(*read);
  return read.has_value();
}

template <typename Whole>
bool set_whole(Whole& place, const std::string& value, const WholeRange& range) {
  const auto read = read_whole(value, range);
  if (read) place = static_cast<Whole>(*read);
  return read.has_value();
}

bool set_seed(uint64_t& place, const std::string& value) {
  const auto read = read_seed(value);
  if (read) place = read->value;
  return read.has_value();
}

// Absent: there is no such name. False: the value does not fit.
std::optional<bool> set_named(GenerateOptions& options, const std::string& name, const std::string& value) {
  SamplerOptions& sampler = options.sampler;
  if (name == "temp") return set_real(sampler.temperature, value, 0, 100);
  if (name == "top-p") return set_real(sampler.top_p, value, 0, 1);
  if (name == "min-p") return set_real(sampler.min_p, value, 0, 1);
  if (name == "repeat-penalty") return set_real(sampler.repeat_penalty, value, 0.01, 100);
  if (name == "top-k") return set_whole(sampler.top_k, value, kTopKRange);
  if (name == "predict") return set_whole(options.predict, value, kPredictRange);
  if (name == "seed") return set_seed(sampler.seed, value);
  return std::nullopt;
}

}  // namespace

// An unknown name and a bad value are different errors, since a list of names only helps with the first.
void change_setting(GenerateOptions& options, const std::string& text) {
  const size_t blank = std::min(text.find(' '), text.size());
  const std::string name = text.substr(0, blank), value = text.substr(std::min(blank + 1, text.size()));
  const std::optional<bool> is_set = set_named(options, name, value);
  if (!is_set)
    throw Error("there is nothing of that name to set", name.empty() ? "/set" : name,
                std::string("There are ") + kChatSettings);
  if (!*is_set)
    throw Error("the value is out of range", name + " " + value, "See the flag of that name: tandem chat --help");
}

// In the order and with the names of the flags, so that a line can be typed back.
std::string settings_of(const GenerateOptions& options) {
  const SamplerOptions& sampler = options.sampler;
  std::ostringstream line;
  line << "temp " << sampler.temperature << ", top-k " << sampler.top_k << ", top-p " << sampler.top_p << ", min-p "
       << sampler.min_p << ", repeat-penalty " << sampler.repeat_penalty << ", predict " << options.predict << ", seed "
       << sampler.seed;
  return line.str();
}

}  // namespace tandem::app
