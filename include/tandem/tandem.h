/* Tandem's interface for C: a model, its texts, and what the devices do for them (docs/c_api.md).
 *
 * Contract
 *   Status: a function that can fail returns a tandem_status. Everything but TANDEM_OK leaves the outputs as they were,
 *     and tandem_last_error() of the same thread has the sentence. No C++ exception leaves a function, and none of them
 *     calls exit() or abort().
 *   Handles: models, sequences and cancels are handles. The library gives each number once, and
 *     no program may dereference one. A handle that is null, was freed, or is of another kind is TANDEM_USAGE.
 *   Memory: what a function hands out as a pointer to memory belongs to the caller, who frees it with tandem_free(),
 *     except where the function says something else. Inputs are borrowed for the call.
 *   Threads: any thread may call any function with any handle. Texts of several threads share passes of the devices.
 *     A handle may be freed while another thread uses it: that call ends as if it had not been.
 *   Callbacks run on a thread of the library. A call of the library out of a callback is TANDEM_USAGE.
 *   Processes: handles are of no use in a child of fork() (TANDEM_USAGE).
 *   Texts are UTF-8. Token ids are int32_t. Logits are float32, [tokens, vocabulary], row by row.
 *   Log lines are warnings on standard error; the variable TANDEM_LOG asks for more, or for none ("off"). A misspelt
 *     level in it is TANDEM_USAGE of tandem_model_load().
 */
#ifndef TANDEM_TANDEM_H_
#define TANDEM_TANDEM_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Grows when a function or a member of an option structure is added. The library's number is at least the header's;
 * a smaller one means an older library under a newer header. */
#define TANDEM_ABI_VERSION 4
int tandem_abi_version(void);
const char* tandem_version(void); /* "0.1.0"; lives as long as the library */

typedef enum tandem_status {
  TANDEM_OK = 0,
  TANDEM_FAILED = 1,     /* the work failed, for none of the reasons below */
  TANDEM_USAGE = 2,      /* a wrong argument, a handle that was freed, a wrong order of calls */
  TANDEM_FILE = 3,       /* a file cannot be read or written, is no model, or is damaged */
  TANDEM_DEVICE = 4,     /* a device is unknown, missing, or cannot be opened */
  TANDEM_CONTEXT = 5,    /* tokens do not fit the context */
  TANDEM_NO_MEMORY = 6,  /* too little memory */
  TANDEM_INTERRUPTED = 7 /* a cancel ended the work, and nothing has failed */
} tandem_status;

/* The last failure of this thread: one paragraph, and its three parts. Empty texts: nothing has failed yet. They live
 * until the thread's next failure. */
const char* tandem_last_error(void);
const char* tandem_last_error_what(void); /* "cannot open the model file" */
const char* tandem_last_error_on(void);   /* "model.gguf" */
const char* tandem_last_error_hint(void); /* what to do next; may be empty */

void tandem_free(void* memory); /* null: nothing */

/* ---- models ---- */

typedef struct tandem_model tandem_model;
typedef struct tandem_sequence tandem_sequence;
typedef struct tandem_cancel tandem_cancel;

/* Fill option structures with their tandem_..._init() first, and change members then. `size` is the caller's
 * sizeof, so that later versions can add members. A size that ends within a member is TANDEM_USAGE. */
typedef struct tandem_load_options {
  size_t size;
  const char* devices;    /* "opencl:0,npu:0"; null or empty: those that the plan needs */
  const char* plan;       /* a name of `tandem run --plan list`; null: "auto" */
  const char* act;        /* "f32", "f16", "i8"; "auto": i8 if all weights are integers; null or "exact": f16 if the
                             plan may use the NPU, else f32 */
  const char* cache_type; /* of keys and values: "f16", "f32"; null: f16 */
  int64_t context;        /* most tokens of a text; 0: as trained, but not above 4096 */
  int64_t parallel;       /* texts that share a pass, 1 to 128; 4 */
  int64_t logit_rows;     /* tokens of a pass that get logits; 0: what fits into 64 MiB, at most 256 */
  int threads;            /* cores to use; 0: all */
  /* Memory for a model's experts; the others are read from the packed file (docs/large_models.md). "auto", "25%",
   * "512MiB", "2GiB"; null: "auto". A host_budget without a unit counts GiB. */
  const char* expert_budget;
  const char* host_budget;
  const char* expert_policy; /* with expert_copies: which expert leaves a slot, "auto", "mrs", "lru", "lfu", "ema" or
                                "static"; null: "auto" */
  const char* packed;        /* a file of `tandem pack` for this model; null: the one in the user's cache */
  int expert_copies;         /* not 0: experts are copied into slots of the GPU, which expert_budget counts */
  /* Sources of drafts (docs/sdnpu.md). No draft changes a text, unless `spec` asks for drafts by name where
   * `bits_depend_on_passes` of tandem_model_json() is true. A warning says so then. */
  const char* draft_model; /* a smaller model of the same vocabulary; null: none */
  const char* history;     /* a file of earlier texts, which gets this model's texts too; null: none */
  int64_t chunk;           /* most tokens of a pass; 0: the default */
} tandem_load_options;
void tandem_load_options_init(tandem_load_options* options, size_t size);

