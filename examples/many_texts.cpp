// Many texts share passes: each pass reads the model's weights once for all of them.
//   many_texts MODEL.gguf "Once upon a time" "The sea" ...
#include <tandem/generate.h>

#include <iostream>

int main(int count, char** argv) {
  tandem::EngineOptions options;
  options.model_path = argv[1];
  options.sequences = 8;
  const auto engine = tandem::Engine::open(options);
  tandem::Batcher batcher(*engine, 8);
  for (int i = 2; i < count; ++i)
    batcher.add(
        engine->model().tokenizer().encode(argv[i], {}), {.predict = 16},
        [text = std::string(argv[i])](auto result) { std::cout << text << ":" << result.generation.text << "\n"; });
  while (batcher.step()) {
  }
}
