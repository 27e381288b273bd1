#include "sync/output_file.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <optional>
#include <thread>
#include <utility>

#include "sync/clock.h"
#include "sync/error.h"
#include "sync/parse_number.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

constexpr size_t kOutputBuffer = size_t{64} << 10;
constexpr int kMostLinks = 40;               // as in the kernel
constexpr const char* kTemporary = ".part";  // behind it stand a process and the number of an attempt
constexpr auto kLookAgain = std::chrono::milliseconds(100);

int stdout_of_outputs = STDOUT_FILENO;

// When the reader of a pipe has gone, SIGPIPE goes to the writing thread. Inside this scope, only the result of the
// call says so.
class NoPipeSignal {
 public:
  NoPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  // Takes away a SIGPIPE that came inside this scope, before the mask lets it through. One that was pending
  // earlier stays.
  ~NoPipeSignal() {
    const timespec at_once{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoPipeSignal(const NoPipeSignal&) = delete;
  NoPipeSignal& operator=(const NoPipeSignal&) = delete;

 private:
  sigset_t pipe_{}, before_{};
  bool was_pending_ = false;
};

std::string folder_of(const std::string& path) {
  const std::string folder = fs::path(path).parent_path();
  return folder.empty() ? "." : folder;
}

// The descriptor of this process that this very name stands for; the last link is not followed. -1: none.
int descriptor_at(const std::string& path) {
  const std::string name = fs::path(path).filename();
  const int number = parse_number<int>(name).value_or(-1);
  if (number < 0) return -1;
  std::array<char, PATH_MAX> real{};
  if (::realpath(folder_of(path).c_str(), real.data()) == nullptr) return -1;
  const std::string_view folder = real.data();
  const std::string own = "/proc/" + std::to_string(::getpid()) + "/";
  return folder.starts_with(own) && folder.ends_with("/fd") ? number : -1;
}

// The target of a link; nothing: the path is not a link.
std::optional<std::string> link_at(const std::string& path) {
  std::error_code none;
  const fs::path target = fs::read_symlink(path, none);
  if (none) return std::nullopt;
  return target.is_absolute() ? target.string() : (fs::path(folder_of(path)) / target).string();
}

// Follows links: calls end(path) for each name on the way until it returns true, and returns the last name.
template <typename End>
std::string follow(std::string path, const End& end) {
  for (int links = 0; !end(path); ++links) {
    const auto next = link_at(path);
    if (!next) break;
    if (links == kMostLinks) throw Error("cannot write a file (its links go in a circle)", path);
    path = *next;
  }
  return path;
}

// The Error for an error number of the system, with a hint for the usual ones.
Error failure(const std::string& path, int reason) {
  const char* hint = "Check the folder and the space on the disk";
  if (reason == EISDIR) hint = "It is a folder; name a file";
  if (reason == EPIPE) hint = "Whoever read it has ended";
  if (reason == EBADF) hint = "It is not open for writing";
  return Error(std::string("cannot write a file (") + std::strerror(reason) + ")", path, hint);
}

}  // namespace

std::string followed_path(const std::string& path) {
  return follow(path, [](const std::string& name) { return descriptor_at(name) >= 0; });
}

std::vector<std::string> temporaries_of(const std::string& path) {
  const std::string target = followed_path(path), begin = fs::path(target).filename().string() + kTemporary;
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789-") == std::string_view::npos;
  };
  std::vector<std::string> found;
  std::error_code unreadable;  // nothing is found then
  for (const fs::directory_entry& each : fs::directory_iterator(folder_of(target), unreadable)) {
    const std::string name = each.path().filename();
    if (name.starts_with(begin) && is_number(std::string_view(name).substr(begin.size()))) found.push_back(each.path());
  }
  return found;
}

int descriptor_named(const std::string& path) { return descriptor_at(followed_path(path)); }

OutputFile::OutputFile(std::string path, WhileUnread while_unread)
    : path_(std::move(path)), while_unread_(std::move(while_unread)) {
  buffer_.reserve(kOutputBuffer);
  open_file();
}

