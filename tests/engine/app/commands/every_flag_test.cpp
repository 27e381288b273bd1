// Every flag that `--help` lists must appear in the tests of its command. The check finds flags without a test; it does
// not judge whether a test checks the flag's effect.
#include <regex>
#include <set>

#include "tests/engine/app/commands/whole.h"
#include "tests/support/source_tree.h"

namespace tandem::testing {
namespace {

// The files in which each command is tested.
const std::map<std::string, std::vector<std::string>> kTestsOf = {
    {"run",
     {"run_chat", "run_form", "run_text", "run_lines", "run_sampling", "run_spec", "history", "run_devices",
      "interrupt", "warm", "moe_plans", "moving_experts", "near_memory", "expert_use"}},
    // Flags of sampling and of the engine are those of `run`.
    {"chat",
     {"chat", "run_text", "run_sampling", "run_spec", "history", "run_devices", "run_lines", "warm", "moe_plans",
      "moving_experts", "near_memory"}},
    {"serve",
     {"serve", "run_chat", "run_text", "run_sampling", "run_spec", "history", "run_devices", "run_lines", "interrupt",
      "warm", "moe_plans", "moving_experts", "near_memory"}},
    {"embed", {"embed", "run_text", "run_devices", "warm", "moe_plans", "moving_experts", "near_memory"}},
    {"eval", {"eval", "moe_plans", "moving_experts", "near_memory", "expert_use"}},
    {"tokenize", {"tokenize"}},
    {"completion", {"completion"}},
    {"devices", {"info"}},
    {"info", {"info"}},
    {"plan", {"plan", "moe_plans", "moving_experts", "near_memory"}},
    {"plan-experts", {"plan_experts"}},
    {"bench", {"bench", "bench_parallel", "moe_plans", "moving_experts", "near_memory"}},
    {"pack", {"moving_experts"}},
    {"profile", {"measuring"}},
    {"calibrate", {"measuring"}},
    {"calibrate-moe", {"expert_use"}},
    {"trace-moe", {"expert_use"}},
    {"replay-moe", {"replay_moe"}},
    {"make-moe", {"make_moe"}},
    {"make-random", {"make_random"}},
    {"warm", {"warm"}},
    {"bench-sync", {"measuring"}},
    {"npu gemm", {"measuring"}},
    {"history stats", {"history"}},
    {"history clear", {"history"}},
    {"history add", {"history"}},
    {"spec draft", {"spec"}},
    {"spec merge", {"spec"}},
    {"spec reuse", {"spec"}},
    {"spec schedule", {"spec"}},
};

// The commands that have no flags of their own, but commands below them.
const std::map<std::string, std::vector<std::string>> kBelow = {
    {"npu", {"npu gemm"}},
    {"history", {"history stats", "history clear", "history add"}},
    {"spec", {"spec draft", "spec merge", "spec reuse", "spec schedule"}},
};

// The flags in a help text. Their lines begin with two blanks: " -m,--model TEXT ...".
std::vector<std::set<std::string>> flags_of(const std::string& help) {
  static const std::regex line("^ +(-[A-Za-z]|--[a-z-]+)(,(--[a-z-]+))?( .*)?$");
  std::vector<std::set<std::string>> flags;
  std::istringstream lines(help);
  for (std::string text; std::getline(lines, text);) {
    std::smatch found;
    if (!std::regex_match(text, found, line) || found[1] == "-h") continue;
    flags.push_back({found[1].str()});
    if (found[3].matched) flags.back().insert(found[3].str());
  }
  return flags;
}

// The code of the tests without comments. A test that calls json_of() uses --json.
std::string tests_of(const std::vector<std::string>& files) {
  std::string code;
  for (const std::string& file : files) {
    std::ifstream in(source_tree() / "tests/engine/app/commands" / (file + "_test.cpp"));
    EXPECT_TRUE(in.good()) << file;
    for (std::string line; std::getline(in, line);) code += line.substr(0, line.find("// ")) + "\n";
  }
  return code.find("json_of(") == std::string::npos ? code : code + "\"--json\"";
}

TEST(EveryFlag, of_every_command_is_used_by_a_test_of_whole_commands) {
  std::set<std::string> commands;
  std::istringstream lines(tandem({"--help"}).out);
  for (std::string line, shelf; std::getline(lines, line);) {
    if (!line.starts_with("  ")) shelf = line;
    if (!line.starts_with("  ") || !shelf.starts_with("Commands that ")) continue;
    const std::string name = line.substr(2, line.find(' ', 2) - 2);
    const auto below = kBelow.find(name);
    if (below != kBelow.end())
      commands.insert(below->second.begin(), below->second.end());
    else if (!name.empty())
      commands.insert(name);
  }
  EXPECT_GE(commands.size(), kTestsOf.size());
  for (const std::string& command : commands) {
    const auto files = kTestsOf.find(command);
    ASSERT_NE(files, kTestsOf.end()) << "the command " << command << " has no tests";
    const size_t blank = command.find(' ');
    const Arguments help =
        blank == command.npos ? Arguments{command} : Arguments{command.substr(0, blank), command.substr(blank + 1)};
    const auto flags = flags_of(tandem(help + Arguments{"--help"}).out);
    const bool has_flags = blank == command.npos && command != "completion";  // which only takes a shell's name
    EXPECT_GE(flags.size(), has_flags ? 4u : 0u) << command;
    const std::string code = tests_of(files->second);
    for (const std::set<std::string>& spellings : flags) {
      const bool used = std::ranges::any_of(
          spellings, [&](const std::string& flag) { return code.find('"' + flag + '"') != std::string::npos; });
      EXPECT_TRUE(used) << "no test of `tandem " << command << "` uses " << ::testing::PrintToString(spellings);
    }
  }
}

}  // namespace
}  // namespace tandem::testing
