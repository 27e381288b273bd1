"""Writes one text with llama.cpp's server of the wheel xllamacpp, whose weights are mapped: larger_than_memory.py starts it.

Standard input is {"model", "threads", "prompt", "count"}; standard output is a JSON object. The wheel is not installed
here; larger_than_memory.py names the interpreter that has it."""

import json
import sys
import time

import xllamacpp


def main():
    asked = json.load(sys.stdin)
    params = xllamacpp.CommonParams()
    params.model.path = asked["model"]
    params.n_ctx, params.n_parallel, params.warmup = 1024, 1, False
    params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_MMAP
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = asked["threads"]
    started = time.monotonic()
    server = xllamacpp.Server(params)
    loaded = time.monotonic()
    answer = server.handle_completions({"prompt": asked["prompt"], "n_predict": asked["count"], "temperature": 0, "top_k": 1,
                                        "cache_prompt": False, "ignore_eos": True})
    print(json.dumps({"load_s": loaded - started, "text": answer["choices"][0]["text"], "timings": answer["timings"]}))


if __name__ == "__main__":
    main()
