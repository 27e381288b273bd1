"""The reference: Jinja as transformers sets it up for chat templates. Golden files and differential.py use it."""
import copy
import datetime
import json

import jinja2
import jinja2.ext
from jinja2.sandbox import ImmutableSandboxedEnvironment

NOW = datetime.datetime(2026, 2, 3, 4, 5, 6)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("_text")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def _text(self, caller):
        return caller()


def refuse(message):
    raise jinja2.exceptions.TemplateError(message)


def to_json(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def environment():
    made = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True,
                                         extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = to_json
    made.globals["raise_exception"] = refuse
    made.globals["strftime_now"] = NOW.strftime
    return made


ENVIRONMENT = environment()


def values_of(conversation):
    """What a template is rendered with; conversation is a list of messages or an object."""
    values = {"tools": None, "documents": None, "add_generation_prompt": False}
    if isinstance(conversation, list):
        conversation = {"messages": conversation}
    conversation = copy.deepcopy(conversation)  # the filter `indent` changes a list that it gets
    more = conversation.pop("chat_template_kwargs", None) or {}
    values.update(conversation)
    values.update(more)
    return values


def render(template, conversation):
    """("text" | "refusal" | "error", what)"""
    try:
        return "text", ENVIRONMENT.from_string(template).render(**values_of(conversation))
    except jinja2.exceptions.TemplateError as error:
        return ("refusal" if type(error) is jinja2.exceptions.TemplateError else "error"), str(error)
    except Exception as error:  # what Python raises within a template
        return "error", f"{type(error).__name__}: {error}"
