// Sequences without a batcher: two texts in one pass, with a common beginning.
//   sequences MODEL.gguf
#include <tandem/engine.h>

#include <iostream>
#include <vector>

int main(int, char** argv) {
  tandem::EngineOptions options;
  options.model_path = argv[1];
  options.sequences = 2;
  const auto engine = tandem::Engine::open(options);
  const std::vector<int32_t> ids = engine->model().tokenizer().encode("Once upon a time there was a", {});
  tandem::Sequence text = engine->cache().new_sequence();
  tandem::extend(*engine, text, ids);
  tandem::Sequence other = engine->cache().fork(text, text.position() - 1);  // shares the common positions
  const std::vector<int32_t> dog = engine->model().tokenizer().encode(" dog", {.add_bos_eos = false});
  const auto logits = engine->extend(std::vector<tandem::Extension>{{&text, dog}, {&other, dog}});
  std::cout << logits.size() / static_cast<size_t>(engine->model().vocabulary()) << " texts have logits\n";
}
