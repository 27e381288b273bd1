// The suites of the packages in Python: they make the packages and judge them, and install them in a bare Debian.
#include <gtest/gtest.h>

#include <string>

#include "tests/support/python_suite.h"
#include "tests/support/source_tree.h"

namespace tandem::testing {
namespace {

void run_suite(const std::string& topic) {
  const std::string root = source_tree().string();
  std::string said;
  run_python_suite(
      "python3 -B '" + root + "/tests/packaging/packages_suite.py' '" + root + "' '" TANDEM_BUILD "' " + topic, said);
}

TEST(Service, may_do_what_its_page_explains) { run_suite("Service"); }
TEST(Service, answers_and_ends_under_a_systemd_that_boots_for_it) { run_suite("Booted"); }
TEST(Packages, have_what_they_should_and_the_same_bytes_twice) { run_suite("Packages"); }
TEST(Packages, are_installed_used_upgraded_and_purged_in_a_bare_debian) { run_suite("BareDebian"); }

}  // namespace
}  // namespace tandem::testing
