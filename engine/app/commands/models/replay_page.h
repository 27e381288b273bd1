// The page of `tandem replay-moe --html`: one file without network, for light and dark screens and for phones.
//
// Contract: pure, but for the replays that its curves need. Hit rates are counted on the trace. Speeds are modelled,
// and the page says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/app/commands/models/replay_lanes.h"
#include "engine/app/commands/models/replay_moe.h"
#include "engine/moe/card_speed.h"

namespace tandem::app {

struct ReplayPage {
  const ReplayTrace& trace;
  const std::vector<ReplayRow>& rows;  // the budgets that were asked for
  std::vector<const PolicyKind*> policies;
  ReplaySettings settings;  // of the curves
  std::optional<ExpertBytes> model{};
  std::string model_name{}, weights{};
  std::vector<Card> cards{};
  LaneSettings lanes{};          // without a policy no schedules are drawn
  std::string costs_of_lanes{};  // whose costs those are, in words
};

std::string replay_page(const ReplayPage& page);

// Sentences on a card with the model: speeds at some sizes of memory, and the knee.
std::string knee_sentence(const Card& card, const std::vector<SpeedPoint>& points);

}  // namespace tandem::app
