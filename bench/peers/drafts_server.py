"""Writes texts with llama.cpp's server of the wheel xllamacpp, in this process: drafts.py starts it, once for each kind.

Standard input is {"model", "threads", "type", "draft_max" (null: llama.cpp's default), "count", "prompts"}; standard
output is a JSON object a prompt. The wheel is not installed here; drafts.py names the interpreter that has it."""

import json
import sys

import xllamacpp


def parameters(asked):
    params = xllamacpp.CommonParams()
    params.model.path = asked["model"]
    params.n_ctx, params.n_parallel = 4096, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = asked["threads"]
    params.sampling.seed = 0
    drafts = params.speculative
    kind = "COMMON_SPECULATIVE_TYPE_" + asked["type"].upper().replace("-", "_")
    drafts.types = [getattr(xllamacpp.common_speculative_type, kind)]
    most = asked["draft_max"]
    if most is not None:
        drafts.draft.n_max = drafts.ngram_simple.size_m = drafts.ngram_map_k.size_m = drafts.ngram_mod.n_max = most
        drafts.ngram_mod.n_min = min(drafts.ngram_mod.n_min, 1)  # the default of 48 would refuse every draft of 16
    return params


def main():
    asked = json.load(sys.stdin)
    server = xllamacpp.Server(parameters(asked))
    for prompt in asked["prompts"]:
        answer = server.handle_completions({"prompt": prompt, "n_predict": asked["count"], "temperature": 0, "top_k": 1,
                                            "cache_prompt": False})
        print(json.dumps({"text": answer["choices"][0]["text"], "timings": answer["timings"]}), flush=True)


if __name__ == "__main__":
    main()
