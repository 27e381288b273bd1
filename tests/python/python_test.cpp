// The Python package, by its own tests.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/data.h"
#include "tests/support/python_suite.h"
#include "tests/support/source_tree.h"

namespace tandem::testing {
namespace {

// The interpreter keeps memory until its end, so leaks are not looked for.
#ifdef TANDEM_PRELOAD
const std::string kLoadedFirst = "LD_PRELOAD='" TANDEM_PRELOAD "' ASAN_OPTIONS=\"$ASAN_OPTIONS:detect_leaks=0\" ";
#else
const std::string kLoadedFirst;
#endif

// Plugins of the machine's own pytest are left out. needs: a module without which the suite is skipped.
// variables: of the environment, in front of the others.
void run_pytest(const std::string& file, const std::string& needs = "pytest", const std::string& variables = "") {
  const std::string root = source_tree().string();
  const std::string environment = "PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 PYTHONPATH='" TANDEM_PACKAGE
                                  "' TANDEM_TEST_PROGRAM='" TANDEM_PROGRAM "' TANDEM_TEST_LIBRARY='" TANDEM_LIBRARY
                                  "' TANDEM_TEST_MODEL='" +
                                  repository_data("tiny-models/stories260K-F16.gguf") + "' TANDEM_TEST_CHAT_MODEL='" +
                                  default_model().value_or("") + "' ";
  const std::string python = "'" TANDEM_PYTHON "' -B ";
  std::string said;
  run_python_suite(python + "-c 'import numpy, pytest, " + needs + "' || { echo 'numpy, pytest or " + needs +
                       " is not installed (./dev setup python)'; exit 77; }; " + kLoadedFirst + variables +
                       environment + python + "-m pytest -q -p no:cacheprovider '" + root + "/tests/python/" + file +
                       "'",
                   said);
}

TEST(Python, texts_are_those_of_the_program) { run_pytest("test_texts.py"); }
TEST(Python, values_are_right_and_wrong_ones_are_refused) { run_pytest("test_values.py"); }
TEST(Python, vectors_and_log_levels_are_those_of_the_program) { run_pytest("test_vectors.py"); }
TEST(Python, planners_decide_and_are_checked) { run_pytest("test_planner.py"); }
TEST(Python, the_package_tells_what_it_is) { run_pytest("test_package.py"); }
TEST(Python, made_up_calls_of_every_public_name_end) { run_pytest("test_misuse.py"); }
TEST(Soak, of_a_thousand_rounds_leaves_memory_as_it_is) {
  run_pytest("test_rounds.py", "pytest", "TANDEM_ROUNDS=1000 ");
}
TEST(Python, writes_what_program_server_and_library_write) { run_pytest("test_one_request.py"); }
TEST(Python, a_wheel_that_cannot_be_built_says_why) { run_pytest("test_wheel.py"); }
TEST(Python, stubs_are_those_of_the_binding) { run_pytest("test_stubs.py"); }
TEST(Python, types_are_sound) { run_pytest("test_types.py", "mypy"); }
TEST(Python, examples_run) { run_pytest("test_examples.py"); }

}  // namespace
}  // namespace tandem::testing