/* Opens the devices and loads the model. options: null for the defaults. */
tandem_status tandem_model_load(const char* path, const tandem_load_options* options, tandem_model** model);
/* Ends the model's texts (stop reason "interrupted") and frees it. Its sequences stay handles, of no use but to be
 * freed. */
tandem_status tandem_model_free(tandem_model* model);
tandem_status tandem_model_vocabulary(tandem_model* model, int64_t* tokens);
tandem_status tandem_model_context(tandem_model* model, int64_t* tokens);

/* ---- texts and ids ---- */

/* Ids of a text of so many bytes. with_start: the start token comes first if the model wants it. special: special
 * tokens in the text become their ids; 0: they are plain text. */
tandem_status tandem_tokenize(tandem_model* model, const char* text, size_t bytes, int with_start, int special,
                              int32_t** ids, size_t* count);
/* The bytes of a text, followed by a null byte that is not counted. special: special tokens show. */
tandem_status tandem_detokenize(tandem_model* model, const int32_t* ids, size_t count, int special, char** text,
                                size_t* bytes);
/* The prompt of a conversation by the model's chat template. messages: a JSON list of {"role", "content"}, or an object
 * with "messages" and "tools". */
tandem_status tandem_chat_prompt(tandem_model* model, const char* messages, int32_t** ids, size_t* count);

/* ---- writing ---- */

/* Ends work of another thread. One cancel may serve several calls; a set cancel stays set. */
tandem_status tandem_cancel_new(tandem_cancel** cancel);
tandem_status tandem_cancel_set(tandem_cancel* cancel); /* may be called from a signal's thread, not from a handler */
tandem_status tandem_cancel_free(tandem_cancel* cancel);

/* A piece of a text. Text comes in whole characters. A token whose text is not complete comes with the next one's. */
typedef struct tandem_piece {
  size_t size;      /* of this structure */
  int32_t id;       /* the newest token; -1: text that was held back, at the end */
  float logprob;    /* of this token by the model's own logits; 0 without `logprobs` */
  const char* text; /* not terminated; valid during the callback */
  size_t bytes;
} tandem_piece;
/* Not 0: the text ends, with the stop reason "interrupted". */
typedef int (*tandem_on_piece)(void* user, const tandem_piece* piece);

typedef struct tandem_generate_options {
  size_t size;
  int64_t predict;         /* most tokens; below 0: until the model ends or the context is full; 128 */
  float temperature;       /* 0: greedy */
  int top_k;               /* 40; 0: off */
  float top_p;             /* 0.95; 1: off */
  float min_p;             /* 0.05; 0: off */
  float repeat_penalty;    /* 1: off */
  float presence_penalty;  /* 0: off */
  float frequency_penalty; /* 0: off */
  uint64_t seed;
  int ignore_end;          /* not 0: go on behind an end token */
  int chat;                /* not 0: the text is an answer, and ends where the chat template ends one. A model without
                              a template is TANDEM_USAGE */
  int logprobs;            /* not 0: pieces have log-probabilities */
  const char* const* stop; /* texts that end the text and are no part of it */
  size_t stop_count;
  const char* json_schema; /* the text satisfies it; null or empty: anything. At most one of the three */
  const char* grammar;     /* in the notation of GBNF */
  int json_object;         /* not 0: any JSON object */
  tandem_cancel* cancel;   /* null: none */
  const char* spec;        /* where drafts come from: "auto", "sdnpu", "pld", "sam", "none"; null: "auto" */
  int64_t draft_max;       /* most drafts of a pass, 0 to 63; 15 */
} tandem_generate_options;
void tandem_generate_options_init(tandem_generate_options* options, size_t size);

