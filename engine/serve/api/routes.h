// The routes of the server, as one table: the server looks requests up in it, and its description is made of it.
//
// Contract: pure; threads: any. Texts live as long as the program.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tandem::serve {

enum class RouteId {
  page,
  health,
  metrics,
  timeline,
  description,
  models,
  model,
  completions,
  chat,
  responses,
  embeddings,
  tokenize,
  detokenize,
  apply_template
};

struct Route {
  RouteId id;
  const char* method;  // "GET"
  const char* path;    // "/v1/models/{name}": a name may stand at the end
  const char* purpose;
};

std::span<const Route> routes();
// Whether a request for `asked` means the path of a route.
bool is_path_of(const Route& route, std::string_view asked);

}  // namespace tandem::serve
