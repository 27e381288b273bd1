// Readers name each member that they want, and finish() refuses the rest. So a reader cannot forget to check a member,
// and the list of known members is nowhere written a second time.
#include "engine/serve/api/fields.h"

#include <cmath>
#include <cstdio>
#include <utility>

#include "engine/serve/http/access.h"
#include "engine/serve/openai/members.h"
#include "sync/json_text.h"

namespace tandem::serve {
namespace {

// OpenAI's clients choose their exception by the status, and show this type.
std::string type_of(int status) {
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

// A limit in decimal form, without zeros behind the point.
std::string shown(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.15g", value);
  return text;
}

// Notes are made only while the description of the server is made. A reader needs no further argument for that.
thread_local MemberNotes* current_notes = nullptr;

}  // namespace

MemberNotes::MemberNotes() { current_notes = this; }

MemberNotes::~MemberNotes() { current_notes = nullptr; }

// Members of inner objects are left out: a description of the request itself is enough.
void MemberNotes::note(const std::string& of, const std::string& name, const Json& schema) {
  if (of.empty() && !members_.contains(name)) members_[name] = schema;
}

ApiError::ApiError(int status, std::string message, std::string param, std::string code)
    : status(status),
      message(std::move(message)),
      type(type_of(status)),
      param(std::move(param)),
      code(std::move(code)) {}

http::Response ApiError::response() const {
  http::Response response = http::error_response(status, message, type, code, param);
  if (retry_seconds > 0) response.headers.emplace_back("Retry-After", std::to_string(retry_seconds));
  if (!allowed_method.empty())
    response.headers.emplace_back("Allow", allowed_method == "GET" ? "GET, HEAD" : allowed_method);
  return response;
}

// Looks for flaws before it parses. A deep nesting could exhaust the stack, and of a member that is there twice a
// parser would keep one in silence.
Json parse_body(std::string_view text) {
  const JsonFlaw flaw = json_flaw(text, kDeepestBody);
  if (flaw.kind == JsonFlaw::Kind::depth)
    throw ApiError(400, "The request nests deeper than " + std::to_string(kDeepestBody) + " brackets.");
  if (flaw.kind == JsonFlaw::Kind::twice)
    throw ApiError(400, "The request has the member \"" + http::printable(flaw.detail) + "\" twice.",
                   http::printable(flaw.detail));
  if (flaw.kind == JsonFlaw::Kind::members)
    throw ApiError(400, "An object of the request has more than " + std::to_string(kMostJsonMembers) + " members.");
  if (flaw.kind == JsonFlaw::Kind::digits)
    throw ApiError(400, "\"" + http::printable(flaw.detail) + "\" is expected to be a number of at most 64 bits.",
                   http::printable(flaw.detail), "invalid_value");
  if (flaw.kind == JsonFlaw::Kind::syntax)
    throw ApiError(400, "The body of the request is no JSON object: " + http::printable(flaw.detail, 200) + ".");
  const Json body = Json::parse(text);
  if (!body.is_object()) throw ApiError(400, "The body of the request is no JSON object.");
  return body;
}

http::Response json_response(const Json& body) { return {200, json_line(body)}; }

ApiError server_ends() { return ApiError(503, "The server ends.", "", "server_ending"); }

std::optional<std::vector<int32_t>> token_ids(const Json& list, int64_t vocabulary) {
  if (!list.is_array()) return std::nullopt;
  std::vector<int32_t> ids;
  for (const Json& each : list) {
    if (!each.is_number_integer() || each.get<int64_t>() < 0 || each.get<int64_t>() >= vocabulary) return std::nullopt;
    ids.push_back(each.get<int32_t>());
  }
  return ids;
}

Fields::Fields(const Json& object, std::string place) : object_(object), place_(std::move(place)) {}

void Fields::refuse(const std::string& name, const std::string& expected) const {
  throw ApiError(400, "\"" + path(name) + "\" is expected to be " + expected + ".", path(name), "invalid_value");
}

// Every access to a member goes through here, so it counts as known from now on.
template <typename Schema>
const Json* Fields::asked(const std::string& name, const Schema& schema) {
  if (current_notes) current_notes->note(place_, name, schema());
  read_.insert(name);
  return member(object_, name);
}

const Json* Fields::find(const std::string& name) {
  return asked(name, [] { return Json::object(); });
}

std::optional<double> Fields::number(const std::string& name, double least, double most) {
  const Json* value = asked(name, [&]() -> Json {
    return {{"type", "number"}, {"minimum", least}, {"maximum", most}};
  });
  if (!value) return std::nullopt;
  const double number = value->is_number() ? value->get<double>() : std::nan("");
  if (!(number >= least && number <= most)) refuse(name, "a number from " + shown(least) + " to " + shown(most));
  return number;
}

// A number beyond 63 bits would wrap to a negative one, so it is refused before it is converted.
std::optional<int64_t> Fields::whole(const std::string& name, int64_t least, int64_t most) {
  const Json* value = asked(name, [&]() -> Json {
    return {{"type", "integer"}, {"minimum", least}, {"maximum", most}};
  });
  if (!value) return std::nullopt;
  const bool fits = value->is_number_unsigned()  ? value->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                    : value->is_number_integer() ? true
                                                 : false;
  if (!fits || value->get<int64_t>() < least || value->get<int64_t>() > most)
    refuse(name, "a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return value->get<int64_t>();
}

std::optional<std::string> Fields::text(const std::string& name) {
  const Json* value = asked(name, []() -> Json { return {{"type", "string"}}; });
  if (!value) return std::nullopt;
  if (!value->is_string()) refuse(name, "a text");
  return value->get<std::string>();
}

std::optional<bool> Fields::flag(const std::string& name) {
  const Json* value = asked(name, []() -> Json { return {{"type", "boolean"}}; });
  if (!value) return std::nullopt;
  if (!value->is_boolean()) refuse(name, "true or false");
  return value->get<bool>();
}

std::vector<std::string> Fields::texts(const std::string& name, size_t most) {
  const Json* value = asked(name, [&]() -> Json {
    const Json one = {{"type", "string"}, {"minLength", 1}};
    const Json several = {{"type", "array"}, {"items", one}, {"maxItems", static_cast<int64_t>(most)}};
    return {{"anyOf", Json::array({one, several})}};
  });
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

// Collects names that nobody asked for. A strict server refuses the first of them, which shows a misspelt member
// at once.
std::vector<std::string> Fields::finish(const std::set<std::string>& harmless, bool lenient,
                                        const std::set<std::string>& null_only) {
  if (current_notes) {
    for (const std::string& name : harmless)
      current_notes->note(place_, name, {{"description", "Has no effect here."}});
    for (const std::string& name : null_only) current_notes->note(place_, name, {{"type", "null"}});
  }
  std::vector<std::string> unknown;
  for (const auto& [name, value] : object_.items()) {
    if (read_.contains(name) || harmless.contains(name) || (value.is_null() && null_only.contains(name))) continue;
    const std::string shown_name = http::printable(path(name));
    if (!lenient)
      throw ApiError(400, "The member \"" + shown_name + "\" is not known here.", shown_name, "unknown_parameter");
    unknown.push_back(shown_name);
  }
  return unknown;
}

}  // namespace tandem::serve