typedef struct tandem_generation {
  size_t size;  /* set it to sizeof before the call */
  int32_t* ids; /* generated tokens, an end token included; tandem_free() */
  size_t id_count;
  char* text; /* terminated; tandem_free() */
  size_t text_bytes;
  const char* stop_reason; /* "eos", "length", "stop", "context_full", "interrupted"; lives as long as the library */
  int64_t prompt_tokens;
  double prompt_seconds; /* measured, until the first logits */
  double predicted_seconds;
} tandem_generation;

/* Continues these tokens, and returns when the text has ended. on_piece: null for none. A set cancel ends the text
 * within one pass; the text so far is then the result. generation: null if it is not wanted. */
tandem_status tandem_generate(tandem_model* model, const int32_t* ids, size_t count,
                              const tandem_generate_options* options, tandem_on_piece on_piece, void* user,
                              tandem_generation* generation);

/* Logits of every token of a text of its own, [count, vocabulary]. cancel: null for none. */
tandem_status tandem_eval(tandem_model* model, const int32_t* ids, size_t count, tandem_cancel* cancel, float** logits);
/* exp of the mean negative log-likelihood of the second and later tokens. */
tandem_status tandem_perplexity(tandem_model* model, const int32_t* ids, size_t count, tandem_cancel* cancel,
                                double* perplexity);

/* ---- vectors of texts (docs/embeddings.md) ---- */

typedef struct tandem_embed_options {
  size_t size;
  const char* pooling;   /* "mean", "cls", "last"; null or empty: what the file says, "last" for a model that writes */
  int plain;             /* not 0: vectors keep their length; otherwise it is 1 */
  tandem_cancel* cancel; /* null: none */
} tandem_embed_options;
void tandem_embed_options_init(tandem_embed_options* options, size_t size);

/* A vector for each of `texts` texts, float32 [texts, width], the numbers of `tandem embed`. ids: of all texts, one
 * after the other; counts: [texts], the ids of each. Texts share passes. options: null for the defaults. width: null if
 * it is not wanted. The first call makes buffers for vectors, which stay until the model is freed. An encoder does
 * nothing else: functions that write or extend texts are TANDEM_USAGE. */
tandem_status tandem_embed(tandem_model* model, const int32_t* ids, const size_t* counts, size_t texts,
                           const tandem_embed_options* options, float** vectors, int64_t* width);

/* ---- sequences: texts whose keys and values stay ---- */

/* A sequence takes one call at a time (TANDEM_USAGE). It is freed by its own function, also behind its model. */
tandem_status tandem_sequence_new(tandem_model* model, tandem_sequence** sequence);
tandem_status tandem_sequence_free(tandem_sequence* sequence);
/* Appends tokens. logits: the last token's, [vocabulary]. They belong to the sequence, and stay until its next extend
 * or its end; passes of others do not write there. Null: not wanted. */
tandem_status tandem_sequence_extend(tandem_sequence* sequence, const int32_t* ids, size_t count, tandem_cancel* cancel,
                                     const float** logits);
/* A sequence with the first `position` tokens, which share memory. */
tandem_status tandem_sequence_fork(tandem_sequence* sequence, int64_t position, tandem_sequence** fork);
tandem_status tandem_sequence_rewind(tandem_sequence* sequence, int64_t position); /* drops tokens from there on */
tandem_status tandem_sequence_position(tandem_sequence* sequence, int64_t* position);
tandem_status tandem_sequence_ids(tandem_sequence* sequence, int32_t** ids, size_t* count);
/* As tandem_generate(), behind the sequence's tokens. It has all tokens but the last generated one in the end. */
tandem_status tandem_sequence_generate(tandem_sequence* sequence, const int32_t* ids, size_t count,
                                       const tandem_generate_options* options, tandem_on_piece on_piece, void* user,
                                       tandem_generation* generation);
tandem_status tandem_sequence_save(tandem_sequence* sequence, const char* path);
tandem_status tandem_sequence_load(tandem_model* model, const char* path, tandem_sequence** sequence);

/* ---- reports, as JSON ---- */

tandem_status tandem_devices_json(char** json);                    /* the list `devices` of `tandem devices --json` */
tandem_status tandem_model_json(tandem_model* model, char** json); /* architecture, sizes, devices, plan, notes */
/* The plan for a prompt of so many tokens, as `tandem plan --json`. Nothing runs. */
tandem_status tandem_plan_json(tandem_model* model, int64_t prompt_tokens, char** json);
/* Records what each device does in the passes between the two calls. The JSON opens in Perfetto. */
tandem_status tandem_trace_start(tandem_model* model);
tandem_status tandem_trace_stop(tandem_model* model, char** json);

#ifdef __cplusplus
}
#endif

#endif /* TANDEM_TANDEM_H_ */
