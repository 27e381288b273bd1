/* Two threads of a program write a text each, on one model. The texts share passes of the devices.
 *   two_threads MODEL.gguf "Once upon a time" "The sea"
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tandem/tandem.h>

static tandem_model *model;

static void *write_text(void *prompt) {
  tandem_generation text = {0};
  tandem_generate_options options;
  int32_t *ids = NULL;
  size_t tokens;
  text.size = sizeof text;
  tandem_generate_options_init(&options, sizeof options);
  options.predict = 16;
  if (tandem_tokenize(model, prompt, strlen(prompt), 1, 1, &ids, &tokens) != TANDEM_OK ||
      tandem_generate(model, ids, tokens, &options, NULL, NULL, &text) != TANDEM_OK)
    fprintf(stderr, "%s\n", tandem_last_error()); /* of this thread */
  tandem_free(ids);
  tandem_free(text.ids);
  return text.text;
}

int main(int count, char **argv) {
  pthread_t threads[2];
  if (count != 4) return fprintf(stderr, "two_threads MODEL.gguf TEXT TEXT\n"), 2;
  if (tandem_model_load(argv[1], NULL, &model) != TANDEM_OK) return fprintf(stderr, "%s\n", tandem_last_error()), 1;
  for (int i = 0; i < 2; ++i) pthread_create(&threads[i], NULL, write_text, argv[2 + i]);
  for (int i = 0; i < 2; ++i) {
    void *text;
    pthread_join(threads[i], &text);
    printf("%s\n", text ? (char *)text : "");
    tandem_free(text);
  }
  return tandem_model_free(model);
}
