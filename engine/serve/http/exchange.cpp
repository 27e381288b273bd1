// Errors in OpenAI's form, and the phrases of statuses that this server sends.
#include "engine/serve/http/exchange.h"

#include <nlohmann/json.hpp>

#include "sync/json_text.h"

namespace tandem::http {

// Members are always all there, and null if they do not apply, since clients read each of them.
Response error_response(int status, const std::string& message, const std::string& type, const std::string& code,
                        const std::string& param) {
  nlohmann::ordered_json error = {{"message", message}, {"type", type}, {"param", nullptr}, {"code", nullptr}};
  if (!param.empty()) error["param"] = param;
  if (!code.empty()) error["code"] = code;
  return {status, json_line({{"error", error}})};
}

// Clients look at the number alone, so a status that is missing here still works.
const char* reason_phrase(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 413:
      return "Payload Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
  }
  return status < 400 ? "OK" : "Error";
}

}  // namespace tandem::http
