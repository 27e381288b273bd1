// Candidates for the next word of a command line: commands, flags, and names for their values.
#include "engine/app/completion.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "tests/engine/app/program.h"

namespace tandem {
namespace {

using ::tandem::testing::Outcome;
using ::tandem::testing::tandem_program;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::vector<std::string> words_of(const app::Candidates& found) {
  std::vector<std::string> words;
  for (const app::Candidate& each : found.words) words.push_back(each.word);
  return words;
}

app::Candidates behind(const std::vector<std::string>& words) { return app::candidates(app::commands(), words); }

TEST(Completion, begins_with_the_commands) {
  EXPECT_THAT(words_of(behind({"to"})), ElementsAre("tokenize"));
  EXPECT_THAT(words_of(behind({""})), Contains("run"));
  EXPECT_THAT(words_of(behind({"--v"})), ElementsAre("--version"));
}

TEST(Completion, names_the_commands_below_a_command) {
  EXPECT_THAT(words_of(behind({"history", ""})), ElementsAre("stats", "clear", "add"));
  EXPECT_THAT(words_of(behind({"history", "add", "--mod"})), ElementsAre("--model"));
}

TEST(Completion, of_an_unknown_command_has_nothing) {
  EXPECT_THAT(words_of(behind({"fly", ""})), IsEmpty());
  EXPECT_THAT(words_of(behind({"history", "fly", "--"})), IsEmpty());
  EXPECT_THAT(words_of(app::candidates(app::commands(), {})), IsEmpty());
}

// Each flag of each command completes to itself, whatever is written of it.
TEST(Completion, has_every_flag_of_every_command) {
  size_t tried = 0;
  for (const app::Command& command : app::commands()) {
    CLI::App root;
    app::Action action;
    CLI::App* declared = root.add_subcommand(command.name);
    command.add(*declared, action);
    std::vector<std::pair<std::vector<std::string>, CLI::App*>> all = {{{command.name}, declared}};
    for (CLI::App* one : declared->get_subcommands([](CLI::App*) { return true; })) {
      all.push_back({{command.name, one->get_name()}, one});
      all.front().second = nullptr;  // its flags are those of the commands below
    }
    for (const auto& [words, app] : all) {
      if (app == nullptr) continue;
      for (const CLI::Option* option : app->get_options()) {
        for (const std::string& name : option->get_lnames()) {
          std::vector<std::string> line = words;
          line.push_back("--" + name.substr(0, 2));
          EXPECT_THAT(words_of(behind(line)), Contains("--" + name)) << command.name;
          ++tried;
        }
      }
    }
  }
  EXPECT_GT(tried, 400u);
}

TEST(Completion, leaves_out_a_flag_that_is_there) {
  EXPECT_THAT(words_of(behind({"run", "--plan", "auto", "--pl"})), IsEmpty());
  EXPECT_THAT(words_of(behind({"run", "-m", "x", "--mod"})), IsEmpty()) << "-m and --model are one flag";
  EXPECT_THAT(words_of(behind({"run", "--stop", "a", "--sto"})), ElementsAre("--stop")) << "it may come again";
}

TEST(Completion, knows_names_of_plans_devices_types_chips_and_shapes) {
  EXPECT_THAT(words_of(behind({"run", "--plan", "ten"})), ElementsAre("tensor"));
  EXPECT_THAT(words_of(behind({"run", "--device", "ho"})), ElementsAre("host"));
  EXPECT_THAT(words_of(behind({"make-random", "--type", "Q4_"})), Contains("Q4_0"));
  EXPECT_THAT(words_of(behind({"plan", "--soc", "snapdragon-8g"})), Contains("snapdragon-8gen3"));
  EXPECT_THAT(words_of(behind({"plan", "--shape", "llama-3-"})), Contains("llama-3-8b"));
  EXPECT_THAT(words_of(behind({"run", "--spec", ""})), ElementsAre("none", "auto", "pld", "sam", "sdnpu"));
}

TEST(Completion, continues_a_list_and_a_flag_with_its_value) {
  EXPECT_THAT(words_of(behind({"run", "--device", "opencl:0,np"})), ElementsAre("opencl:0,npu:0"));
  EXPECT_THAT(words_of(behind({"run", "--plan=ten"})), ElementsAre("--plan=tensor"));
  EXPECT_THAT(words_of(behind({"run", "--device=opencl:0,ho"})), ElementsAre("--device=opencl:0,host"));
  EXPECT_THAT(words_of(behind({"run", "--nothing=a"})), IsEmpty());
  EXPECT_THAT(words_of(behind({"run", "--json=a"})), IsEmpty()) << "--json takes no value";
}

TEST(Completion, says_where_a_file_may_stand) {
  EXPECT_TRUE(behind({"run", "-m", ""}).files);
  EXPECT_TRUE(behind({"plan", "--soc", ""}).files) << "a name or a file";
  EXPECT_TRUE(behind({"replay-moe", ""}).files) << "an argument without a flag";
  EXPECT_FALSE(behind({"run", "--plan", ""}).files);
  EXPECT_FALSE(behind({"run", ""}).files);
}

TEST(Completion, offers_no_flag_where_a_number_is_waited_for) {
  EXPECT_THAT(words_of(behind({"run", "-n", ""})), IsEmpty());
  EXPECT_THAT(words_of(behind({"run", "--json", "--pl"})), Contains("--plan")) << "--json waits for nothing";
}

TEST(Completion, is_a_candidate_a_line_with_its_explanation) {
  const Outcome plan = tandem_program({"completion", "words", "--", "run", "--plan", "au"});
  EXPECT_EQ(plan.status, 0);
  EXPECT_EQ(plan.out, "auto\tthe fastest by measured times\n");
  EXPECT_THAT(tandem_program({"completion", "words", "--", "run", "-m", ""}).out, HasSubstr(":files\n"));
  EXPECT_THAT(tandem_program({"completion", "words", "--", "run", "-n"}).out, HasSubstr("-n\t"));
  EXPECT_THAT(tandem_program({"completion", "words", "--", "run", "--expert-pre"}).out, Not(HasSubstr("Y3")));
}

TEST(Completion, has_a_script_for_each_shell) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const Outcome script = tandem_program({"completion", shell});
    EXPECT_EQ(script.status, 0);
    EXPECT_THAT(script.out, HasSubstr("completion words -- ")) << shell;
  }
  EXPECT_EQ(tandem_program({"completion"}).status, 2);
  EXPECT_EQ(tandem_program({"completion", "csh"}).status, 2);
  const Outcome more = tandem_program({"completion", "bash", "now"});
  EXPECT_EQ(more.status, 2);
  EXPECT_THAT(more.err, HasSubstr("takes no further words"));
  EXPECT_THAT(more.out, Not(HasSubstr("_tandem")));
}

}  // namespace
}  // namespace tandem
