// Flags whose value names a file. They state which files are read and written, so that no output can
// overwrite an input.
// Contract: every such flag is declared through reads_file() or writes_file(). require_files_apart() runs after the
// command line has been accepted and before the command's action. It compares files by device and inode, through links.
// Four cases are an Error:
//   an output where no file can be written;
//   an output that another flag reads: the model, a part of a split one, a text, token ids, a profile, standard input;
//   an output that holds packed weights of Tandem's cache;
//   two outputs that are one file. Devices such as /dev/null may be named twice.
// An output may be the state that --load-state reads: that file has been read completely when --save-state replaces it.
#pragma once

#include <string>

#include "sync/output_file.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace tandem::app {

// names_too: the value may also be a name that the program knows: "--soc snapdragon-8gen3".
CLI::Option* reads_file(CLI::Option* flag, bool names_too = false);
CLI::Option* writes_file(CLI::Option* flag);

void require_files_apart(const CLI::App& command);
// WrongUsage if --device names a device twice. Runs after the parser, like require_files_apart().
void require_devices_apart(const CLI::App& command);

// Whether the command writes an output to standard output.
bool writes_to_stdout(const CLI::App& command);

// For an OutputFile of this path. After a second it says on standard error that another program must read the output.
// It ends the wait when the program is interrupted.
WhileUnread while_unread(const std::string& path);

}  // namespace tandem::app
