// Every command keeps the link, the mode and the kind of an output's file. It refuses an output that is also an input,
// except a state that it replaces.
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <thread>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

namespace fs = std::filesystem;

constexpr const char* kToy = R"({"schema": 1, "name": "toy", "layers": 2, "hidden": 64, "feed_forward": 96, "heads": 2,
                                 "vocabulary": 300, "context_length": 128})";

// A command up to the name of its output.
struct Writer {
  Arguments command;
  std::string begins;  // the beginning of the output; "" allows any
  bool holds_times = false;
};

class Outputs : public ::testing::Test {
 protected:
  std::vector<Writer> writers() const {
    const std::string text = folder_.write("text", "Once upon a time there was a small dog");
    const Arguments on = on_host();
    return {
        {Arguments{"run", "-m", stories(), "-p", "Once", "-n", "2", "-q"} + on + Arguments{"--save-state"}, "TDMSTATE"},
        {Arguments{"run", "-m", stories(), "-p", "Once", "-n", "2", "-q"} + on + Arguments{"--trace"}, "{", true},
        {Arguments{"eval", "-m", stories(), "-p", "Once", "-q"} + on + Arguments{"--logits"}, ""},
        {{"make-random", "--shape", folder_.write("shape.json", kToy), "--type", "q8_0", "-q", "-o"}, "GGUF"},
        {{"make-moe", "-m", stories(), "--experts", "2", "--router", "even", "-q", "-o"}, "GGUF"},
        {{"calibrate-moe", "-m", mixture_, "-f", text, "--device", "host", "-q", "-o"}, "{"},
        {{"trace-moe", "-m", mixture_, "-f", text, "--device", "host", "-q", "-o"}, "{"},
        {Arguments{"run", "-m", mixture_, "-p", "Once", "-n", "2", "-q"} + on + Arguments{"--routing-out"}, "{"},
        {{"bench-sync", "--device", "npu:0", "--policies", "spin", "--sizes", "0", "--rounds", "5", "-q", "--html"},
         "<!DOCTYPE html>",
         true},
    };
  }
  static mode_t mode(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(stat(path.c_str(), &status), 0);
    return status.st_mode & 07777;
  }
  static void expect_written(const Writer& writer, const std::string& content) {
    EXPECT_GT(content.size(), 64u) << ::testing::PrintToString(writer.command);
    EXPECT_EQ(content.substr(0, writer.begins.size()), writer.begins) << ::testing::PrintToString(writer.command);
  }

  const Folder folder_;
  const std::string mixture_ = toy_mixture(folder_, 2, 128);
};

// The model of these commands is missing too, so whatever fails first is named.
TEST_F(Outputs, that_cannot_be_written_are_refused_before_any_work) {
  for (Writer writer : writers()) {
    for (std::string& word : writer.command)
      if (word == stories() || word == mixture_) word = folder_.file("missing.gguf");
    for (const std::string& target : {folder_.file(""), folder_.file("no/such/folder")}) {
      const Ended ended = tandem(writer.command + Arguments{target});
      EXPECT_EQ(ended.status, 1) << ::testing::PrintToString(writer.command);
      EXPECT_THAT(ended.err, HasSubstr("cannot write a file")) << ::testing::PrintToString(writer.command);
      EXPECT_THAT(ended.err, HasSubstr(target));
    }
  }
}

TEST_F(Outputs, of_every_command_go_where_a_link_leads_with_the_mode_that_was_there) {
  for (const Writer& writer : writers()) {
    const std::string target = folder_.write("target", "before");
    chmod(target.c_str(), 0600);
    const std::string link = folder_.file("link");
    fs::remove(link);
    fs::create_symlink("target", link);
    const Ended ended = tandem(writer.command + Arguments{link});
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_TRUE(fs::is_symlink(link));
    EXPECT_EQ(mode(target), 0600u);
    expect_written(writer, content_of(target));
    const std::vector<std::string> names = folder_.names();
    EXPECT_TRUE(std::ranges::none_of(names, [](const std::string& name) { return name.find(".part") != name.npos; }));
  }
}

