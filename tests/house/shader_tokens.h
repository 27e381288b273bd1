// GLSL cut into tokens, with the comments and macros that the trip-count check needs.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::house {

struct Token {
  std::string text;
  int line = 0;
  bool operator==(std::string_view other) const { return text == other; }
};

struct Macro {
  std::vector<Token> body;
  bool function_like = false;
  int line = 0;
};

struct ShaderTokens {
  std::vector<Token> tokens;               // without preprocessor lines and comments
  std::map<std::string, Macro> macros;     // the first definition of a name (the default) counts
  std::map<int, std::string> trip_bounds;  // line -> expression of a `// trips <= EXPRESSION` comment there
  std::vector<std::string> includes;       // #include "..."
};

ShaderTokens tokenize_shader(std::string_view text);
std::vector<Token> tokenize_expression(std::string_view text, int line);

}  // namespace tandem::house
