// One text: continues a prompt.
//   one_text MODEL.gguf "Once upon a time"
#include <tandem/generate.h>

#include <iostream>

int main(int, char** argv) {
  tandem::EngineOptions options;
  options.model_path = argv[1];
  const auto engine = tandem::Engine::open(options);
  std::cout << tandem::generate(*engine, engine->model().tokenizer().encode(argv[2], {}), {.predict = 16}).text << "\n";
}
