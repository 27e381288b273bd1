// Inputs whose writer is late: FIFOs and standard input.
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "tests/engine/app/commands/whole.h"

namespace tandem::testing {
namespace {

class Inputs : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(mkfifo(fifo_.c_str(), 0600), 0); }
  // Commands that read `input`.
  static std::vector<Arguments> readers(const std::string& input) {
    const Arguments model = {"-m", stories()}, text = {"-n", "2"};
    return {Arguments{"run", "-f", input} + model + text + on_host(),
            Arguments{"run", "--jsonl", input} + model + text + on_host(),
            Arguments{"eval", "--ids", input} + model + on_host(),
            Arguments{"eval", "--perplexity", "--jsonl", input} + model + on_host(),
            Arguments{"make-moe", "--experts", "2", "-o", folder_of_outputs().file("out.gguf"), "-f", input} + model};
  }
  static const Folder& folder_of_outputs() {
    static const Folder folder;
    return folder;
  }
  const Folder folder_;
  const std::string fifo_ = folder_.file("fifo");
};

TEST_F(Inputs, that_nobody_writes_are_said_and_end_at_ctrl_c_and_term) {
  int turn = 0;
  for (const auto& [input, name] : {std::pair{fifo_, fifo_}, {std::string("-"), std::string("standard input")}}) {
    for (const Arguments& reader : readers(input)) {
      SCOPED_TRACE(::testing::PrintToString(reader));
      Child child(reader, {.keeps_input_open = true});
      ASSERT_TRUE(child.wait_until([&] { return child.err().find("waiting for " + name) != std::string::npos; }));
      child.interrupt(turn++ % 2 == 0 ? SIGINT : SIGTERM);
      const Ended ended = child.wait();
      EXPECT_EQ(ended.status, 130);
      EXPECT_THAT(ended.err, Not(HasSubstr("tandem: ")));
    }
  }
}

TEST_F(Inputs, that_come_late_are_read_whole) {
  const std::string prompt = golden("story").at("prompt");
  std::thread writer([&] {
    std::ofstream out(fifo_);  // waits for the reader
    out << prompt.substr(0, 4) << std::flush;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    out << prompt.substr(4);
  });
  const json answer = json_of(Arguments{"run", "-m", stories(), "-n", "8", "-f", fifo_} + on_host());
  writer.join();
  EXPECT_EQ(answer.at("text"),
            json_of(Arguments{"run", "-m", stories(), "-n", "8", "-p", prompt} + on_host()).at("text"));
}

}  // namespace
}  // namespace tandem::testing
