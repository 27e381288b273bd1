// YF12 to YF17: hits of LRU and MRS. Absolute values are of drawn routing, whose correlation the printed hits of LRU
// fix. Signs and the trend are of recorded routing of another model (--trace), by both lookups.
#include "bench/paper_hybrimoe/printed.h"
#include "bench/paper_hybrimoe/row.h"

namespace tandem::paper_hybrimoe {
namespace {

constexpr double kPoints = 100;

// LRU's printed hits fix rho at 25 %, so MRS at 25 % and both at 75 % are what is left to judge.
void add_drawn(std::vector<Row>& rows, const CacheHits& printed, int percent, Use use_of_lru) {
  const std::string what = std::string(size_of(printed.model).name) + ", " + std::to_string(percent) + " %, ";
  const auto hits = [model = printed.model, percent](CacheRule rule) {
    return [model, percent, rule](Lab& lab) { return kPoints * lab.hits(model, percent, rule); };
  };
  const double lru = kPoints * printed.lru, mrs = kPoints * printed.mrs;
  rows.push_back({printed.id, what + "LRU", "%", lru, lru, use_of_lru, Kind::absolute, hits(CacheRule::lru),
                  use_of_lru == Use::calibration ? "fixes rho; sigma is that of FLAME" : "drawn routing"});
  rows.push_back(
      {printed.id, what + "MRS", "%", mrs, mrs, Use::held_out, Kind::absolute, hits(CacheRule::mrs), "drawn routing"});
}

// The gain of MRS over LRU in percentage points, on recorded routing.
double gain_points(Lab& lab, int percent, bool together) {
  const ExpertLookup lookup = together ? ExpertLookup::together : ExpertLookup::single;
  return kPoints *
         (trace_hits(*lab.trace(), percent, "mrs", lookup) - trace_hits(*lab.trace(), percent, "lru", lookup));
}

// The trace is of another model, so its values are not judged. Its sign and its trend are.
void add_traced(std::vector<Row>& rows) {
  for (const bool together : {false, true}) {
    const std::string lookup = together ? ", together" : ", single";
    for (const int percent : kCachePercents)
      rows.push_back({"YF16", "MRS over LRU on the trace, " + std::to_string(percent) + " %" + lookup, "points", 6, 8,
                      Use::derived, Kind::absolute,
                      [percent, together](Lab& lab) { return gain_points(lab, percent, together); },
                      percent == 25 ? "another model than the paper's" : "printed of 25 % alone"});
    rows.push_back({"YF16", "sign of MRS over LRU on the trace, 25 %" + lookup, "", 1, 1,
                    together ? Use::derived : Use::held_out, Kind::exact,
                    [together](Lab& lab) { return gain_points(lab, 25, together) > 0 ? 1.0 : 0.0; },
                    together ? "the paper does not say which lookup" : ""});
    rows.push_back({"YF17", "the gain shrinks from 25 to 50 to 75 % on the trace" + lookup, "", 1, 1,
                    together ? Use::derived : Use::held_out, Kind::exact,
                    [together](Lab& lab) {
                      const double quarter = gain_points(lab, 25, together), half = gain_points(lab, 50, together);
                      return quarter > half && half > gain_points(lab, 75, together) ? 1.0 : 0.0;
                    },
                    together ? "the paper does not say which lookup" : ""});
  }
}

}  // namespace

// Without a trace, the rows that need one say so and are not judged.
void add_cache_rows(std::vector<Row>& rows, bool has_trace) {
  for (const CacheHits& printed : kHitsAtQuarter) add_drawn(rows, printed, 25, Use::calibration);
  add_drawn(rows, kHitsAtThreeQuarters, 75, Use::held_out);
  for (const CacheHits& printed : kHitsAtQuarter)
    rows.push_back({"YF16", std::string("MRS over LRU, ") + size_of(printed.model).name + ", drawn", "points", 6, 8,
                    Use::conflict, Kind::absolute,
                    [model = printed.model](Lab& lab) {
                      return kPoints * (lab.hits(model, 25, CacheRule::mrs) - lab.hits(model, 25, CacheRule::lru));
                    },
                    "YF13 prints 5.0 points, outside 6 to 8"});
  if (has_trace) {
    add_traced(rows);
  } else {
    rows.push_back(
        Row::not_predicted("YF16", "MRS over LRU on a trace", "", 0, 0, "give --trace FILE, recorded routing"));
    rows.push_back(
        Row::not_predicted("YF17", "the gain shrinks with capacity, on a trace", "", 0, 0, "give --trace FILE"));
  }
}

}  // namespace tandem::paper_hybrimoe
