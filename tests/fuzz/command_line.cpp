// Any arguments mean an action, an answer, or wrong usage. The target runs no action. The input is a list of arguments,
// and each ends with a zero byte.
#include "engine/app/command_line.h"

#include <string>
#include <vector>

#include "sync/error.h"
#include "tests/fuzz/property.h"
#include "tests/fuzz/targets.h"

namespace tandem::fuzz {

void command_line(Bytes input) {
  std::vector<std::string> arguments = {"tandem", ""};
  for (const std::byte byte : input) {
    if (byte == std::byte{0}) {
      arguments.emplace_back();
    } else {
      arguments.back() += std::to_integer<char>(byte);
    }
  }
  if (arguments.back().empty()) arguments.pop_back();  // the last zero byte ends the last argument
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  argv.push_back(nullptr);
  try {
    const app::Request request = app::parse_command_line(static_cast<int>(arguments.size()), argv.data());
    must_hold(request.action || request.status == app::kDone || request.status == app::kWrongUsage,
              "without an action there is an answer or wrong usage");
  } catch (const Error&) {
  }
}

}  // namespace tandem::fuzz
