#include "bench/paper_sdnpu/printed.h"

#include <algorithm>

namespace tandem::paper_sdnpu {

std::string_view name_of(Task task) {
  switch (task) {
    case Task::summary:
      return "summary";
    case Task::rag:
      return "rag";
    case Task::ui:
      return "ui";
    case Task::tweet:
      return "tweet";
  }
  return "";
}

const Acceptance& acceptance_of(Task task) { return *std::ranges::find(kTable4, task, &Acceptance::task); }

}  // namespace tandem::paper_sdnpu
