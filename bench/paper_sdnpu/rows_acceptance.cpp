// SF60 to SF76: Table 4, tokens of a pass. They are inputs. Their quotients are printed too.
#include <algorithm>

#include "bench/paper_sdnpu/row.h"

namespace tandem::paper_sdnpu {
namespace {

// Tokens of a pass with the paper's parts over those without, for each model.
std::vector<double> quotients(const std::array<double, 3>& more, const std::array<double, 3>& base) {
  std::vector<double> all;
  for (size_t model = 0; model < more.size(); ++model) all.push_back(more[model] / base[model]);
  return all;
}

// SF60: all quotients of one drafter.
std::vector<double> all_quotients(std::array<double, 3> Acceptance::*more, std::array<double, 3> Acceptance::*base) {
  std::vector<double> all;
  for (const Acceptance& printed : kTable4)
    for (const double quotient : quotients(printed.*more, printed.*base)) all.push_back(quotient);
  return all;
}

// Table 4's values are inputs and have rows only for the record.
void add_line(std::vector<Row>& rows, const std::string& id, const std::string& what,
              const std::array<double, 3>& tokens) {
  for (size_t model = 0; model < tokens.size(); ++model)
    rows.push_back({id,
                    what + ", " + kTable4Models[model],
                    "tokens",
                    tokens[model],
                    tokens[model],
                    Use::input,
                    Kind::absolute,
                    {},
                    "an input: no text of the paper is here"});
}

// The paper prints the quotients of its own values, which must agree to 0.01.
void add_gains(std::vector<Row>& rows, const std::string& id, const std::string& what,
               const std::array<double, 3>& gains, const std::vector<double>& quotients) {
  for (size_t model = 0; model < gains.size(); ++model)
    rows.push_back({id, what + ", gain, " + kTable4Models[model], "x", gains[model], gains[model], Use::held_out,
                    Kind::quotient, [value = quotients[model]](Lab&) { return value; },
                    "a quotient of printed values"});
}

}  // namespace

// Table 4 goes task by task, with four lines each, whose ids follow one another.
void add_acceptance_rows(std::vector<Row>& rows) {
  const char* note = "quotients of Table 4, to 0.01";
  add_bounds(
      rows, {"SF60", "gain of + Ours over PLD", "x", 1.05, 1.25}, Use::held_out,
      [](Lab&) { return all_quotients(&Acceptance::pld_ours, &Acceptance::pld); }, note);
  add_bounds(
      rows, {"SF60", "gain of + Ours over SAM", "x", 1.06, 1.24}, Use::held_out,
      [](Lab&) { return all_quotients(&Acceptance::sam_ours, &Acceptance::sam); }, note);
  int number = 61;
  for (const Acceptance& printed : kTable4) {
    const std::string task(name_of(printed.task));
    const auto id = [&] { return "SF" + std::to_string(number++); };
    add_line(rows, id(), task + ", PLD", printed.pld);
    const std::string pld = id(), sam_plain = id(), sam = id();
    add_line(rows, pld, task + ", PLD + Ours", printed.pld_ours);
    add_gains(rows, pld, task + ", PLD + Ours", printed.pld_gain, quotients(printed.pld_ours, printed.pld));
    add_line(rows, sam_plain, task + ", SAM", printed.sam);
    add_line(rows, sam, task + ", SAM + Ours", printed.sam_ours);
    add_gains(rows, sam, task + ", SAM + Ours", printed.sam_gain, quotients(printed.sam_ours, printed.sam));
  }
}

}  // namespace tandem::paper_sdnpu
