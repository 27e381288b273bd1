// Sequences without a batcher: two texts in one pass, with a common beginning.
//   sequences MODEL.gguf
#include <iostream>
#include <vector>

#include "engine/run/engine.h"

int main(int, char** argv) {
  tandem::EngineOptions options;
  options.model_path = argv[1];
  options.sequences = 2;
  const auto engine = tandem::Engine::open(options);
  const std::vector<int32_t> ids = engine->tokenizer().encode("Once upon a time there was a", {});
  tandem::Sequence text = engine->new_sequence();
  engine->extend(std::vector<tandem::Engine::Extension>{{&text, ids, 0}});
  tandem::Sequence other = engine->fork(text, text.position() - 1);  // shares the common positions
  const std::vector<int32_t> dog = engine->tokenizer().encode(" dog", {.add_bos_eos = false});
  const auto logits = engine->extend(std::vector<tandem::Engine::Extension>{{&text, dog}, {&other, dog}});
  std::cout << logits.size() / static_cast<size_t>(engine->config().vocabulary) << " texts have logits\n";
}