TEST_F(Outputs, of_every_command_go_into_a_fifo_and_to_standard_output) {
  const std::string fifo = folder_.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  fs::create_symlink("/proc/self/fd/1", folder_.file("stdout"));  // like /dev/stdout, which the command must
                                                                  // not replace
  for (const Writer& writer : writers()) {
    std::string read;
    std::thread reader([&] { read = content_of(fifo); });
    const Ended ended = tandem(writer.command + Arguments{fifo});
    if (ended.status != 0) close(open(fifo.c_str(), O_WRONLY | O_NONBLOCK));  // ends the reader
    reader.join();
    EXPECT_EQ(ended.status, 0) << ended.err;
    EXPECT_TRUE(fs::is_fifo(fifo));
    expect_written(writer, read);
    const Ended out = tandem(writer.command + Arguments{folder_.file("stdout")});
    EXPECT_EQ(out.status, 0) << out.err;
    expect_written(writer, out.out);
    if (!writer.holds_times) {
      EXPECT_EQ(out.out, read) << "something else stands there too: " << ::testing::PrintToString(writer.command);
    }
  }
}

// The next file that is opened takes the lowest free descriptor, here that of standard output.
TEST_F(Outputs, of_a_program_without_standard_output_go_into_no_other_file) {
  const Writer writer = writers().front();
  const std::string state = folder_.file("state"), other = folder_.file("other");
  EXPECT_EQ(tandem(writer.command + Arguments{state}).status, 0);
  const Ended ended = tandem(writer.command + Arguments{other}, {.closes_output = true});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("cannot write the output: standard output. It is closed"));
  EXPECT_EQ(content_of(other), content_of(state));
}

TEST_F(Outputs, to_a_device_that_is_full_fail_and_leave_it) {
  const std::string full = folder_.file("full");  // a device node of the test's own
  if (mknod(full.c_str(), S_IFCHR | 0666, makedev(1, 7)) != 0)
    GTEST_SKIP() << "skipped: this user may make no device nodes";
  if (std::ofstream(full).fail()) GTEST_SKIP() << "skipped: devices cannot be used in this folder";
  for (const Writer& writer : writers()) {
    const Ended ended = tandem(writer.command + Arguments{full});
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("cannot write a file (No space left on device): " + full));
    EXPECT_TRUE(fs::is_character_file(full));
  }
}

