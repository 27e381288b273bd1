// Ctrl-C while a command works: it ends with status 130, prints what it has, and leaves no half-written file.
#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

constexpr int kInterrupted = 130;

class Interrupt : public ::testing::Test {
 protected:
  const Folder folder_;
};

TEST_F(Interrupt, of_run_leaves_the_text_so_far) {
  // The text is too long for any test to wait for its end.
  Child child(Arguments{"run", "-m", stories(), "-p", "Once upon a time", "-n", "-1", "-c", "20000", "--ignore-eos"} +
              on_host());
  ASSERT_TRUE(child.wait_until([&] { return child.out().size() > 20; })) << child.err();
  child.interrupt();
  const Ended ended = child.wait();
  EXPECT_EQ(ended.status, kInterrupted);
  EXPECT_THAT(ended.err, HasSubstr("stopped: interrupted"));
  const std::string text = golden("story").at("greedy_text");
  const size_t common = std::min(text.size(), ended.out.size());
  EXPECT_EQ(ended.out.substr(0, common), text.substr(0, common));
}

TEST_F(Interrupt, of_run_gives_whole_json) {
  Child child(Arguments{"run", "-m", stories(), "-f", "-", "--chunk", "32", "-c", "8192", "--json"} + on_host(),
              {.keeps_input_open = true});
  child.write_until_read("Once upon a time");
  child.interrupt();  // the command reads its prompt now, and sees the interrupt between two pieces of the prompt
  child.close_input();
  const Ended ended = child.wait();
  EXPECT_EQ(ended.status, kInterrupted) << ended.err;
  const json answer = json::parse(ended.out);
  EXPECT_EQ(answer.at("stop_reason"), "interrupted");
  EXPECT_EQ(answer.at("ids"), json::array());
}

TEST_F(Interrupt, of_eval_leaves_no_logits) {
  Child child(Arguments{"eval", "-m", stories(), "--ids", "-", "--chunk", "1", "--logits", folder_.file("logits"),
                        "--trace", folder_.file("trace.json"), "--json"} +
                  on_host(),
              {.keeps_input_open = true});
  child.write_until_read("1 2 3 4 5 6 7 8");
  child.interrupt();
  child.close_input();
  EXPECT_EQ(child.wait().status, kInterrupted);
  EXPECT_THAT(folder_.names(), IsEmpty());
}

// When a command has opened the model's file, it watches for signals, and its work is still ahead.
TEST_F(Interrupt, of_bench_profile_and_calibrate_leaves_no_file) {
  const std::string never = folder_.file("never.json");
  for (const Arguments& arguments :
       {Arguments{"bench", "-r", "10000", "-p", "64", "--trace", never, "--device", "host", "--plan", "host-only"},
        Arguments{"profile", "--again", "--device", "npu:0,host", "--json"},
        Arguments{"calibrate", "--device", "npu:0,host", "-o", never}}) {
    Child child(arguments + Arguments{"-m", stories()});
    ASSERT_TRUE(child.wait_until([&] { return child.has_open(stories()); })) << arguments[0] << child.err();
    child.interrupt();
    const Ended ended = child.wait();
    EXPECT_EQ(ended.status, kInterrupted) << arguments[0] << ": " << ended.err << ended.out;
    if (arguments[0] == "profile") {
      EXPECT_EQ(json::parse(ended.out).at("interrupted"), true);
    }
    EXPECT_THAT(folder_.names(), IsEmpty()) << arguments[0];
  }
}

TEST_F(Interrupt, of_bench_sync_leaves_no_report) {
  Child child({"bench-sync", "--device", "npu:0", "--html", folder_.file("report.html")});
  ASSERT_TRUE(child.wait_until([&] { return child.err().find("measuring") != std::string::npos; })) << child.err();
  child.interrupt();
  EXPECT_EQ(child.wait().status, kInterrupted);
  EXPECT_THAT(folder_.names(), IsEmpty());
}

// The kernel and the shell both send the signal of a closed terminal, so it comes twice.
TEST_F(Interrupt, by_a_terminal_that_closes_leaves_no_half_written_file) {
  Child child({"make-random", "--shape", "llama-3-8b", "--type", "F16", "-o", folder_.file("large.gguf"), "-q"});
  ASSERT_TRUE(child.wait_until([&] { return !folder_.names().empty(); })) << child.err();
  child.interrupt(SIGHUP);
  child.interrupt(SIGHUP);
  EXPECT_EQ(child.wait().status, kInterrupted);
  EXPECT_THAT(folder_.names(), IsEmpty());
}

TEST_F(Interrupt, by_a_closed_terminal_is_none_for_a_program_that_nohup_started) {
  Child child(
      Arguments{"run", "-m", stories(), "-p", "Once", "-n", "3000", "-c", "4000", "--ignore-eos", "-q"} + on_host(),
      {.ignores_hangup = true});
  ASSERT_TRUE(child.wait_until([&] { return child.out().size() > 20; })) << child.err();
  child.interrupt(SIGHUP);
  EXPECT_EQ(child.wait().status, 0);
}

}  // namespace
}  // namespace tandem::testing
