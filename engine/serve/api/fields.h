// Reads the members of a request's JSON object, and refuses what it does not know.
//
// Contract: every member is read by its name once; finish() refuses the others by name. A refusal is an ApiError, whose
// text names the member. Members that are null count as absent, as with OpenAI.
#pragma once

#include <cstdint>
#include <exception>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/serve/http/exchange.h"

namespace tandem::serve {

using Json = nlohmann::ordered_json;

// An answer other than 200, in OpenAI's form.
struct ApiError : std::exception {
  ApiError(int status, std::string message, std::string param = "", std::string code = "");
  const char* what() const noexcept override { return message.c_str(); }
  http::Response response() const;
  int status;
  std::string message, type, param, code;  // "": null
  int64_t retry_seconds = 0;               // 0: the answer does not say when to try again
  std::string allowed_method{};            // "": the method was not the reason
};

inline constexpr int kDeepestBody = 64;  // brackets of a request
// ApiError: no JSON object, nested too deeply, or a member that is there twice.
Json parse_body(std::string_view text);

http::Response json_response(const Json& body);  // 200
ApiError server_ends();                          // 503
// Nothing: it is no list, or not all of it are ids below `vocabulary`.
std::optional<std::vector<int32_t>> token_ids(const Json& list, int64_t vocabulary);

// Notes what readers ask for while it lives: a JSON schema of each member, by its name. One at a time in a thread.
class MemberNotes {
 public:
  MemberNotes();
  ~MemberNotes();
  MemberNotes(const MemberNotes&) = delete;
  MemberNotes& operator=(const MemberNotes&) = delete;
  const Json& members() const { return members_; }  // an object
  // of: the place of an object in the request; "": the request itself.
  void note(const std::string& of, const std::string& name, const Json& schema);

 private:
  Json members_ = Json::object();
};

class Fields {
 public:
  explicit Fields(const Json& object, std::string place = "");
  const Json* find(const std::string& name);  // null: absent
  std::optional<double> number(const std::string& name, double least, double most);
  std::optional<int64_t> whole(const std::string& name, int64_t least, int64_t most);
  std::optional<std::string> text(const std::string& name);
  std::optional<bool> flag(const std::string& name);
  // A text or a list of texts.
  std::vector<std::string> texts(const std::string& name, size_t most);
  // harmless: names without an effect here. lenient: unknown ones are returned instead of refused. null_only: names
  // that are known as null alone, which asks for nothing.
  std::vector<std::string> finish(const std::set<std::string>& harmless, bool lenient,
                                  const std::set<std::string>& null_only = {});
  [[noreturn]] void refuse(const std::string& name, const std::string& expected) const;

 private:
  std::string path(const std::string& name) const { return place_.empty() ? name : place_ + "." + name; }
  // schema: makes the member's schema; called only where somebody notes it.
  template <typename Schema>
  const Json* asked(const std::string& name, const Schema& schema);
  const Json& object_;
  const std::string place_;
  std::set<std::string> read_;
};

}  // namespace tandem::serve