// Chooses the way of writing by what the path stands for. A descriptor of this process, a FIFO or a device is written
// in place. A regular file, or a new name, gets a temporary beside it; a file with several names receives the bytes as
// a copy.
void OutputFile::open_file() {
  target_ = followed_path(path_);
  if (const int descriptor = descriptor_at(target_); descriptor >= 0) return open_stream(descriptor);
  struct stat there {};
  if (::stat(path_.c_str(), &there) != 0) {
    if (errno != ENOENT) fail(errno);
    return open_beside(true, 0666, 0, 0);
  }
  if (S_ISDIR(there.st_mode)) fail(EISDIR);
  if (S_ISFIFO(there.st_mode)) return open_fifo();
  if (!S_ISREG(there.st_mode)) {
    way_ = Way::stream;
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
    if (file_ < 0) fail(errno);
    return;
  }
  if (::faccessat(AT_FDCWD, path_.c_str(), W_OK, AT_EACCESS) != 0) fail(errno);
  if (there.st_nlink > 1) way_ = Way::copy;
  open_beside(false, there.st_mode & 07777, there.st_uid, there.st_gid);
}

OutputFile::~OutputFile() {
  close_file();
  if (!temporary_.empty()) ::unlink(temporary_.c_str());  // after a rename, commit() has emptied the name
}

void set_stdout_of_outputs(int descriptor) { stdout_of_outputs = descriptor; }

// The bytes go behind those that were written there before. This also works for a socket, which has no name to open.
void OutputFile::open_stream(int descriptor) {
  way_ = Way::stream;
  if (descriptor == STDOUT_FILENO) descriptor = stdout_of_outputs;
  const int flags = ::fcntl(descriptor, F_GETFL);
  if (flags < 0) fail(errno);
  if ((flags & O_ACCMODE) == O_RDONLY) fail(EBADF);
  std::cout.flush();
  std::fflush(stdout);
  file_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  if (file_ < 0) fail(errno);
}

// Opening a FIFO for writing waits for its reader. The wait is not inside a system call, because the first Ctrl-C would
// not end that one.
void OutputFile::open_fifo() {
  way_ = Way::stream;
  const double since = now_seconds();
  while ((file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK)) < 0) {
    if (errno != ENXIO && errno != EINTR) fail(errno);
    std::this_thread::sleep_for(kLookAgain);
    if (while_unread_) while_unread_(now_seconds() - since);
  }
  ::fcntl(file_, F_SETFL, ::fcntl(file_, F_GETFL) & ~O_NONBLOCK);
}

// Creates the temporary with an unused name. Without a temporary, a new file is an Error and an existing one is written
// directly. If the temporary cannot get the owner, group and mode of the existing file, commit() copies instead.
void OutputFile::open_beside(bool is_new, mode_t mode, uid_t user, gid_t group) {
  // Mode 0600: no other user reads the temporary before it has the mode of the file that it replaces.
  const auto create = [&](int attempt) {
    const std::string own =
        kTemporary + std::to_string(::getpid()) + (attempt > 0 ? "-" + std::to_string(attempt) : "");
    const std::filesystem::path target = target_;
    const bool is_long = target.filename().native().size() + own.size() > NAME_MAX;
    temporary_ = is_long ? target.parent_path() / (".tandem" + own) : std::filesystem::path(target_ + own);
    return ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, is_new ? mode : 0600);
  };
  for (int attempt = 0; (file_ = create(attempt)) < 0 && errno == EEXIST && attempt < 100;) ++attempt;
  if (file_ < 0) {
    temporary_.clear();
    if (is_new) fail(errno);
    way_ = Way::direct;
    file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    if (file_ < 0) fail(errno);
    return;
  }
  if (is_new) return;
  struct stat own {
  }, target{};
  const bool kept = ::fstat(file_, &own) == 0 &&
                    ((own.st_uid == user && own.st_gid == group) || ::fchown(file_, user, group) == 0) &&
                    ::fchmod(file_, mode) == 0 && ::stat(target_.c_str(), &target) == 0 && S_ISREG(target.st_mode);
  if (!kept) way_ = Way::copy;
}

void OutputFile::fail(int reason) const { throw failure(path_, reason); }

