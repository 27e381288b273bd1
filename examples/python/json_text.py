"""A text that satisfies a JSON schema: json_text.py MODEL.gguf"""
import json
import sys

import tandem

SCHEMA = {"type": "object", "required": ["name", "age"], "additionalProperties": False,
          "properties": {"name": {"type": "string", "maxLength": 10}, "age": {"type": "integer", "maximum": 99, "minimum": 0}}}
with tandem.Model.load(sys.argv[1]) as model:
    print(json.loads(model.generate("A person: ", predict=80, json_schema=SCHEMA).text))
