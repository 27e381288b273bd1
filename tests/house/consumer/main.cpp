#include <tandem/model.h>

#include <cstdio>

int main() {
  for (const std::string& id : tandem::available_devices()) std::printf("device %s\n", id.c_str());
  try {
    tandem::ModelOptions options;
    options.model_path = "no_such_model.gguf";
    tandem::LoadedModel model(tandem::make_machine({}), options);
  } catch (const std::exception& error) {
    std::printf("%s\n", error.what());
  }
}
