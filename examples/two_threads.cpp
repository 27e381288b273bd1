// Two threads of a program write a text each, on one model.

//   two_threads MODEL.gguf "Once upon a time" "The sea"
#include <tandem/generate.h>

#include <iostream>
#include <thread>

int main(int, char** argv) {
  tandem::EngineOptions options;
  options.model_path = argv[1];
  options.sequences = 2;
  const auto engine = tandem::Engine::open(options);
  tandem::TextService service(*engine, 2);
  std::string texts[2];
  const auto write = [&](int i) {
    texts[i] = service.write(engine->model().tokenizer().encode(argv[2 + i], {}), {.predict = 16}).get().text;
  };
  std::thread other(write, 1);
  write(0);
  other.join();
  std::cout << texts[0] << "\n" << texts[1] << "\n";
}
