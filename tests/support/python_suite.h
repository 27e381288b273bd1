// A test suite in Python, run by a test of the runner.
//
// Contract: a suite that ends with 77 skips the calling test, with its words as the reason. Without Python the test is
// skipped too.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace tandem::testing {

// command: for the shell. The suite's output goes to `said`.
inline void run_python_suite(const std::string& command, std::string& said) {
  FILE* const child = popen((command + " 2>&1").c_str(), "r");
  ASSERT_NE(child, nullptr);
  std::array<char, 4096> buffer;
  while (const size_t read = std::fread(buffer.data(), 1, buffer.size(), child)) said.append(buffer.data(), read);
  const int status = pclose(child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << said;
  if (WEXITSTATUS(status) == 127) GTEST_SKIP() << "python3 is not installed";
  EXPECT_EQ(WEXITSTATUS(status), 0) << said;
}

}  // namespace tandem::testing
