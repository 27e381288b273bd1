// The suites in Python: OpenAI's own client and the page in a browser, where they are installed.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/support/source_tree.h"

namespace tandem {
namespace {

void run_suite(const std::string& script, const std::string& environment) {
  const std::string path = (testing::source_tree() / "tests/clients" / script).string();
  const std::string command = environment + " python3 -B '" + path + "' '" TANDEM_PROGRAM "' 2>&1";
  FILE* const child = popen(command.c_str(), "r");
  ASSERT_NE(child, nullptr);
  std::string said;
  std::array<char, 4096> buffer;
  while (const size_t read = std::fread(buffer.data(), 1, buffer.size(), child)) said.append(buffer.data(), read);
  const int status = pclose(child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << said;
  if (WEXITSTATUS(status) == 127) GTEST_SKIP() << "python3 is not installed";
  EXPECT_EQ(WEXITSTATUS(status), 0) << said;
}

TEST(Clients, of_openai_get_what_they_expect) {
  run_suite("openai_suite.py", "PYTHONPATH='" TANDEM_CLIENTS "/openai'");
}

TEST(Clients, that_are_browsers_show_the_page) {
  run_suite("page_suite.py", "TANDEM_AXE=\"$(ls '" TANDEM_CLIENTS "/axe/axe_core_python/axe.min.js' 2>/dev/null)\"");
}

}  // namespace
}  // namespace tandem
