"""Texts of a list share passes: many_texts.py MODEL.gguf"""
import sys

import tandem

prompts = ["Once upon a time", "The dog", "One day", "Lily"]
with tandem.Model.load(sys.argv[1], parallel=4) as model:
    for prompt, text in zip(prompts, model.generate(prompts, predict=16)):
        print(prompt + text.text)
