// The suite of the site in Python: it makes the whole site, where mkdocs is installed, and looks at it in a browser.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/support/python_suite.h"
#include "tests/support/source_tree.h"

namespace tandem {
namespace {

TEST(Site, loads_nothing_from_elsewhere_and_leads_to_what_is_there) {
  const std::string root = testing::source_tree().string();
  const std::string axe = std::filesystem::exists(TANDEM_AXE) ? TANDEM_AXE : "";
  std::string said;
  testing::run_python_suite("TANDEM_AXE='" + axe + "' python3 -B '" + root + "/tests/site/site_suite.py' '" + root +
                                "' '" TANDEM_PROGRAM "' '" TANDEM_SITE "'",
                            said);
}

}  // namespace
}  // namespace tandem
