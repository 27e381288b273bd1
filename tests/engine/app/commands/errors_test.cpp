// How whole commands fail: status 1 for failed work, 2 for wrong usage. They print one paragraph on standard error,
// print an object on standard output with --json, and write no file.
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

// Expects "tandem: WHAT: ON. WHAT TO DO" and nothing else.
void expect_one_paragraph(const Ended& ended) {
  EXPECT_THAT(ended.err, StartsWith("tandem: "));
  EXPECT_EQ(std::ranges::count(ended.err, '\n'), 1) << ended.err;
  EXPECT_THAT(ended.err, Not(HasSubstr("terminate called")));
}

TEST(Failures, of_every_command_that_takes_a_model_name_the_file) {
  const Folder folder;
  const std::string broken = folder.write("broken.gguf", "GGUF\3\0\0\0 and no more");
  const std::string file = folder.file("never");
  for (const std::string& model : {folder.file("missing.gguf"), broken}) {
    for (const Arguments& command :
         {Arguments{"run", "-p", "x"}, Arguments{"eval", "-p", "x", "--logits", file}, Arguments{"tokenize", "-p", "x"},
          Arguments{"info"}, Arguments{"plan"}, Arguments{"bench", "--trace", file}, Arguments{"profile"},
          Arguments{"calibrate", "-o", file}, Arguments{"bench-sync", "--device", "npu:0", "--html", file}}) {
      const Ended plain = tandem(command + Arguments{"-m", model}),
                  with_json = tandem(command + Arguments{"-m", model, "--json"});
      EXPECT_EQ(plain.status, 1) << command[0];
      EXPECT_THAT(plain.out, IsEmpty()) << command[0];
      EXPECT_THAT(plain.err, HasSubstr(model));
      if (command[0] != "bench-sync") expect_one_paragraph(plain);  // it also prints what it measures
      EXPECT_EQ(with_json.status, 1) << command[0];
      const json error = json::parse(with_json.out).at("error");
      EXPECT_THAT(error.at("message"), HasSubstr(model)) << command[0];
      EXPECT_FALSE(error.at("what").get<std::string>().empty());
      EXPECT_TRUE(error.contains("hint"));
    }
  }
  EXPECT_THAT(folder.names(), ::testing::ElementsAre("broken.gguf"));
}

TEST(Failures, of_the_command_line_are_wrong_usage) {
  for (const Arguments& wrong :
       {Arguments{}, Arguments{"dance"}, Arguments{"run"}, Arguments{"run", "-m", "x", "-p", "a", "-f", "b"},
        Arguments{"run", "-m", "x", "-p", "a", "--temp", "nan"}, Arguments{"eval", "-m", "x"},
        Arguments{"eval", "-m", "x", "-p", "a", "--ids", "b"}, Arguments{"plan"}, Arguments{"calibrate", "-m", "x"},
        Arguments{"bench", "-m", "x", "-o", "xml"}, Arguments{"npu", "gemm", "-M", "0", "-K", "1", "-N", "1"}}) {
    const Ended plain = tandem(wrong), with_json = tandem(wrong + Arguments{"--json"});
    EXPECT_EQ(plain.status, 2) << ::testing::PrintToString(wrong);
    EXPECT_THAT(plain.out, IsEmpty());
    expect_one_paragraph(plain);
    EXPECT_EQ(with_json.status, 2);
    EXPECT_EQ(json::parse(with_json.out).at("error").at("what"), "wrong usage");
  }
}

TEST(Failures, of_a_text_that_never_ends_are_told) {
  for (const char* flag : {"-f", "--ids"}) {
    const Ended endless = tandem({"eval", "-m", stories(), flag, "/dev/zero", "--device", "host"});
    EXPECT_EQ(endless.status, 1) << flag;
    EXPECT_THAT(endless.err, HasSubstr("too long: /dev/zero"));
    expect_one_paragraph(endless);
  }
}

TEST(Failures, of_a_full_disk_are_told) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "skipped: there is no /dev/full";
  const Ended trace =
      tandem(Arguments{"run", "-m", stories(), "-p", "Once", "-n", "1", "--trace", "/dev/full/t.json"} + on_host());
  EXPECT_EQ(trace.status, 1);
  EXPECT_THAT(trace.err, HasSubstr("/dev/full/t.json"));
}

TEST(Help, and_version_are_answers) {
  const Ended help = tandem({"--help"}), version = tandem({"--version"});
  EXPECT_EQ(help.status, 0);
  EXPECT_THAT(help.out, HasSubstr("TANDEM_MODEL"));
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, StartsWith("tandem "));
  for (const char* fact :
       {" (commit ", "\ncompiler:  ", "\nprocessor: ", "; loops: ", "\ndrivers:   OpenCL: ", "; Vulkan: "})
    EXPECT_THAT(version.out, HasSubstr(fact));
}

TEST(Version, names_the_drivers_that_are_installed) {
  const Folder folder;
  folder.write("mine.icd", "libmine.so\n");
  ChildSettings settings;
  settings.environment = {{"OCL_ICD_VENDORS", folder.file("")}, {"VK_DRIVER_FILES", "/nowhere/x.json"}};
  const Ended version = tandem({"--version"}, settings);
  EXPECT_EQ(version.status, 0);
  EXPECT_THAT(version.out, HasSubstr("OpenCL: mine.icd; Vulkan: "));
}

}  // namespace
}  // namespace tandem::testing
