#include "engine/app/completion.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <sstream>
#include <utility>

#include "engine/app/flag_values.h"
#include "engine/device/registry.h"
#include "engine/model/shapes.h"
#include "engine/plan/model_clock/soc_profile.h"
#include "engine/plan/strategy.h"
#include "engine/tensor/types.h"

namespace tandem::app {
namespace {

// `auto` and `list` are no strategies, so they are named here.
std::vector<Candidate> plan_names() {
  std::vector<Candidate> names = {{"auto", "the fastest by measured times"}, {"list", "explain all plans and end"}};
  for (const Strategy& strategy : strategies()) names.push_back({strategy.name, strategy.explains});
  return names;
}

// The first device of each kind. Looking for others would load drivers, which takes seconds.
std::vector<Candidate> device_ids() {
  std::vector<Candidate> ids;
  for (const DeviceFactory& factory : device_factories())
    ids.push_back({std::string(factory.prefix) + (std::string_view(factory.prefix) == "host" ? "" : ":0"), ""});
  return ids;
}

std::vector<Candidate> storage_type_names() {
  std::vector<Candidate> names;
  for (const StorageTypeInfo& type : storage_types()) names.push_back({type.name, ""});
  return names;
}

std::vector<Candidate> chip_names() {
  std::vector<Candidate> names;
  for (std::string& name : soc_profile_names()) names.push_back({std::move(name), ""});
  return names;
}

std::vector<Candidate> shape_names() {
  std::vector<Candidate> names;
  for (const PublishedShape& shape : published_shapes()) names.push_back({shape.name, ""});
  return names;
}

// The names that a validator of flag_values.h knows, by the validator's name.
constexpr std::pair<const char*, std::vector<Candidate> (*)()> kKnown[] = {{kPlanName, plan_names},
                                                                           {kDeviceId, device_ids},
                                                                           {kStorageType, storage_type_names},
                                                                           {kChip, chip_names},
                                                                           {kShape, shape_names}};

// The parser has no question for a validator, only an error.
bool has_validator(CLI::Option& option, const char* name) {
  try {
    option.get_validator(name);
    return true;
  } catch (const CLI::OptionNotFound&) {
    return false;
  }
}

// The names in a type like "TEXT:{none,auto}", which the parser writes for a value out of a list.
std::vector<Candidate> listed_names(const std::string& type) {
  const size_t begin = type.find('{'), end = type.find('}');
  std::vector<Candidate> names;
  if (begin == std::string::npos || end == std::string::npos) return names;
  std::istringstream list(type.substr(begin + 1, end - begin - 1));
  for (std::string name; std::getline(list, name, ',');) names.push_back({name, ""});
  return names;
}

// The values of an option: files, the words of its type, or the names that its validator knows.
Candidates values_of(CLI::Option& option) {
  Candidates values;
  const std::string type = option.get_type_name();
  values.files = type.find("FILE") != std::string::npos;
  values.words = listed_names(type);
  for (const auto& [name, list] : kKnown)
    if (has_validator(option, name)) values.words = list();
  return values;
}

// Candidates for `word`, whose part up to `fixed` is already written: "--plan=", or the devices before a comma.
Candidates that_begin_as(Candidates found, const std::string& word, size_t fixed) {
  const std::string begun = word.substr(fixed);
  std::erase_if(found.words, [&](const Candidate& each) { return !each.word.starts_with(begun); });
  for (Candidate& each : found.words) each.word.insert(0, word, 0, fixed);
  return found;
}

// A list of values is completed behind its last comma.
Candidates values_for(CLI::Option& option, const std::string& word, size_t fixed) {
  if (option.get_delimiter() == ',')
    if (const size_t comma = word.rfind(','); comma != std::string::npos && comma >= fixed) fixed = comma + 1;
  return that_begin_as(values_of(option), word, fixed);
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// A flag's names as they are written: --plan, -m.
std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  return names;
}

// The flag of this name, whichever of its names it is.
CLI::Option* flag_named(CLI::App& command, const std::string& word) {
  const auto all = command.get_options(
      [&](CLI::Option* option) { return option->nonpositional() && std::ranges::count(names_of(*option), word) > 0; });
  return all.empty() ? nullptr : all.front();
}

// Explanations are sentences; a list shows their first part, without a paper's id before it ("Y3: ").
std::string in_short(std::string explained) {
  if (const size_t id = explained.find(": "); id <= 3) explained.erase(0, id + 2);
  return explained.substr(0, explained.find_first_of(";:("));
}

// A flag that was given before is offered again only if it may be repeated.
bool may_come_again(const CLI::Option& option) {
  return option.get_items_expected_max() > 1 || option.get_multi_option_policy() == CLI::MultiOptionPolicy::TakeAll;
}

// Hidden flags have no group and are not offered.
Candidates flags_of(CLI::App& command, std::span<const std::string> before) {
  Candidates found;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional() || option->get_group().empty()) continue;
    const std::vector<std::string> names = names_of(*option);
    const bool is_there =
        std::ranges::any_of(names, [&](const std::string& name) { return std::ranges::count(before, name) > 0; });
    if (is_there && !may_come_again(*option)) continue;
    for (const std::string& name : names) found.words.push_back({name, in_short(option->get_description())});
  }
  return found;
}

