// An output file that a user names. It is written as a shell's `> NAME` would write it, but whole or not at all when
// the system allows this.
//
// Contract
//   A regular file, or a new name: links are followed, the bytes go to a temporary beside the file, and commit()
//   renames it. The mode, owner and group of an existing file stay. A rename would not keep a file with several names,
//   a mount point or another user's file, so commit() copies the bytes into these. If the folder takes no temporary,
//   the file itself is written from the first byte on. In all other cases everything stays as it was until commit(). A
//   file that may not be written is an Error.
//   A device, a FIFO, a socket, /dev/stdout and /dev/fd/N: the bytes are written in place as they come. A reader that
//   has gone is an Error, not a signal.
//   Error names the path and the system's reason. One thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tandem/types.h"

namespace tandem {

class OutputFile {
 public:
  explicit OutputFile(std::string path, WhileUnread while_unread = {});
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  enum class Way { rename, copy, direct, stream };
  void open_file();
  void open_stream(int descriptor);
  void open_fifo();
  void open_beside(bool is_new, mode_t mode, uid_t user, gid_t group);
  void flush();
  void put(std::span<const std::byte> bytes);
  void wait_for_reader();
  void copy_into_place();
  void close_file() noexcept;
  [[noreturn]] void fail(int reason) const;

  const std::string path_;
  const WhileUnread while_unread_;
  std::string target_, temporary_;  // target_: links followed. temporary_: "" without a temporary
  Way way_ = Way::rename;
  int file_ = -1;
  bool begun_ = false;
  std::vector<std::byte> buffer_;
};

// Error if no file can be written at this path: it is a folder, or its folder is missing or refuses new files. Nothing
// is created. A path that passes may still fail when it is written.
void require_place_for_output(const std::string& path);

void write_output(const std::string& path, std::string_view content, WhileUnread while_unread = {});

// Temporaries beside this path: of processes that write it now, or that were killed while they did.
std::vector<std::string> temporaries_of(const std::string& path);
// The path behind all links. The last link may lead to a name that does not exist yet. Error when links form a circle.
std::string followed_path(const std::string& path);
// The descriptor of this process that a path names (/dev/stdout, /dev/fd/3, a link to one); -1: none.
int descriptor_named(const std::string& path);
// From now on, outputs that name descriptor 1 go to this descriptor, which must stay open. Call it before other
// threads start.
void set_stdout_of_outputs(int descriptor);

}  // namespace tandem
