// Compares with another validator of JSON schemas, which is Python's: random_schemas_test.py has the schemas.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

#include "tests/support/source_tree.h"

namespace tandem {
namespace {

TEST(RandomSchemas, agree_with_another_validator) {
  const std::string script = (testing::source_tree() / "tests/engine/constraint/random_schemas_test.py").string();
  const std::string command = "python3 -B '" + script + "' '" TANDEM_WALKS "' 2>&1";
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
  std::fputs(said.c_str(), stdout);
}

}  // namespace
}  // namespace tandem
