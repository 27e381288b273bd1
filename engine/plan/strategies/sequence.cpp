// H3 with whole layers: a prompt is cut in two along its tokens, and each part goes through all layers on processors of
// its own. The first tokens go to the NPU, and the host core beside it runs what the array does not run. The other
// tokens go to the GPU. The NPU multiplies its tokens in pre-compiled sizes, one after another. Activations stay where
// they were made; only the cache's keys and values are handed over. When the NPU has ended its own tokens, it helps:
// the remaining matmuls of the GPU are cut by rows (H2).
//
// Batches of fewer than 16 tokens go as in `tensor`. So do the operators behind the last layer that run for fewer
// tokens than the batch has. Needs a GPU, an NPU, the host and request.costs.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "engine/plan/partition/balance.h"
#include "engine/plan/placer.h"
#include "engine/plan/strategy.h"
#include "sync/error.h"

namespace tandem::plans {
namespace {

struct Processors {
  int gpu = 0, npu = 0, host = 0;
};

// The device that runs an operator of the first tokens: the NPU if it multiplies exactly, else the host beside it.
int second_for(const Placer& placer, const Processors& on, const Operator& op) {
  return placer.multiplies_exactly(on.npu, op) ? on.npu : on.host;
}

// Predicted times on both sides (the GPU; the NPU and the host), and the share of an operator that the NPU can take.
class Balance {
 public:
  Balance(const PlanRequest& request, const Placer& placer, const Processors& on)
      : request_(request), placer_(placer), on_(on) {}

  double on_gpu(const Operator& op) const { return request_.costs.seconds(on_.gpu, op, true); }
  double beside(const Operator& op) const {
    return placer_.seconds_on(second_for(placer_, on_, op), op, Padding::allowed);
  }
  // The NPU's share of a matmul's rows with which both sides end together; 0 if the NPU cannot help.
  double share_of_npu(const Operator& op) const {
    if (!placer_.multiplies_exactly(on_.npu, op)) return 0;
    const double gpu = on_gpu(op), npu = placer_.seconds_on(on_.npu, op, Padding::allowed);
    return std::isfinite(npu) ? gpu / (gpu + npu) : 0;
  }

 private:
  const PlanRequest& request_;
  const Placer& placer_;
  const Processors& on_;
};

// The number of tokens for the NPU and the host, by the time for each token when either side has about half of the
// batch. 0: the NPU has no graphs for its half.
int64_t tokens_of_second(const PlanRequest& request, const Balance& balance, const Processors& on,
                         std::span<const Operator> whole, int64_t S) {
  const int64_t half = S / 2 / kTokenBlock * kTokenBlock;
  double first = 0, second = 0;
  for (const Operator& op : whole) {
    first += balance.on_gpu(slice_tokens(op, half, S));
    second += balance.beside(slice_tokens(op, 0, half));
  }
  if (!std::isfinite(second)) return 0;
  // `half` is rounded down to whole blocks, so the GPU's part may be longer.
  return balanced_tokens(S, first / static_cast<double>(S - half), second / static_cast<double>(half),
                         token_limits(request.devices[on.npu], S));
}

// A batch that is cut at one token.
struct CutBatch {
  std::vector<Operator> first_tokens, other_tokens;  // by operator; no first tokens: everything stays on the GPU
  size_t shared = 0;  // the first operator of the other tokens that the NPU is free to help with
};

CutBatch cut_batch(std::span<const Operator> whole, int64_t cut, const Balance& balance) {
  CutBatch batch;
  std::vector<double> seconds_of_gpu;
  double seconds_beside = 0;
  for (const Operator& op : whole) {
    batch.other_tokens.push_back(slice_tokens(op, cut, tokens_of(op)));
    seconds_of_gpu.push_back(balance.on_gpu(batch.other_tokens.back()));
    if (cut == 0) continue;
    batch.first_tokens.push_back(slice_tokens(op, 0, cut));
    seconds_beside += balance.beside(batch.first_tokens.back());
  }
  batch.shared = first_shared(seconds_of_gpu, seconds_beside);
  return batch;
}

// Places operators in the order of the computation, except that the NPU ends its own tokens before it helps.
void place_batch(Placer& placer, const CutBatch& batch, const Processors& on, const Balance& balance) {
  const auto place_first = [&](size_t i) {
    const int second = second_for(placer, on, batch.first_tokens[i]);
    for (const Operator& graph : placer.graphs_on(second, batch.first_tokens[i], Padding::forbidden))
      placer.place(graph, second, on.host);
  };
  for (size_t i = 0; i < batch.shared; ++i) {
    if (i < batch.first_tokens.size()) place_first(i);
    placer.place_quietly(batch.other_tokens[i], on.gpu);
  }
  for (size_t i = batch.shared; i < batch.first_tokens.size(); ++i) place_first(i);
  for (size_t i = batch.shared; i < batch.other_tokens.size(); ++i) {
    const double share = balance.share_of_npu(batch.other_tokens[i]);
    if (share > 0) {
      placer.place_cut(batch.other_tokens[i], std::array{on.gpu, on.npu}, {1 - share, share});
    } else {
      placer.place_quietly(batch.other_tokens[i], on.gpu);
    }
  }
}

Plan make_sequence(const PlanRequest& request) {
  const Processors on{require_device(request, DeviceRole::general, "a GPU", "sequence"),
                      require_device(request, DeviceRole::graphs, "an NPU", "sequence"),
                      require_device(request, DeviceRole::helper, "the host beside the NPU", "sequence")};
  if (!request.devices[on.gpu].zero_copy) {
    throw Error("the plan needs a GPU that sees the host's memory: both sides write to one cache", "sequence",
                request.devices[on.gpu].id + " works on copies; use staggered or tensor");
  }
  Placer placer(request);
  const std::span<const Operator> whole = whole_batch(request.operators);
  if (!whole.empty()) {
    TANDEM_CHECK(bool(request.costs), "the plan sequence weighs operators by their predicted seconds");
    const Balance balance(request, placer, on);
    const int64_t S = tokens_of(whole.front()), cut = tokens_of_second(request, balance, on, whole, S);
    place_batch(placer, cut_batch(whole, cut, balance), on, balance);
  }
  // These operators run for fewer tokens than the batch has, so the cut of the batch does not fit them.
  placer.place_as_tensor(request.operators.subspan(whole.size()), true);
  return placer.finish("sequence");
}

}  // namespace

extern const Strategy sequence;
const Strategy sequence{
    .name = "sequence",
    .explains =
        "H3 with whole layers: a prompt's first tokens on the NPU and the host core beside it, the rest on the GPU; "
        "single tokens as tensor",
    .make = make_sequence,
    .cuts_rows = true,
    .weighs = true,
    .weighs_attention = true,
    .tried_by_auto = true,
    .auto_needs = {.gpu = true, .npu = true, .host_beside = true, .one_memory = true},
};

}  // namespace tandem::plans
