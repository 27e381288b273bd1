// The suites in Python: OpenAI's own client, clients on top of it, and the page in a browser, where they are installed.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/python_suite.h"
#include "tests/support/source_tree.h"

namespace tandem {
namespace {

void run_suite(const std::string& script, const std::string& environment) {
  const std::string path = (testing::source_tree() / "tests/clients" / script).string();
  std::string said;
  testing::run_python_suite(environment + " python3 -B '" + path + "' '" TANDEM_PROGRAM "'", said);
}

TEST(Clients, of_openai_get_what_they_expect) {
  run_suite("openai_suite.py", "PYTHONPATH='" TANDEM_CLIENTS "/openai'");
}

TEST(Clients, on_top_of_openais_get_what_they_expect) {
  run_suite("others_suite.py", "PYTHONPATH='" TANDEM_CLIENTS "/others'");
}

TEST(Clients, that_read_descriptions_find_this_one_valid) {
  run_suite("openapi_suite.py", "PYTHONPATH='" TANDEM_CLIENTS "/openapi'");
}

TEST(Clients, that_are_browsers_show_the_page) {
  run_suite("page_suite.py", "TANDEM_AXE=\"$(ls '" TANDEM_CLIENTS "/axe/axe_core_python/axe.min.js' 2>/dev/null)\"");
}

}  // namespace
}  // namespace tandem
