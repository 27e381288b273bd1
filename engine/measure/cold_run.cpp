#include "engine/measure/cold_run.h"

#include <algorithm>
#include <utility>

#include "engine/measure/profile_grid.h"

namespace tandem {
namespace {

// Larger than any last-level cache. Reading so many bytes takes some ten milliseconds.
constexpr double kMostBytes = 256e6;

}  // namespace

// The time from the device's first work to the end of its last, so gaps between operators count too.
double seconds_on(const Timeline& timeline, const std::string& device) {
  double begin = 0, end = 0;
  for (const Span& span : timeline.spans()) {
    if (span.device != device || span.modelled || span.kind == SpanKind::wait) continue;
    // `end` is 0 until the first span.
    begin = end == 0 ? span.start_seconds : std::min(begin, span.start_seconds);
    end = std::max(end, span.end_seconds);
  }
  return end - begin;
}

// Matmuls with weights of another shape than `except`, each for one token, up to kMostBytes. Reading them drives the
// weights of the timed operators out of the caches.
std::vector<Operator> rest_of_pass(const Device& device, std::span<const Operator> pass, const MatMul* except) {
  std::vector<Operator> rest;
  double bytes = 0;
  for (const Operator& op : pass) {
    const auto* matmul = std::get_if<MatMul>(&op.body);
    if (!matmul || bytes > kMostBytes || (except && has_weights_like(*matmul, *except))) continue;
    Operator one = op;
    std::get<MatMul>(one.body).S = 1;
    if (!device.supports(one).yes) continue;
    bytes += weight_bytes(point_of(std::get<MatMul>(one.body)));
    rest.push_back(std::move(one));
  }
  return rest;
}

ColdRun::ColdRun(Executor& executor, Device& device, std::vector<Operator> rest)
    : executor_(executor), device_(device) {
  if (!rest.empty()) rest_ = executor.prepare({"measure", {device.info().id}, {{0, std::move(rest), {}, true}}, {}});
}

// The rest of the pass runs first, so the timed operators find their weights in memory. The time is that of the
// device's own spans, or of the whole run if it records none.
double ColdRun::seconds(PreparedPlan& timed) {
  if (rest_) executor_.run(*rest_);
  Timeline timeline;
  Timeline* const before = executor_.record(&timeline);
  const double whole = executor_.run(timed);
  executor_.record(before);
  const double own = seconds_on(timeline, device_.info().id);
  return own > 0 ? own : whole;
}

}  // namespace tandem
