#include "engine/app/log_levels.h"

#include <string>

#include "engine/app/report.h"
#include "engine/run/log_levels.h"

namespace tandem::app {

void set_up_log() {
  if (const std::string problem = problem_of_log_variable(); !problem.empty()) throw WrongUsage(problem);
  log_to_stderr();
}

}  // namespace tandem::app
