"""The server as clients on top of OpenAI's see it: others_suite.py PROGRAM [FILTER]. Exits with 77 without them.

./dev clients others fetches langchain-openai, litellm and llm. Each asks for a text, a stream and what it does most: a
form, a call of a function, an error. The model is tiny, so texts mean nothing."""
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from serving import Serving  # noqa: E402

FLAGS = ["--device", "host", "--plan", "host-only", "-c", "1024", "-np", "2", "--alias", "tiny"]
ASK = "Once upon a time"
TEMPLATE = ("{% if tools %}<tool_call>{% endif %}{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}"
            "{% if add_generation_prompt %}assistant: {% endif %}")
WEATHER = {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}}, "required": ["city"],
           "additionalProperties": False}


def needs(name):
    return unittest.skipUnless(importlib.util.find_spec(name), f"{name} is not here; ./dev clients others fetches it")


class Served(unittest.TestCase):
    program = ""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        template = pathlib.Path(cls.folder.name) / "template.jinja"
        template.write_text(TEMPLATE)
        flags = [*FLAGS, "--chat-template-file", str(template)]
        cls.serving = Serving(cls.program, *flags)
        cls.serving.start()
        cls.base = cls.serving.url + "/v1"

    @classmethod
    def tearDownClass(cls):
        cls.serving.end()
        cls.folder.cleanup()


@needs("langchain_openai")
class LangChain(Served):
    def chat(self, **more):
        from langchain_openai import ChatOpenAI
        return ChatOpenAI(**{"base_url": self.base, "api_key": "any", "model": "tiny", "temperature": 0,
                             "max_tokens": 8, "max_retries": 0, **more})

    def test_gets_a_message_with_its_usage(self):
        answer = self.chat().invoke(ASK)
        self.assertTrue(answer.content)
        self.assertEqual(answer.usage_metadata["output_tokens"], 8)

    def test_streams_the_same_text(self):
        pieces = [each.content for each in self.chat(stream_usage=True).stream(ASK)]
        self.assertGreater(len(pieces), 2)
        self.assertEqual("".join(pieces), self.chat().invoke(ASK).content)

    def test_gets_a_call_of_a_function_it_demands(self):
        tool = {"type": "function", "function": {"name": "weather", "description": "w", "parameters": WEATHER}}
        chat = self.chat(max_tokens=64).bind_tools([tool], tool_choice="weather")
        call = chat.invoke(ASK).tool_calls[0]
        self.assertEqual(call["name"], "weather")
        self.assertIn(call["args"]["city"], ["Paris", "Rome"])

    def test_gets_an_object_of_the_form_it_demands(self):
        form = {"title": "place", **WEATHER}
        chat = self.chat(max_tokens=64).with_structured_output(form, method="json_schema")
        self.assertIn(chat.invoke(ASK)["city"], ["Paris", "Rome"])

    def test_continues_a_text(self):
        from langchain_openai import OpenAI
        text = OpenAI(base_url=self.base, api_key="any", model="tiny", temperature=0, max_tokens=8, max_retries=0)
        self.assertTrue(text.invoke(ASK))

    def test_learns_of_an_unknown_model(self):
        import openai
        with self.assertRaises(openai.NotFoundError):
            self.chat().bind(model="gpt-5").invoke(ASK)


@needs("litellm")
class LiteLLM(Served):
    def ask(self, **more):
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # asks nobody else
        import litellm
        litellm.telemetry = False
        return litellm.completion(model="openai/tiny", api_base=self.base, api_key="any", temperature=0, max_tokens=8,
                                  messages=[{"role": "user", "content": ASK}], num_retries=0, **more)

    def test_gets_a_message_and_streams_the_same(self):
        whole = self.ask().choices[0].message.content
        pieces = [each.choices[0].delta.content or "" for each in self.ask(stream=True)]
        self.assertTrue(whole)
        self.assertEqual("".join(pieces), whole)

    def test_gets_a_call_of_a_function_it_demands(self):
        tool = {"type": "function", "function": {"name": "weather", "parameters": WEATHER}}
        answer = self.ask(tools=[tool], tool_choice={"type": "function", "function": {"name": "weather"}},
                          max_completion_tokens=64)
        arguments = json.loads(answer.choices[0].message.tool_calls[0].function.arguments)
        self.assertIn(arguments["city"], ["Paris", "Rome"])

    def test_learns_of_a_context_that_is_too_small(self):
        import litellm
        with self.assertRaises(litellm.exceptions.BadRequestError) as caught:
            litellm.completion(model="openai/tiny", api_base=self.base, api_key="any", num_retries=0,
                               messages=[{"role": "user", "content": "word " * 2000}])
        self.assertIn("1024", str(caught.exception))


@needs("llm")
class Llm(Served):
    def ask(self, *flags):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "extra-openai-models.yaml").write_text(
                f"- model_id: here\n  model_name: tiny\n  api_base: {self.base}\n")
            return subprocess.run([sys.executable, "-m", "llm", "prompt", "-m", "here", "--key", "any", "-o",
                                   "max_tokens", "8", "-o", "temperature", "0", *flags, ASK], capture_output=True,
                                  text=True, timeout=120, env={**os.environ, "LLM_USER_PATH": folder})

    def test_prints_the_same_text_whole_and_as_a_stream(self):
        stream, whole = self.ask(), self.ask("--no-stream")
        self.assertEqual((stream.returncode, whole.returncode), (0, 0), stream.stderr + whole.stderr)
        self.assertTrue(whole.stdout.strip())
        self.assertEqual(stream.stdout, whole.stdout)

    def test_passes_a_system_text_on(self):
        told = self.ask("--system", "Answer in French.")
        self.assertEqual(told.returncode, 0, told.stderr)
        self.assertTrue(told.stdout.strip())


if __name__ == "__main__":
    if not any(importlib.util.find_spec(each) for each in ("langchain_openai", "litellm", "llm")):
        print("SKIPPED: the clients are not here; ./dev clients others fetches them")
        sys.exit(77)
    Served.program = sys.argv[1]
    names = ["-k", sys.argv[2]] if len(sys.argv) > 2 else []
    unittest.main(argv=[sys.argv[0], "-v", *names])
