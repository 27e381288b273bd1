"""Where the time of a text went: timeline.py MODEL.gguf"""
import sys

import tandem

with tandem.Model.load(sys.argv[1]) as model:
    with model.trace() as trace:
        model.generate("Once upon a time", predict=8)
    trace.save("trace.json")  # opens in Perfetto
    trace.save("trace.svg")  # a picture, as a notebook shows it
    for kind in ("matmul", "attention", "other", "wait"):
        chosen = trace.kind == kind
        print(f"{kind:10} {1e3 * (trace.end - trace.begin)[chosen].sum():8.3f} ms measured, {chosen.sum()} spans")
