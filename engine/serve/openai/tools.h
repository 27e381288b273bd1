// The functions that a request offers to a model, and what it says about their calls.
//
// Contract: pure. A demand that cannot be enforced is a Refusal by the member's name.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/serve/openai/refusal.h"
#include "engine/serve/openai/tool_forms/tool_form.h"

namespace tandem::serve {

inline constexpr size_t kMostTools = 128;

struct Tools {
  enum class Choice { none, automatic, required };
  struct Function {
    std::string name;
    OrderedJson parameters;  // a JSON schema
  };
  std::vector<Function> functions;
  OrderedJson offered;  // for the template, as the request has them; null: nothing
  Choice choice = Choice::none;
  std::string named;  // the one function that is to be called; empty: any
  bool parallel_calls = true;

  FunctionNames names() const;
};

// `tools`, `tool_choice` and `parallel_tool_calls` of a request. Other members are left alone.
Tools read_tools(const OrderedJson& body);

// The JSON schema of the one call that is required: {"name": ..., "arguments": {...}}. Absent: none is.
std::optional<std::string> schema_of_call(const Tools& tools);

}  // namespace tandem::serve
