"""Shows a text as it is written, with the probability of each token: stream.py MODEL.gguf"""
import math
import sys

import tandem

with tandem.Model.load(sys.argv[1]) as model:
    for piece in model.stream("Once upon a time", predict=16, logprobs=True):
        print(f"{piece.text!r:12} {math.exp(piece.logprob):.3f}")
