// Compares with another validator of JSON schemas, which is Python's: random_schemas_test.py has the schemas.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/support/python_suite.h"
#include "tests/support/source_tree.h"

namespace tandem {
namespace {

TEST(RandomSchemas, agree_with_another_validator) {
  const std::string script = (testing::source_tree() / "tests/engine/constraint/random_schemas_test.py").string();
  std::string said;
  testing::run_python_suite("python3 -B '" + script + "' '" TANDEM_WALKS "'", said);
  if (!::testing::Test::IsSkipped()) std::fputs(said.c_str(), stdout);
}

}  // namespace
}  // namespace tandem
