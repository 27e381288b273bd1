// Why a request is refused: an error 400 in OpenAI's form, before it has a connection to go to.
#pragma once

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace tandem::serve {

using OrderedJson = nlohmann::ordered_json;

struct Refusal : std::exception {
  Refusal(std::string message, std::string param, std::string code = "invalid_value")
      : message(std::move(message)), param(std::move(param)), code(std::move(code)) {}
  const char* what() const noexcept override { return message.c_str(); }
  std::string message, param, code;
};

}  // namespace tandem::serve
