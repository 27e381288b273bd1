#include "engine/serve/api/fields.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "engine/serve/http/access.h"

namespace tandem::serve {
namespace {

std::string type_of(int status) {
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

// The parser needs no stack for depth, but copies and prints of the value do.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
      continue;
    }
    if (c == '"') in_string = true;
    if (c == '[' || c == '{') {
      if (++depth > kDeepestBody) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

std::string shown(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

}  // namespace

ApiError::ApiError(int status, std::string message, std::string param, std::string code)
    : status(status),
      message(std::move(message)),
      type(type_of(status)),
      param(std::move(param)),
      code(std::move(code)) {}

http::Response ApiError::response() const {
  Json error = {{"message", message}, {"type", type}, {"param", nullptr}, {"code", nullptr}};
  if (!param.empty()) error["param"] = param;
  if (!code.empty()) error["code"] = code;
  return {status, Json{{"error", error}}.dump(-1, ' ', false, Json::error_handler_t::replace)};
}

Json parse_body(std::string_view text) {
  if (is_too_deep(text))
    throw ApiError(400, "The request nests deeper than " + std::to_string(kDeepestBody) + " brackets.");
  std::vector<std::set<std::string>> names;  // of the open objects
  std::string twice;
  const auto look_at = [&](int, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) names.emplace_back();
    if (event == Json::parse_event_t::object_end) names.pop_back();
    if (event == Json::parse_event_t::key && !names.back().insert(parsed.get<std::string>()).second) twice = parsed;
    return true;
  };
  Json body = Json::parse(text, look_at, false);
  if (body.is_discarded() || !body.is_object()) throw ApiError(400, "The body of the request is no JSON object.");
  if (!twice.empty())
    throw ApiError(400, "The request has the member \"" + http::printable(twice) + "\" twice.", http::printable(twice));
  return body;
}

Fields::Fields(const Json& object, std::string place) : object_(object), place_(std::move(place)) {}

void Fields::refuse(const std::string& name, const std::string& expected) const {
  throw ApiError(400, "\"" + path(name) + "\" is expected to be " + expected + ".", path(name), "invalid_value");
}

const Json* Fields::find(const std::string& name) {
  read_.insert(name);
  const auto found = object_.find(name);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

std::optional<double> Fields::number(const std::string& name, double least, double most) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= least && number <= most)) refuse(name, "a number from " + shown(least) + " to " + shown(most));
  return number;
}

std::optional<int64_t> Fields::whole(const std::string& name, int64_t least, int64_t most) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  const bool fits = value->is_number_unsigned()  ? value->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                    : value->is_number_integer() ? true
                                                 : false;
  if (!fits || value->get<int64_t>() < least || value->get<int64_t>() > most)
    refuse(name, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value->get<int64_t>();
}

std::optional<std::string> Fields::text(const std::string& name) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_string()) refuse(name, "a text");
  return value->get<std::string>();
}

std::optional<bool> Fields::flag(const std::string& name) {
  const Json* value = find(name);
  if (!value) return std::nullopt;
  if (!value->is_boolean()) refuse(name, "true or false");
  return value->get<bool>();
}

std::vector<std::string> Fields::texts(const std::string& name, size_t most) {
  const Json* value = find(name);
  if (!value) return {};
  const Json list = value->is_array() ? *value : Json::array({*value});
  const std::string expected = "a text or a list of at most " + std::to_string(most) + " texts, none of them empty";
  if (list.size() > most) refuse(name, expected);
  std::vector<std::string> texts;
  for (const Json& each : list) {
    if (!each.is_string() || each.get<std::string>().empty()) refuse(name, expected);
    texts.push_back(each);
  }
  return texts;
}

std::vector<std::string> Fields::finish(const std::set<std::string>& harmless, bool lenient) {
  std::vector<std::string> unknown;
  for (const auto& [name, value] : object_.items()) {
    if (read_.contains(name) || harmless.contains(name)) continue;
    const std::string shown_name = http::printable(path(name));
    if (!lenient)
      throw ApiError(400, "The member \"" + shown_name + "\" is not known here.", shown_name, "unknown_parameter");
    unknown.push_back(shown_name);
  }
  return unknown;
}

}  // namespace tandem::serve
