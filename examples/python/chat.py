"""A conversation with a history: chat.py MODEL.gguf"""
import sys

import tandem

with tandem.Model.load(sys.argv[1]) as model:
    chat = model.chat(system="Answer in one sentence.", predict=32)
    print(chat.say("What is the capital of France?"))
    print(chat.say("And of Spain?"))
