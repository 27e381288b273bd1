#include "engine/device/proof/child.h"

#include "engine/device/proof/child_process.h"

namespace tandem::proof {

// Reads until standard output ends or the child is silent for too long. end() then kills a silent child.
ChildEnd run_child(const ChildTask& task, const std::function<void(const std::string&)>& on_line) {
  ChildProcess child(task, false);
  LongWait wait(task.waits_for);
  while (!child.is_silent() && child.listen(on_line)) wait.look();
  return child.end(wait);
}

}  // namespace tandem::proof
