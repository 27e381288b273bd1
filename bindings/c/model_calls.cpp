// Models, their vocabulary, and reports.
#include "bindings/c/edge.h"
#include "bindings/reports.h"

using namespace tandem::bindings;

namespace tandem::bindings {
namespace {

// A list of names as the command line has it: "opencl:0,npu:0". A name that is empty is kept, and refused as
// unknown later.
std::vector<std::string> list_of(const char* commas) {
  std::vector<std::string> all;
  std::string_view rest = commas == nullptr ? "" : commas;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(','), rest.size());
    all.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return all;
}

std::string text_of(const char* text) { return text == nullptr ? "" : text; }

void give(std::span<const int32_t> all, int32_t** ids, size_t* count) {
  *ids = given(all);
  *count = all.size();
}

}  // namespace
}  // namespace tandem::bindings

int tandem_abi_version(void) { return TANDEM_ABI_VERSION; }
const char* tandem_version(void) { return TANDEM_VERSION; }

// The caller gives the size of its own structure, so a program that was compiled with an older header still works.
void tandem_load_options_init(tandem_load_options* options, size_t size) {
  tandem_load_options defaults{};
  defaults.parallel = 4;
  fill(options, size, defaults);
}

// Options are copied member by member, because their texts are pointers of the caller's that may be null.
tandem_status tandem_model_load(const char* path, const tandem_load_options* options, tandem_model** model) {
  return guarded([&] {
    require_pointer(path, "path");
    require_pointer(model, "model");
    const tandem_load_options asked = options_of(options, tandem_load_options_init);
    LoadOptions load;
    load.path = path;
    load.devices = list_of(asked.devices);
    load.plan = text_of(asked.plan);
    load.act = text_of(asked.act);
    load.cache_type = text_of(asked.cache_type);
    load.context = asked.context;
    load.parallel = asked.parallel;
    load.logit_rows = asked.logit_rows;
    load.threads = asked.threads;
    load.expert_budget = text_of(asked.expert_budget);
    load.host_budget = text_of(asked.host_budget);
    load.expert_policy = text_of(asked.expert_policy);
    load.packed = text_of(asked.packed);
    load.expert_copies = asked.expert_copies != 0;
    load.draft_model = text_of(asked.draft_model);
    load.history = text_of(asked.history);
    load.chunk = asked.chunk;
    *model = reinterpret_cast<tandem_model*>(models().add(TextModel::load(load)));
  });
}

// The handle ends at once, and close() ends the model's texts. A call that still runs in another thread shares the
// object until it returns.
tandem_status tandem_model_free(tandem_model* model) {
  return guarded([&] {
    require_no_callback();
    model_of(model)->require_here();
    models().remove(reinterpret_cast<uintptr_t>(model))->close();
  });
}

tandem_status tandem_model_vocabulary(tandem_model* model, int64_t* tokens) {
  return guarded([&] {
    require_pointer(tokens, "tokens");
    *tokens = model_of(model)->vocabulary();
  });
}

tandem_status tandem_model_context(tandem_model* model, int64_t* tokens) {
  return guarded([&] {
    require_pointer(tokens, "tokens");
    *tokens = model_of(model)->context();
  });
}

// The length of the text counts, so it may contain null bytes. An empty text needs no address.
tandem_status tandem_tokenize(tandem_model* model, const char* text, size_t bytes, int with_start, int special,
                              int32_t** ids, size_t* count) {
  return guarded([&] {
    require_pointer(ids, "ids");
    require_pointer(count, "count");
    if (bytes > 0) require_pointer(text, "text");
    give(model_of(model)->ids({bytes > 0 ? text : "", bytes}, with_start != 0, special != 0), ids, count);
  });
}

// Tokens can be parts of a character, so the text need not be valid UTF-8. So the caller gets its length too.
tandem_status tandem_detokenize(tandem_model* model, const int32_t* ids, size_t count, int special, char** text,
                                size_t* bytes) {
  return guarded([&] {
    require_pointer(text, "text");
    require_pointer(bytes, "bytes");
    const std::string decoded = model_of(model)->text(ids_of(ids, count), special != 0);
    *text = given(decoded);
    *bytes = decoded.size();
  });
}

// Callers in C give the stops of a chat by an option of the text, so the list of stops is not asked for here.
tandem_status tandem_chat_prompt(tandem_model* model, const char* messages, int32_t** ids, size_t* count) {
  return guarded([&] {
    require_pointer(messages, "messages");
    require_pointer(ids, "ids");
    require_pointer(count, "count");
    give(model_of(model)->chat_prompt(messages, nullptr), ids, count);
  });
}

tandem_status tandem_devices_json(char** json) {
  return guarded([&] {
    require_pointer(json, "json");
    *json = given(devices_json());
  });
}

tandem_status tandem_model_json(tandem_model* model, char** json) {
  return guarded([&] {
    require_pointer(json, "json");
    *json = given(model_json(*model_of(model)));
  });
}

// Reports are JSON texts rather than structures. New members can then be added without a new version of the interface.
tandem_status tandem_plan_json(tandem_model* model, int64_t prompt_tokens, char** json) {
  return guarded([&] {
    require_pointer(json, "json");
    *json = given(plans_json(*model_of(model), prompt_tokens));
  });
}

tandem_status tandem_trace_start(tandem_model* model) {
  return guarded([&] { model_of(model)->start_trace(); });
}

tandem_status tandem_trace_stop(tandem_model* model, char** json) {
  return guarded([&] {
    require_pointer(json, "json");
    *json = given(model_of(model)->stop_trace().trace_json());
  });
}
