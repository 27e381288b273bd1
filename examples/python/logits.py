"""The five likeliest tokens behind a text: logits.py MODEL.gguf"""
import sys

import numpy as np

import tandem

with tandem.Model.load(sys.argv[1]) as model:
    last = model.eval(model.tokenize("Once upon a"))[-1]
    for token in np.argsort(last)[:-6:-1]:
        print(repr(model.detokenize([token])), last[token])
