#include "engine/app/standard_streams.h"

#include <fcntl.h>
#include <unistd.h>

#include "sync/output_file.h"

namespace tandem::app {

// open() returns the lowest free number, so the streams are filled in rising order. Input is opened for writing only
// and output for reading only. So each use fails as it does on a closed descriptor.
void fill_closed_streams() noexcept {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(stream, F_GETFD) >= 0) continue;
    const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    if (opened >= 0 && opened != stream) ::close(opened);  // the lowest free number is this stream's
  }
}

// An output that can only be read is the one that fill_closed_streams() opened.
bool stdout_is_closed() noexcept {
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  return flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
}

// Standard output is copied to a number above 2 first. Then descriptor 1 becomes a copy of standard error, and outputs
// use the first copy.
void lead_reports_to_stderr() noexcept {
  const int output = ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (output < 0 || ::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return;
  set_stdout_of_outputs(output);
}

}  // namespace tandem::app
