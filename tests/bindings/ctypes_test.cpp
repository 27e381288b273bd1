// The library as programs of other languages load it.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/data.h"
#include "tests/support/python_suite.h"
#include "tests/support/source_tree.h"

namespace tandem::testing {
namespace {

TEST(CLibrary, exports_its_header_and_serves_a_program_in_python) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "Python is built without AddressSanitizer, which the library needs here";
#endif
  const std::string root = source_tree().string(), quote = "' '";
  std::string said;
  run_python_suite("python3 -B '" + root + "/tests/bindings/ctypes_suite.py" + quote + TANDEM_LIBRARY + quote +
                       TANDEM_PROGRAM + quote + repository_data("tiny-models/stories260K-F16.gguf") + quote + root +
                       "'",
                   said);
}

}  // namespace
}  // namespace tandem::testing