// Candidates where no flag waits for a value: arguments without a flag, or the next flag.
Candidates next_argument(CLI::App& command, std::span<const std::string> before, const std::string& word) {
  Candidates found;
  if (!word.starts_with('-'))
    for (CLI::Option* option : command.get_options([](CLI::Option* each) { return !each->nonpositional(); })) {
      const Candidates values = values_of(*option);
      found.files = found.files || values.files;
      found.words.insert(found.words.end(), values.words.begin(), values.words.end());
    }
  if (found.words.empty()) found.words = flags_of(command, before).words;
  return that_begin_as(std::move(found), word, 0);
}

// A value is completed behind an equals sign or behind a flag that takes one. All else is an argument or a flag.
Candidates in_command(CLI::App& command, std::span<const std::string> before, const std::string& word) {
  if (const size_t equals = word.find('='); word.starts_with("--") && equals != std::string::npos) {
    CLI::Option* flag = flag_named(command, word.substr(0, equals));
    return flag && takes_value(*flag) ? values_for(*flag, word, equals + 1) : Candidates{};
  }
  CLI::Option* waiting = before.empty() ? nullptr : flag_named(command, before.back());
  if (waiting && takes_value(*waiting)) return values_for(*waiting, word, 0);
  return next_argument(command, before, word);
}

// Commands such as `history` have commands below them.
Candidates names_below(CLI::App& command, const std::string& word) {
  Candidates found;
  for (const CLI::App* each : command.get_subcommands([](CLI::App*) { return true; }))
    found.words.push_back({each->get_name(), each->get_description()});
  return that_begin_as(std::move(found), word, 0);
}

// The scripts of three shells. Each asks the program itself for candidates, so a new flag needs no new script. The line
// `:files` asks the shell for names of files.
constexpr const char* kBash = R"(_tandem() {
  # bash divides words at colons and signs of equality; the program does not, so the line is divided anew.
  local line words word
  read -ra words <<<"${COMP_LINE:0:COMP_POINT}"
  [[ ${COMP_LINE:0:COMP_POINT} == *[[:space:]] ]] && words+=("")
  word=${words[-1]}
  COMPREPLY=()
  while IFS=$'\t' read -r line _; do
    if [[ $line == :files ]]; then compopt -o default; else COMPREPLY+=("${line#"${word%"${word##*[:=]}"}"}"); fi
  done < <("${words[0]/#\~\//$HOME/}" completion words -- "${words[@]:1}" 2>/dev/null)
}
complete -F _tandem tandem
)";

constexpr const char* kZsh = R"(#compdef tandem
_tandem() {
  local -a lines
  lines=("${(@f)$("${words[1]/#\~\//$HOME/}" completion words -- "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if (( ${lines[(Ie):files]} )); then lines=("${(@)lines:#:files}"); _files; fi
  lines=("${(@)lines%%$'\t'*}")
  compadd -- "${(@)lines:#}"
}
(( $+functions[compdef] )) && compdef _tandem tandem
)";

constexpr const char* kFish = R"(function __tandem_words
  set -l words (commandline -opc) (commandline -ct)
  set -l program (string replace -r '^~/' "$HOME/" -- $words[1])
  $program completion words -- $words[2..-1] 2>/dev/null
end
complete -c tandem -f -a '(__tandem_words | string match -v ":files")'
complete -c tandem -n '__tandem_words | string match -q ":files"' -F
)";

}  // namespace

// The command's flags are made as for a run, and then asked for what fits. The first word completes to a command, and
// the next one perhaps to a command below it. All later words are flags and their values.
Candidates candidates(std::span<const Command> commands, std::span<const std::string> words) {
  if (words.empty()) return {};
  const std::string& word = words.back();
  std::span<const std::string> before = words.first(words.size() - 1);
  if (before.empty()) {
    Candidates found{{{"--help", ""}, {"--version", ""}}};
    for (const Command& command : commands) found.words.push_back({command.name, command.explains});
    return that_begin_as(std::move(found), word, 0);
  }
  const auto named = std::ranges::find_if(commands, [&](const Command& each) { return before.front() == each.name; });
  if (named == commands.end()) return {};
  CLI::App root;
  Action unused;
  CLI::App* command = root.add_subcommand(named->name);
  named->add(*command, unused);
  before = before.subspan(1);
  if (!command->get_subcommands([](CLI::App*) { return true; }).empty()) {
    if (before.empty()) return names_below(*command, word);
    const auto below = command->get_subcommands([&](CLI::App* each) { return each->get_name() == before.front(); });
    if (below.empty()) return {};
    command = below.front();
    before = before.subspan(1);
  }
  return in_command(*command, before, word);
}

std::string completion_script(const std::string& shell) {
  return shell == "bash" ? kBash : shell == "zsh" ? kZsh : kFish;
}

}  // namespace tandem::app
