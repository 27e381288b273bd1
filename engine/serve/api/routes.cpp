// Paths as clients of OpenAI and of llama.cpp ask for them. Some routes have two paths, with and without "/v1".
#include "engine/serve/api/routes.h"

namespace tandem::serve {

// Order matters only for paths with a name at the end, which stand behind those without.
std::span<const Route> routes() {
  static constexpr Route table[] = {
      {RouteId::page, "GET", "/", "The page: a chat, and beside it what the devices do."},
      {RouteId::health, "GET", "/health", "Whether the model is there."},
      {RouteId::health, "GET", "/v1/health", "Whether the model is there."},
      {RouteId::metrics, "GET", "/metrics", "Counters in Prometheus' text form."},
      {RouteId::description, "GET", "/openapi.json", "This description."},
      {RouteId::timeline, "GET", "/tandem/timeline", "Passes while they run, as server-sent events."},
      {RouteId::models, "GET", "/v1/models", "The model with its aliases."},
      {RouteId::models, "GET", "/models", "The model with its aliases."},
      {RouteId::model, "GET", "/v1/models/{name}", "The model, by one of its names."},
      {RouteId::completions, "POST", "/v1/completions", "Texts that continue prompts."},
      {RouteId::completions, "POST", "/completions", "Texts that continue prompts."},
      {RouteId::chat, "POST", "/v1/chat/completions", "The next turn of a conversation."},
      {RouteId::chat, "POST", "/chat/completions", "The next turn of a conversation."},
      {RouteId::responses, "POST", "/v1/responses", "The next turn of a conversation, without state."},
      {RouteId::responses, "POST", "/responses", "The next turn of a conversation, without state."},
      {RouteId::embeddings, "POST", "/v1/embeddings", "Vectors of texts."},
      {RouteId::tokenize, "POST", "/tokenize", "A text as token ids."},
      {RouteId::detokenize, "POST", "/detokenize", "Token ids as a text."},
      {RouteId::apply_template, "POST", "/apply-template", "A conversation as the chat template renders it."},
  };
  return table;
}

// A path that ends with a name matches by its beginning, and the name may contain any character.
bool is_path_of(const Route& route, std::string_view asked) {
  const std::string_view path = route.path;
  const size_t name = path.find('{');
  return name == std::string_view::npos ? asked == path : asked.starts_with(path.substr(0, name));
}

}  // namespace tandem::serve
