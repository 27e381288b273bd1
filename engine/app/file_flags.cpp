#include "engine/app/file_flags.h"

#include <sys/stat.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/app/interrupt.h"
#include "engine/app/report.h"
#include "engine/device/device_id.h"
#include "engine/device/gpu/kept_file.h"
#include "engine/model/gguf_split.h"
#include "engine/run/engine.h"
#include "sync/error.h"
#include "sync/long_wait.h"

namespace tandem::app {
namespace {

namespace fs = std::filesystem;

// Type names of options. They mark what files_of() looks for.
constexpr const char *kRead = "FILE", *kReadOrNamed = "NAME|FILE", *kWritten = "OUTFILE";

struct NamedFile {
  std::string flag, path;
};

// The file to which a path leads. For a file that does not exist yet: its folder, and its name there.
struct FileIdentity {
  dev_t device = 0;
  ino_t inode = 0;
  std::string new_name;
  bool operator==(const FileIdentity&) const = default;
};

// Absent for character devices.
std::optional<FileIdentity> identity_of(const struct stat& status, const std::string& new_name) {
  // Several outputs may write to one without harm, and reading from one takes nothing from it.
  if (S_ISCHR(status.st_mode)) return std::nullopt;
  return FileIdentity{status.st_dev, status.st_ino, new_name};
}

// Standard input is looked up by its descriptor. So a redirected file is recognised as the file that an output names.
std::optional<FileIdentity> identity_of_input(const std::string& path) {
  struct stat status {};
  const int found = path == "-" ? ::fstat(STDIN_FILENO, &status) : ::stat(path.c_str(), &status);
  return found == 0 ? identity_of(status, "") : std::nullopt;
}

// The name that a path's links lead to. Absent: they go in a circle.
std::optional<fs::path> end_of_links(const std::string& path) {
  try {
    return followed_path(path);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Absent also where no file can be made: its folder is missing, or its links go in a circle.
std::optional<FileIdentity> identity_of_output(const std::string& path) {
  struct stat status {};
  // The file exists: its own identity. Otherwise the folder's identity and the new name stand for it.
  if (::stat(path.c_str(), &status) == 0) return identity_of(status, "");
  const std::optional<fs::path> target = end_of_links(path);
  if (!target) return std::nullopt;
  const std::string folder = target->parent_path().empty() ? "." : target->parent_path().string();
  return ::stat(folder.c_str(), &status) == 0 ? identity_of(status, target->filename()) : std::nullopt;
}

bool is_model(const std::string& flag) { return flag == "--model" || flag == "--shape"; }

// The files that a flag's value names: also the parts of a split model and a device's parameters. A value may stand for
// several files, and none of them may be overwritten.
std::vector<std::string> files_of(const std::string& flag, const std::string& value) {
  if (flag == "--device") {  // npu:0?params=FILE
    constexpr std::string_view kParameters = "?params=";
    const size_t at = value.find(kParameters);
    if (at == std::string::npos) return {};
    return {value.substr(at + kParameters.size())};
  }
  std::vector<std::string> files = {value};
  if (is_model(flag)) std::ranges::move(split_part_names(value), std::back_inserter(files));
  return files;
}

// All files that the command line names, either those that are written or those that are read. reads_file() and
// writes_file() have marked each option by its type name, so no second list of flags is needed. The flag --device has a
// type name of its own, but its parameter may be a file that is read.
std::vector<NamedFile> files_of(const CLI::App& command, bool written) {
  std::vector<NamedFile> files;
  for (const CLI::Option* option : command.get_options()) {
    const std::string type = option->get_type_name(), flag = option->get_name();
    const std::string kind = type.substr(0, type.find(':'));  // after the colon come names of its checks
    const bool reads = kind == kRead || kind == kReadOrNamed || flag == "--device";
    if (written ? kind != kWritten : !reads) continue;
    for (const std::string& value : option->results())
      for (std::string& file : files_of(flag, value)) files.push_back({flag, std::move(file)});
  }
  return files;
}

std::string is_a_name(const std::string& path) { return path.empty() ? "a file needs a name" : ""; }

// The flag in its shortest spelling: -o, --trace.
std::string spelling(const CLI::App& command, const std::string& flag) {
  const auto& short_names = command.get_option(flag)->get_snames();
  return short_names.empty() ? flag : "-" + short_names.front();
}

// The words tell the user which file the output would destroy. A file of a split model is only a part of it.
std::string what_it_is(const NamedFile& input, const std::string& output) {
  if (!is_model(input.flag)) return "the file to write is one that " + input.flag + " reads";
  std::error_code ignored;
  const bool whole = fs::equivalent(input.path, output, ignored) && split_part_names(input.path).empty();
  return whole ? "the file to write is the model itself" : "the file to write is a part of the model";
}

// Error if the output is one of the packed files in the cache folder. Paths differ when links lead to one file, so
// identities are compared.
void refuse_packed_weights(const NamedFile& output, const FileIdentity& identity, const std::string& advice) {
  const std::string cache = gpu::default_cache_folder();
  std::error_code ignored;
  if (cache.empty()) return;
  for (const auto& entry : fs::directory_iterator(cache + "/packed", ignored)) {
    if (identity_of_input(entry.path()) == identity)
      throw Error("the file to write holds packed weights that are kept for later starts", output.path, advice);
  }
}

}  // namespace

CLI::Option* reads_file(CLI::Option* flag, bool names_too) {
  return flag->type_name(names_too ? kReadOrNamed : kRead)->check(is_a_name);
}

CLI::Option* writes_file(CLI::Option* flag) { return flag->type_name(kWritten)->check(is_a_name); }

// Ids are compared by kind and number, because parameters do not make another device.
void require_devices_apart(const CLI::App& command) {
  const CLI::Option* devices = command.get_option_no_throw("--device");
  if (devices == nullptr) return;
  std::set<std::pair<std::string, int>> named;
  for (const std::string& text : devices->results()) {
    const auto id = parse_device_id(text);
    if (id && !named.emplace(id->prefix, id->index).second)
      throw WrongUsage("--device names " + text + " twice; name each device once");
  }
}

// Compares each output with all inputs, with the outputs before it, and with the packed files of the cache. A character
// device has no identity and may be named several times. A path where no file can be made is reported before any work.
void require_files_apart(const CLI::App& command) {
  const std::vector<NamedFile> outputs = files_of(command, true);
  if (outputs.empty()) return;
  const std::vector<NamedFile> inputs = files_of(command, false);
  std::vector<std::pair<FileIdentity, const NamedFile*>> written;
  for (const NamedFile& output : outputs) {
    if (output.flag != "--history") require_place_for_output(output.path);  // without a history there is still a text
    const auto identity = identity_of_output(output.path);
    if (!identity) continue;
    const std::string advice = "Give another name with " + spelling(command, output.flag);
    for (const NamedFile& input : inputs) {
      const bool goes_on = output.flag == "--save-state" && input.flag == "--load-state";
      if (!goes_on && identity_of_input(input.path) == identity)
        throw Error(what_it_is(input, output.path), output.path, advice);
    }
    for (const auto& [other, named] : written) {
      if (other == *identity)
        throw Error("two outputs are one file",
                    named->flag + " " + named->path + ", " + output.flag + " " + output.path, advice);
    }
    refuse_packed_weights(output, *identity, advice);
    written.emplace_back(*identity, &output);
  }
}

bool writes_to_stdout(const CLI::App& command) {
  return std::ranges::any_of(files_of(command, true), [](const NamedFile& output) {
    return end_of_links(output.path) && descriptor_named(output.path) == STDOUT_FILENO;
  });
}

// The wait calls this about ten times a second. The closure remembers that it has spoken, so the line appears once.
WhileUnread while_unread(const std::string& path) {
  return [path, is_said = false](double seconds) mutable {
    if (interrupted()) throw Interrupted();
    if (seconds < 1 || std::exchange(is_said, true)) return;
    std::fprintf(stderr, "waiting until somebody reads %s\n", path.c_str());
  };
}

}  // namespace tandem::app
