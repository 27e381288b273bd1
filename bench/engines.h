// What the bench programs that time whole engines share: the model, its tokens, one pass, and the check that comes
// before any timing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/run/engine.h"

namespace tandem::bench {

std::string default_model();  // TANDEM_MODEL, else the one that `./dev run` fetched
void require_model(const std::string& path);
std::vector<int32_t> some_ids(int64_t vocabulary, int64_t count);

double time_prompt(Engine& engine, std::span<const int32_t> ids);  // seconds, from an empty context
// Seconds of a token behind the first `context` ids: the mean of the ids after them, one at a time.
double time_decode(Engine& engine, std::span<const int32_t> ids, int64_t context);

// Error unless all engines give the same bits after these ids and one token more.
void verify_equal(std::span<const std::unique_ptr<Engine>> engines, std::span<const int32_t> ids);

}  // namespace tandem::bench
