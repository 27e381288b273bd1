// A program of bench/ as a shell calls it: its status, its text and its files.
//
// Contract: it lies in the folder of the build that the test is part of. Status -1: it could not be started.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace tandem::testing {

struct Ended {
  int status = 0;
  std::string out;  // both streams
};

inline Ended bench_program(const std::string& name, const std::string& arguments) {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  const std::string command = "'" + (here / "../../bench" / name).string() + "' " + arguments + " 2>&1";
  Ended ended;
  FILE* pipe = popen(command.c_str(), "r");
  for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;) ended.out.push_back(static_cast<char>(c));
  ended.status = pipe == nullptr ? -1 : WEXITSTATUS(pclose(pipe));
  return ended;
}

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace tandem::testing