TEST_F(Outputs, end_at_ctrl_c_while_nobody_reads) {
  const std::string fifo = folder_.file("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Child child({"make-random", "--shape", folder_.write("shape.json", kToy), "-o", fifo});
  ASSERT_TRUE(child.wait_until([&] { return child.err().find("waiting until somebody reads") != std::string::npos; }));
  child.interrupt();
  EXPECT_EQ(child.wait().status, 130);
  EXPECT_TRUE(fs::is_fifo(fifo));
}

TEST_F(Outputs, that_are_inputs_are_refused_before_anything_is_written) {
  const std::string model = folder_.write("m.gguf", content_of(stories()));
  const std::string mixture = folder_.write("mixture.gguf", content_of(mixture_));
  const std::string text = folder_.write("text.txt", "Once upon a time"), ids = folder_.write("ids", "1 2 3");
  const std::string shape = folder_.write("s.json", kToy), lines = folder_.write("lines", "{\"prompt\": \"a\"}\n");
  const std::string soc = folder_.write("soc.json", "{}"), counts = folder_.write("counts", "{}");
  fs::create_symlink("m.gguf", folder_.file("link"));
  fs::create_hard_link(model, folder_.file("same"));
  const std::string link = folder_.file("link"), same = folder_.file("same");
  struct Case {
    Arguments command;
    std::string input;
    std::string says = "the file to write is one that ";
  };
  const std::string itself = "the file to write is the model itself";
  const Arguments on = on_host();
  const std::vector<Case> cases = {
      {{"run", "-m", model, "-p", "a", "--save-state", model}, model, itself},
      {{"run", "-m", model, "-p", "a", "--save-state", link}, model, itself},
      {{"run", "-m", link, "-p", "a", "--trace", same}, model, itself},
      {{"run", "-m", model, "-f", text, "--save-state", text}, text},
      {{"run", "-m", model, "-f", text, "-f", ids, "--trace", text}, text},
      {{"run", "-m", model, "--jsonl", lines, "--trace", lines}, lines},
      {{"run", "-m", model, "-p", "a", "--load-state", ids, "--trace", ids}, ids},
      {{"run", "-m", model, "-p", "a", "--soc", soc, "--trace", soc}, soc},
      {{"run", "-m", model, "-p", "a", "--device", "npu:0?params=" + soc, "--trace", soc}, soc},
      {{"run", "-m", model, "-p", "a", "--calibration", counts, "--trace", counts}, counts},
      {{"eval", "-m", model, "-p", "a", "--logits", model}, model, itself},
      {{"eval", "-m", model, "--ids", ids, "--logits", ids}, ids},
      {{"eval", "-m", model, "-p", "a", "--trace", same}, model, itself},
      {{"bench", "-m", model, "--trace", model}, model, itself},
      {{"make-random", "--shape", model, "-o", model}, model, itself},
      {{"make-random", "--shape", shape, "-o", shape}, shape, itself},
      {{"make-moe", "-m", model, "--experts", "2", "-o", link}, model, itself},
      {{"make-moe", "-m", model, "--experts", "2", "-f", text, "-o", text}, text},
      {{"calibrate", "-m", model, "-o", model}, model, itself},
      {{"calibrate-moe", "-m", mixture, "-f", text, "-o", mixture}, mixture, itself},
      {{"calibrate-moe", "-m", mixture, "--ids", ids, "-o", ids}, ids},
      {{"calibrate-moe", "--routing", lines, "-o", lines}, lines},
      {{"trace-moe", "-m", mixture, "-f", text, "-o", text}, text},
      {{"replay-moe", lines, "--html", lines}, lines},
      {{"run", "-m", mixture, "-p", "a", "--routing-out", mixture}, mixture, itself},
      {{"bench-sync", "-m", model, "--html", model}, model, itself},
  };
  const auto before = folder_.names();
  for (const Case& each : cases) {
    const std::string content = content_of(each.input);
    const Ended ended = tandem(each.command);
    EXPECT_EQ(ended.status, 1) << ::testing::PrintToString(each.command) << ended.err;
    EXPECT_THAT(ended.err, StartsWith("tandem: " + each.says));
    EXPECT_THAT(ended.err, HasSubstr("Give another name with"));
    EXPECT_EQ(content_of(each.input), content);
  }
  EXPECT_EQ(folder_.names(), before);
}

TEST_F(Outputs, that_are_parts_of_a_split_model_are_refused) {
  const std::string first = folder_.write("m-00001-of-00002.gguf", "1"),
                    second = folder_.write("m-00002-of-00002.gguf", "2");
  const Ended ended = tandem({"eval", "-m", first, "-p", "a", "--logits", second});
  EXPECT_EQ(ended.status, 1);
  EXPECT_THAT(ended.err, HasSubstr("the file to write is a part of the model: " + second));
  EXPECT_EQ(content_of(second), "2");
}

TEST_F(Outputs, that_are_one_file_are_refused_and_devices_are_not) {
  const Arguments run = Arguments{"run", "-m", stories(), "-p", "Once", "-n", "1", "-q"} + on_host();
  const std::string both = folder_.file("both");
  fs::create_symlink("both", folder_.file("link"));
  for (const std::string& other : {both, folder_.file("link"), folder_.file("./both")}) {
    const Ended ended = tandem(run + Arguments{"--save-state", both, "--trace", other});
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("two outputs are one file"));
    EXPECT_FALSE(fs::exists(both));
  }
  const std::string null = folder_.file("null");
  if (mknod(null.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0 || std::ofstream(null).fail())
    GTEST_SKIP() << "skipped: this user may make no device nodes here";
  EXPECT_EQ(tandem(run + Arguments{"--save-state", null, "--trace", null}).status, 0);
}

TEST_F(Outputs, may_be_the_state_that_a_text_goes_on_from) {
  const std::string state = folder_.file("state");
  const Arguments run = Arguments{"run", "-m", stories(), "-q", "-n", "2", "--save-state", state} + on_host();
  ASSERT_EQ(tandem(run + Arguments{"-p", "Once upon"}).status, 0);
  const std::string before = content_of(state);
  const Ended ended = tandem(run + Arguments{"-p", "Once upon a time", "--load-state", state});
  EXPECT_EQ(ended.status, 0) << ended.err;
  EXPECT_NE(content_of(state), before);
}

TEST_F(Outputs, of_packed_weights_are_refused) {
  const ChildSettings own{.environment = {{"XDG_CACHE_HOME", folder_.file("cache")}}};
  const Arguments run =
      Arguments{"run", "-m", stories(), "-p", "Once", "-n", "1", "-q", "--pack-cache", "--save-state"};
  ASSERT_EQ(tandem(run + Arguments{folder_.file("state")} + on_host(), own).status, 0);
  for (const auto& entry : fs::directory_iterator(folder_.file("cache/tandem/packed"))) {
    const std::string content = content_of(entry.path());
    const Ended ended = tandem(run + Arguments{entry.path()} + on_host(), own);
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(ended.err, HasSubstr("holds packed weights"));
    EXPECT_EQ(content_of(entry.path()), content);
  }
}

}  // namespace
}  // namespace tandem::testing
