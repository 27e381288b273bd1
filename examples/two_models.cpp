// Two models on one machine share its devices and memory.
//   two_models FIRST.gguf SECOND.gguf "Once upon a time"
#include <tandem/generate.h>

#include <iostream>

int main(int, char** argv) {
  const auto machine = tandem::make_machine({});
  const auto load = [&](const char* path) {
    tandem::ModelOptions model;
    model.model_path = path;
    return std::make_unique<tandem::Engine>(std::make_shared<tandem::LoadedModel>(machine, model),
                                            tandem::TextOptions{});
  };
  const auto first = load(argv[1]), second = load(argv[2]);
  for (tandem::Engine* engine : {first.get(), second.get()})
    std::cout << tandem::generate(*engine, engine->model().tokenizer().encode(argv[3], {}), {.predict = 16}).text
              << "\n";
}
