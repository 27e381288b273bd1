#include "tests/fuzz/targets.h"

namespace tandem::fuzz {

std::span<const Target> targets() {
  static constexpr Target kTargets[] = {{"soc_profile", soc_profile},
                                        {"npu_params", npu_params},
                                        {"measurements", measurements},
                                        {"model_shape", model_shape},
                                        {"calibration", calibration},
                                        {"routing_trace", routing_trace},
                                        {"recorded_routing", recorded_routing},
                                        {"history", history},
                                        {"history_index", history_index},
                                        {"json_schema", json_schema},
                                        {"grammar", grammar},
                                        {"request_body", request_body},
#ifdef TANDEM_HAS_SERVER
                                        {"http_request", http_request},
#endif
                                        {"reply_text", reply_text}};
  return kTargets;
}

}  // namespace tandem::fuzz
