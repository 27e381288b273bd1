// Two texts share a history: the second one drafts from what the first one wrote.
//   shared_history MODEL.gguf "Once upon a time" "Once upon a time"
#include <tandem/generate.h>

#include <iostream>

int main(int, char** argv) {
  tandem::EngineOptions options;
  options.model_path = argv[1];
  options.drafts = true;
  options.logit_rows = 16;  // a pass has up to 15 drafts behind the newest token
  const auto engine = tandem::Engine::open(options);
  tandem::GenerateOptions generation{.predict = 16};
  generation.spec.mode = tandem::SpecMode::sam;  // drafts whenever something matches; automatic: only where it pays
  generation.spec.history = std::make_shared<tandem::TextHistory>();
  generation.spec.history_of_prompts = true;
  for (const char* prompt : {argv[2], argv[3]}) {
    const auto text = tandem::generate(*engine, engine->model().tokenizer().encode(prompt, {}), generation);
    std::cout << text.text << "\n" << text.drafts.accepted << " drafts accepted\n";
  }
}
