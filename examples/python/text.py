"""Continues a text: text.py MODEL.gguf"""
import sys

import tandem

with tandem.Model.load(sys.argv[1]) as model:
    text = model.generate("Once upon a time", predict=32)
    print(text.text, text.stop_reason, f"{text.timings['predicted_ms']:.1f} ms")
