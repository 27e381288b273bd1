"""A sampler of one's own, by Gumbel's trick: sampler.py MODEL.gguf"""
import sys

import numpy as np

import tandem

random = np.random.default_rng(1)
with tandem.Model.load(sys.argv[1]) as model:
    print(model.generate("Once upon a time", predict=24, sampler=lambda x: (x / 0.8 + random.gumbel(size=x.size)).argmax()).text)
