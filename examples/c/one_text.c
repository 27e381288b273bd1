/* One text: continues a prompt, and shows it as it comes.
 *   one_text MODEL.gguf "Once upon a time"
 */
#include <stdio.h>
#include <string.h>
#include <tandem/tandem.h>

static int show(void *user, const tandem_piece *piece) {
  (void)user;
  return fwrite(piece->text, 1, piece->bytes, stdout) != piece->bytes;
}

static int failed(void) { return fprintf(stderr, "%s\n", tandem_last_error()), 1; }

int main(int count, char **argv) {
  tandem_model *model;
  tandem_generate_options options;
  int32_t *ids;
  size_t tokens;
  if (count != 3) return fprintf(stderr, "one_text MODEL.gguf TEXT\n"), 2;
  if (tandem_model_load(argv[1], NULL, &model) != TANDEM_OK) return failed();
  if (tandem_tokenize(model, argv[2], strlen(argv[2]), 1, 1, &ids, &tokens) != TANDEM_OK) return failed();
  tandem_generate_options_init(&options, sizeof options);
  options.predict = 16;
  if (tandem_generate(model, ids, tokens, &options, show, NULL, NULL) != TANDEM_OK) return failed();
  tandem_free(ids);
  return tandem_model_free(model);
}
