"""The perplexity of a file, in pieces of a context: perplexity.py MODEL.gguf [text.txt]"""
import math
import sys

import tandem

with tandem.Model.load(sys.argv[1]) as model:
    ids = model.tokenize(open(sys.argv[2] if len(sys.argv) > 2 else "text.txt", encoding="utf-8").read())
    pieces = [ids[i : i + model.context] for i in range(0, len(ids), model.context)]
    logs = [(len(piece) - 1) * math.log(model.perplexity(piece)) for piece in pieces if len(piece) > 1]
    print(math.exp(sum(logs) / sum(len(piece) - 1 for piece in pieces)))
