#include "engine/app/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include "sync/output_file.h"

namespace tandem::app {

void fill_closed_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != stream) ::close(opened);  // the lowest free number is this stream's
  }
}

bool stdout_is_closed() noexcept {
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  return flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
}

void lead_reports_to_stderr() noexcept {
  const int output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (output < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return;
  set_stdout_of_outputs(output);
}

}  // namespace tandem::app
