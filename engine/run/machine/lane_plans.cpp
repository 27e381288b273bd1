#include "engine/run/machine/lane_plans.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <string>
#include <utility>

#include "engine/device/operators/matmul.h"
#include "sync/error.h"

namespace tandem {
namespace {

constexpr double kNewestOfPlans = 0.2;  // weight of the newest expectation and of the newest rest

// Whether two plans do the same in passes of this kind.
bool are_alike(const LanePlan& a, const LanePlan& b, bool of_text) {
  if (a.by_layers != b.by_layers) return false;
  return of_text ? a.text == b.text && a.keeps == b.keeps : a.prompts == b.prompts;
}

// All experts of a layer on one processor.
double seconds_on_one(const ActiveExperts& active, double fixed, double per_token) {
  double sum = 0;
  for (const int64_t load : active.loads) sum += fixed + per_token * static_cast<double>(load);
  return sum;
}

// A plan whose schedule is open may leave the link. The products of other copying plans wait for it in each layer.
double expected_seconds(const LanePlan& plan, const ActiveExperts& active, LaneDivisions& divisions, bool of_text,
                        bool on_gpu) {
  const ExpertCosts& costs = divisions.costs();
  if (plan.by_layers)
    return on_gpu ? seconds_on_one(active, costs.gpu_fixed, costs.gpu_per_token)
                  : costs.cpu_first + seconds_on_one(active, costs.cpu_fixed, costs.cpu_per_token);
  const ScheduleRule* rule = of_text ? plan.text : plan.prompts;
  const bool waits = rule != nullptr && std::string_view(rule->name) != "fixed";
  const double with_link = std::max(divisions.of(active, rule, true).seconds, waits ? costs.link_offset : 0.0);
  return rule != nullptr ? with_link
                         : std::min(std::max(with_link, costs.link_offset), divisions.of(active, rule, false).seconds);
}

}  // namespace

bool is_text_pass(int64_t tokens) { return tokens <= kSmallBatch; }

int lane_length_class(int64_t tokens) {
  return is_text_pass(tokens) ? 0 : static_cast<int>(std::bit_width(static_cast<uint64_t>(tokens)));
}

void LanePlans::add(const ActiveExperts& active, LaneDivisions& divisions, bool is_text, bool on_gpu) {
  experts_.resize(plans_.size());
  for (size_t p = 0; p < plans_.size(); ++p)
    experts_[p] += expected_seconds(plans_[p], active, divisions, is_text, on_gpu);
}

LanePlans::Choice& LanePlans::choice_of(int64_t tokens) {
  const int length_class = lane_length_class(tokens);
  if (length_class > 0) latest_prompts_ = length_class;
  const auto found = choices_.find(length_class);
  if (found != choices_.end()) return found->second;
  std::vector<size_t> different;
  for (size_t p = 0; p < plans_.size(); ++p) {
    const auto is_like = [&](size_t other) { return are_alike(plans_[p], plans_[other], length_class == 0); };
    if (std::ranges::none_of(different, is_like)) different.push_back(p);
  }
  PlanChoice choice(different.size(), length_class == 0 ? kPlansOfText : kPlansOfPrompts);
  return choices_.emplace(length_class, Choice{std::move(different), std::move(choice), {}, {}}).first->second;
}

// The first plan of the list runs before anything is known.
const LanePlan& LanePlans::plan_for(int64_t tokens) {
  const Choice& choice = choice_of(tokens);
  return plans_[choice.plans[choice.choice.plan()]];
}

void LanePlans::measured_rest(int64_t tokens, double seconds) {
  if (!is_open()) return;
  std::optional<double>& rest = choice_of(tokens).rest;
  const double each = std::max(0.0, seconds) / static_cast<double>(tokens);
  rest = rest ? *rest + kNewestOfPlans * (each - *rest) : each;
}

// Without a measured rest no plan is predicted to be the faster one.
std::vector<double> LanePlans::predictions(const Choice& choice, double rest_by_layers) const {
  std::vector<double> seconds(choice.plans.size(), std::numeric_limits<double>::infinity());
  if (!choice.rest || choice.experts.empty()) return seconds;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const size_t plan = choice.plans[i];
    seconds[i] = *choice.rest * (plans_[plan].by_layers ? rest_by_layers : 1) + choice.experts[plan];
  }
  return seconds;
}

void LanePlans::took(const Pass& pass) {
  if (!is_open() || (is_text_pass(pass.tokens) && pass.tokens != 1)) return;
  Choice& of = choice_of(pass.tokens);
  const size_t before = of.choice.plan();
  if (plans_[of.plans[before]].name != pass.plan) return;  // the pass was prepared before the choice
  const auto tokens = static_cast<double>(pass.tokens);
  if (of.experts.empty())
    for (const double sum : experts_) of.experts.push_back(sum / tokens);
  for (size_t p = 0; p < experts_.size(); ++p) of.experts[p] += kNewestOfPlans * (experts_[p] / tokens - of.experts[p]);
  of.choice.took({pass.seconds / tokens, pass.variant, pass.tries});
  of.choice.predict(predictions(of, pass.rest_by_layers));
  const size_t now = of.choice.plan();
  if (now == before) return;
  const auto milliseconds = [&](size_t plan) { return of.choice.offers()[plan].seconds() * tokens * 1e3; };
  spdlog::info("{} by {} after {}, whose passes took {:.3f} ms; the new plan {} {:.3f} ms",
               pass.tokens == 1 ? std::string("the text goes on")
                                : "prompts of about " + std::to_string(pass.tokens) + " tokens go on",
               plans_[of.plans[now]].name, pass.plan, milliseconds(before),
               of.choice.offers()[now].measured ? "took" : "is predicted to take", milliseconds(now));
}

std::vector<LanePlans::Row> LanePlans::rows(bool of_text) const {
  std::vector<Row> rows;
  if (!of_text && !latest_prompts_) return rows;
  const auto found = choices_.find(of_text ? 0 : *latest_prompts_);
  if (found == choices_.end()) return rows;
  for (size_t i = 0; i < found->second.plans.size(); ++i)
    rows.push_back({plans_[found->second.plans[i]].name, found->second.choice.offers()[i]});
  return rows;
}

}  // namespace tandem