// Small pieces are collected; a large one goes to the file without a copy.
void OutputFile::write(std::span<const std::byte> bytes) {
  if (buffer_.size() + bytes.size() > kOutputBuffer) flush();
  if (bytes.size() >= kOutputBuffer) return put(bytes);
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

void OutputFile::flush() {
  put(buffer_);
  buffer_.clear();
}

// Writes all bytes. A stream receives at most PIPE_BUF bytes at a time, and only when it is ready, so that
// while_unread_ is called in between. A file that is written directly is emptied before its first byte.
void OutputFile::put(std::span<const std::byte> bytes) {
  if (way_ == Way::direct && !std::exchange(begun_, true) && ::ftruncate(file_, 0) != 0) fail(errno);
  const bool streams = way_ == Way::stream;
  std::optional<NoPipeSignal> quiet;
  if (streams) quiet.emplace();
  while (!bytes.empty()) {
    if (streams) wait_for_reader();
    // A pipe that is ready takes PIPE_BUF bytes without blocking.
    const size_t some = streams ? std::min<size_t>(bytes.size(), PIPE_BUF) : bytes.size();
    const ssize_t written = ::write(file_, bytes.data(), some);
    if (written < 0 && errno != EINTR && errno != EAGAIN) fail(errno);
    if (written > 0) bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

// Waits until the stream takes bytes and calls while_unread_ about ten times a second.
void OutputFile::wait_for_reader() {
  const double since = now_seconds();
  pollfd ready{file_, POLLOUT, 0};
  while (::poll(&ready, 1, static_cast<int>(kLookAgain.count())) == 0) {
    if (while_unread_) while_unread_(now_seconds() - since);
  }
}

// A rename fails with EBUSY at a mount point; the bytes are then copied.
void OutputFile::commit() {
  flush();
  if (way_ == Way::direct && !begun_) put({});  // an empty file
  const bool renames = way_ == Way::rename;
  // Some file systems report a failed write only when the file is closed, so the rename comes after that.
  if (::close(std::exchange(file_, -1)) != 0) fail(errno);
  if (renames && ::rename(temporary_.c_str(), target_.c_str()) == 0) return temporary_.clear();
  if (renames && errno != EBUSY) fail(errno);
  if (!temporary_.empty()) copy_into_place();
}

// Overwrites the file itself with the bytes of the temporary, piece by piece. It closes both files before it reports
// an error.
void OutputFile::copy_into_place() {
  const int from = ::open(temporary_.c_str(), O_RDONLY | O_CLOEXEC);
  file_ = ::open(path_.c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC);
  int reason = from < 0 || file_ < 0 ? errno : 0;
  std::vector<std::byte> piece(size_t{1} << 20);
  ssize_t got = 0;
  while (reason == 0 && (got = ::read(from, piece.data(), piece.size())) > 0) {
    for (std::span<const std::byte> rest(piece.data(), static_cast<size_t>(got)); !rest.empty() && reason == 0;) {
      const ssize_t written = ::write(file_, rest.data(), rest.size());
      if (written < 0 && errno != EINTR) reason = errno;
      if (written > 0) rest = rest.subspan(static_cast<size_t>(written));
    }
  }
  if (reason == 0 && got < 0) reason = errno;
  if (from >= 0) ::close(from);
  if (file_ >= 0 && ::close(std::exchange(file_, -1)) != 0 && reason == 0) reason = errno;
  if (reason != 0) fail(reason);
}

void OutputFile::close_file() noexcept {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

void require_place_for_output(const std::string& path) {
  const std::string target = followed_path(path);
  if (descriptor_at(target) >= 0) return;
  struct stat there {};
  const bool exists = ::stat(path.c_str(), &there) == 0;
  if (!exists && errno != ENOENT) throw failure(path, errno);
  if (exists && S_ISDIR(there.st_mode)) throw failure(path, EISDIR);
  // An existing file in a folder that refuses new ones is written directly.
  if (::faccessat(AT_FDCWD, exists ? path.c_str() : folder_of(target).c_str(), W_OK, AT_EACCESS) != 0)
    throw failure(path, errno);
}

void write_output(const std::string& path, std::string_view content, WhileUnread while_unread) {
  OutputFile file(path, std::move(while_unread));
  file.write(std::as_bytes(std::span(content)));
  file.commit();
}

}  // namespace tandem
