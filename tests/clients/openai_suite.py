"""The server as OpenAI's own client sees it: openai_suite.py PROGRAM [FILTER]. Exits with 77 without the client.

./dev clients fetches the client. The model is tiny, so texts mean nothing: forms, numbers and errors count here."""
import concurrent.futures
import json
import pathlib
import sys
import unittest

try:
    import openai
except ImportError:
    print("SKIPPED: the client is not here; ./dev clients fetches it")
    sys.exit(77)

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from serving import Serving  # noqa: E402

ASK = [{"role": "user", "content": "Once upon a time"}]
PERSON = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 8}, "age": {"type": "integer"}},
          "required": ["name", "age"], "additionalProperties": False}
WEATHER = {"type": "function",
           "function": {"name": "weather", "description": "tells the weather",
                        "parameters": {"type": "object", "properties": {"city": {"enum": ["Paris", "Rome"]}},
                                       "required": ["city"], "additionalProperties": False}}}
CLOCK = {"type": "function", "function": {"name": "clock", "parameters": {"type": "object", "properties": {}}}}
FLAGS = ["--device", "host", "--plan", "host-only", "-c", "1024", "-np", "4"]


class Client(unittest.TestCase):
    program = ""
    flags = ["--chat-template", "chatml"]

    @classmethod
    def setUpClass(cls):
        cls.serving = Serving(cls.program, *FLAGS, *cls.flags)
        cls.serving.start()
        cls.client = openai.OpenAI(base_url=cls.serving.url + "/v1", api_key="any", max_retries=0, timeout=60)
        cls.model = cls.client.models.list().data[0].id

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.serving.end()

    def chat(self, **more):
        return self.client.chat.completions.create(**{"model": self.model, "messages": ASK, "max_tokens": 8,
                                                      "temperature": 0, **more})

    def text(self, **more):
        return self.client.completions.create(**{"model": self.model, "prompt": "Once upon a time", "max_tokens": 8,
                                                 "temperature": 0, **more})

    def refused(self, call, status=400, **expected):
        with self.assertRaises(openai.APIStatusError) as caught:
            call()
        error = caught.exception
        self.assertEqual(error.status_code, status, error.message)
        for name in ("message", "type", "param", "code"):
            self.assertIn(name, error.body)
        self.assertTrue(error.body["message"])
        for name, value in expected.items():
            self.assertEqual(error.body[name], value, error.body)
        return error


class Models(Client):
    flags = ["--alias", "mine", "--chat-template", "chatml"]

    def test_are_listed(self):
        models = self.client.models.list()
        self.assertEqual([each.id for each in models.data], ["mine"])
        self.assertEqual(models.data[0].object, "model")
        self.assertEqual(models.data[0].owned_by, "tandem")
        self.assertGreater(models.data[0].created, 1_700_000_000)

    def test_are_found_by_each_of_their_names(self):
        self.assertEqual(self.client.models.retrieve("mine").id, "mine")
        self.client.models.retrieve("stories260K-F16")

    def test_of_other_names_are_not_found(self):
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("gpt-4o")
        self.refused(lambda: self.chat(model="gpt-4o"), 404, code="model_not_found")

    def test_of_paths_are_not_found(self):
        with self.assertRaises(openai.NotFoundError):
            self.client.models.retrieve("../../etc/passwd")

    def test_answer_with_the_name_that_was_asked_for(self):
        self.assertEqual(self.chat(model="stories260K-F16").model, "stories260K-F16")


class Chats(Client):
    def test_have_the_form_of_a_chat_completion(self):
        answer = self.chat()
        self.assertEqual(answer.object, "chat.completion")
        self.assertTrue(answer.id.startswith("chatcmpl-"))
        self.assertEqual(answer.model, self.model)
        choice = answer.choices[0]
        self.assertEqual((choice.index, choice.message.role), (0, "assistant"))
        self.assertIn(choice.finish_reason, ("stop", "length"))
        self.assertIsNone(choice.logprobs)
        self.assertIsNone(choice.message.tool_calls)

    def test_are_the_same_again_when_they_are_greedy(self):
        self.assertEqual(self.chat().choices[0].message.content, self.chat().choices[0].message.content)

    def test_are_the_same_again_with_one_seed(self):
        one, same, other = (self.chat(temperature=1, seed=seed, max_tokens=24).choices[0].message.content
                            for seed in (5, 5, 6))
        self.assertEqual(one, same)
        self.assertNotEqual(one, other)

    def test_count_their_tokens(self):
        usage = self.chat(max_tokens=5).usage
        self.assertLessEqual(usage.completion_tokens, 5)
        self.assertEqual(usage.total_tokens, usage.prompt_tokens + usage.completion_tokens)

    def test_say_how_many_tokens_of_the_prompt_did_not_run_again(self):
        self.chat(max_tokens=4)
        details = self.chat(max_tokens=4).usage.prompt_tokens_details
        self.assertGreater(details.cached_tokens, 0)

    def test_take_the_newer_name_of_the_limit(self):
        answer = self.client.chat.completions.create(model=self.model, messages=ASK, max_completion_tokens=3,
                                                     extra_body={"ignore_eos": True})
        self.assertEqual(answer.usage.completion_tokens, 3)
        self.assertEqual(answer.choices[0].finish_reason, "length")

    def test_give_several_choices_and_count_the_prompt_once(self):
        one = self.chat(extra_body={"ignore_eos": True})
        three = self.chat(n=3, temperature=1, seed=1, extra_body={"ignore_eos": True})
        self.assertEqual([each.index for each in three.choices], [0, 1, 2])
        self.assertEqual(three.usage.prompt_tokens, one.usage.prompt_tokens)
        self.assertEqual(three.usage.completion_tokens, 24)

    def test_end_before_a_stop_text(self):
        whole = self.chat(max_tokens=30).choices[0].message.content
        stop = whole.split()[2]
        answer = self.chat(max_tokens=30, stop=stop).choices[0]
        self.assertNotIn(stop, answer.message.content)
        self.assertTrue(whole.startswith(answer.message.content))
        self.assertEqual(answer.finish_reason, "stop")

    def test_take_a_list_of_stop_texts(self):
        whole = self.chat(max_tokens=30).choices[0].message.content
        answer = self.chat(max_tokens=30, stop=["never there", whole.split()[1]]).choices[0].message.content
        self.assertTrue(len(answer) < len(whole))

    def test_have_logprobs_in_the_official_form(self):
        content = self.chat(logprobs=True, top_logprobs=3).choices[0].logprobs.content
        self.assertTrue(content)
        for token in content:
            self.assertLessEqual(token.logprob, 0)
            self.assertEqual(bytes(token.bytes).decode(errors="replace"), token.token)
            self.assertEqual(len(token.top_logprobs), 3)
            self.assertEqual(token.top_logprobs[0].token, token.token, "greedy takes the most likely one")

    def test_are_moved_by_a_bias(self):
        token = json.loads(self.post("/tokenize", {"content": " dog", "add_special": False, "with_pieces": True}))["tokens"][-1]
        answer = self.chat(logit_bias={str(token["id"]): 100}, max_tokens=4, logprobs=True)
        self.assertEqual([each.token for each in answer.choices[0].logprobs.content], [token["piece"]] * 4)

    def post(self, path, body):
        return self.client.post("../" + path.lstrip("/"), body=body, cast_to=str)

    def test_take_content_in_parts(self):
        parts = [{"role": "user", "content": [{"type": "text", "text": "Once upon"}, {"type": "text", "text": " a time"}]}]
        self.assertEqual(self.chat(messages=parts).choices[0].message.content, self.chat().choices[0].message.content)

    def test_take_the_role_developer_as_system(self):
        def answer(role):
            return self.chat(messages=[{"role": role, "content": "Be kind."}, *ASK]).usage.prompt_tokens
        self.assertEqual(answer("developer"), answer("system"))

    def test_continue_an_answer_that_was_begun(self):
        begun = self.chat(messages=[*ASK, {"role": "assistant", "content": "There was a"}])
        self.assertTrue(begun.choices[0].message.content)

    def test_accept_what_has_no_effect_here(self):
        self.chat(user="me", metadata={"a": "b"}, store=False, service_tier="auto")

    def test_take_llama_cpps_members(self):
        answer = self.chat(extra_body={"top_k": 1, "min_p": 0.1, "repeat_penalty": 1.1, "ignore_eos": True})
        self.assertEqual(answer.usage.completion_tokens, 8)
        self.assertGreater(answer.timings["predicted_per_second"], 0)

    def test_of_many_clients_are_what_each_is_alone(self):
        prompts = [f"Story number {i}" for i in range(12)]
        def ask(prompt):
            return self.chat(messages=[{"role": "user", "content": prompt}], max_tokens=16).choices[0].message.content
        alone = [ask(each) for each in prompts]
        with concurrent.futures.ThreadPoolExecutor(12) as pool:
            self.assertEqual(list(pool.map(ask, prompts)), alone)


class Streams(Client):
    def test_are_the_whole_answer(self):
        whole = self.chat(max_tokens=20).choices[0]
        chunks = list(self.chat(max_tokens=20, stream=True))
        self.assertEqual("".join(each.choices[0].delta.content or "" for each in chunks), whole.message.content)
        self.assertEqual(chunks[-1].choices[0].finish_reason, whole.finish_reason)

    def test_begin_with_the_role(self):
        self.assertEqual(next(iter(self.chat(stream=True))).choices[0].delta.role, "assistant")

    def test_have_one_id_one_time_and_one_model(self):
        chunks = list(self.chat(stream=True))
        self.assertEqual(len({(each.id, each.created, each.model, each.object) for each in chunks}), 1)
        self.assertEqual(chunks[0].object, "chat.completion.chunk")

    def test_have_no_reason_before_their_end(self):
        reasons = [each.choices[0].finish_reason for each in self.chat(stream=True)]
        self.assertEqual(reasons[:-1], [None] * (len(reasons) - 1))
        self.assertIsNotNone(reasons[-1])

    def test_end_with_the_usage_if_it_is_asked_for(self):
        chunks = list(self.chat(stream=True, stream_options={"include_usage": True}))
        self.assertEqual(chunks[-1].choices, [])
        self.assertEqual(chunks[-1].usage.completion_tokens, self.chat().usage.completion_tokens)

    def test_have_every_choice(self):
        chunks = list(self.chat(n=2, stream=True, temperature=1, seed=3))
        ended = [each.choices[0].index for each in chunks if each.choices[0].finish_reason]
        self.assertEqual(sorted(ended), [0, 1])

    def test_have_logprobs(self):
        tokens = [token for each in self.chat(stream=True, logprobs=True, top_logprobs=2)
                  for token in (each.choices[0].logprobs.content if each.choices[0].logprobs else [])]
        whole = self.chat(logprobs=True, top_logprobs=2).choices[0].logprobs.content
        self.assertEqual([(t.token, t.logprob) for t in tokens], [(t.token, t.logprob) for t in whole])

    def test_leak_no_part_of_a_stop_text(self):
        whole = self.chat(max_tokens=40).choices[0].message.content
        stop = whole[len(whole) // 2:len(whole) // 2 + 4]
        text = "".join(each.choices[0].delta.content or "" for each in self.chat(max_tokens=40, stop=[stop], stream=True))
        self.assertEqual(text, whole[:whole.index(stop)])

    def test_can_be_left(self):
        stream = self.chat(stream=True, max_tokens=400, extra_body={"ignore_eos": True})
        next(iter(stream))
        stream.close()
        self.chat(max_tokens=2)

    def test_are_read_by_the_clients_helper(self):
        with self.client.chat.completions.stream(model=self.model, messages=ASK, max_tokens=30,
                                                 extra_body={"grammar": 'root ::= "yes"'}) as stream:
            events = {each.type for each in stream}
            self.assertEqual(stream.get_final_completion().choices[0].message.content, "yes")
        self.assertIn("content.delta", events)


class Completions(Client):
    def test_have_the_form_of_a_text_completion(self):
        answer = self.text()
        self.assertEqual(answer.object, "text_completion")
        self.assertTrue(answer.choices[0].text)

    def test_have_sixteen_tokens_if_nothing_is_said(self):
        answer = self.client.completions.create(model=self.model, prompt="Once", extra_body={"ignore_eos": True})
        self.assertEqual(answer.usage.completion_tokens, 16)

    def test_take_several_prompts(self):
        both = self.text(prompt=["Once", "The dog"])
        self.assertEqual([each.index for each in both.choices], [0, 1])
        self.assertEqual(both.choices[1].text, self.text(prompt="The dog").choices[0].text)

    def test_take_tokens(self):
        ids = json.loads(self.client.post("../tokenize", body={"content": "Once upon a time"}, cast_to=str))["tokens"]
        self.assertTrue(self.text(prompt=ids).choices[0].text)
        self.assertEqual(len(self.text(prompt=[ids, ids]).choices), 2)

    def test_number_choices_behind_each_prompt(self):
        answer = self.text(prompt=["Once", "The"], n=2, temperature=1, seed=1)
        self.assertEqual([each.index for each in answer.choices], [0, 1, 2, 3])

    def test_echo_their_prompt(self):
        answer = self.text(echo=True).choices[0].text
        self.assertTrue(answer.startswith("Once upon a time"))

    def test_echo_their_prompt_with_its_logprobs(self):
        whole = self.text(echo=True, logprobs=2, max_tokens=4).choices[0]
        told = whole.logprobs
        self.assertEqual("".join(told.tokens), whole.text)
        self.assertEqual((told.token_logprobs[0], told.top_logprobs[0], told.text_offset[0]), (None, None, 0))
        self.assertTrue(all(value <= 0 for value in told.token_logprobs[1:]))
        scored = self.text(echo=True, logprobs=2, max_tokens=0).choices[0]
        self.assertEqual(scored.text, "Once upon a time")
        count = len(scored.logprobs.tokens)
        self.assertEqual(scored.logprobs.token_logprobs, told.token_logprobs[:count])
        # A written text has the same probabilities as a part of a prompt.
        again = self.text(prompt=whole.text, echo=True, logprobs=0, max_tokens=0).choices[0].logprobs
        if again.tokens == told.tokens:
            self.assertEqual(again.token_logprobs, told.token_logprobs)

    def test_have_logprobs_in_the_older_form(self):
        logprobs = self.text(logprobs=2).choices[0].logprobs
        self.assertEqual(len(logprobs.tokens), len(logprobs.token_logprobs))
        self.assertEqual(len(logprobs.top_logprobs[0]), 2)
        self.assertEqual(logprobs.text_offset[0], 0)

    def test_come_as_a_stream(self):
        text = "".join(each.choices[0].text for each in self.text(stream=True) if each.choices)
        self.assertEqual(text, self.text().choices[0].text)


class Forms(Client):
    def test_keep_a_schema(self):
        for seed in range(4):
            answer = self.chat(temperature=1.5, seed=seed, max_tokens=200, response_format={
                "type": "json_schema", "json_schema": {"name": "person", "strict": True, "schema": PERSON}})
            person = json.loads(answer.choices[0].message.content)
            self.assertEqual(set(person), {"name", "age"})
            self.assertIsInstance(person["age"], int)

    def test_keep_any_json(self):
        answer = self.chat(max_tokens=400, temperature=1, seed=2, response_format={"type": "json_object"})
        if answer.choices[0].finish_reason == "stop":
            self.assertIsInstance(json.loads(answer.choices[0].message.content), dict)

    def test_keep_a_grammar(self):
        answer = self.chat(max_tokens=20, extra_body={"grammar": 'root ::= "yes" | "no"'})
        self.assertIn(answer.choices[0].message.content, ("yes", "no"))

    def test_are_kept_in_a_stream(self):
        text = "".join(each.choices[0].delta.content or "" for each in self.chat(
            stream=True, max_tokens=200, temperature=1.5, seed=9,
            response_format={"type": "json_schema", "json_schema": {"name": "p", "schema": PERSON}}))
        self.assertEqual(set(json.loads(text)), {"name", "age"})

    def test_are_read_by_the_clients_helper(self):
        try:
            import pydantic
        except ImportError:
            self.skipTest("pydantic is not here")

        class Answer(pydantic.BaseModel):
            yes: bool
        parsed = self.client.chat.completions.parse(model=self.model, messages=ASK, response_format=Answer, max_tokens=30)
        self.assertIsInstance(parsed.choices[0].message.parsed.yes, bool)

    def test_that_cannot_be_kept_are_refused(self):
        for schema in ({"type": "object", "unevaluatedProperties": False}, {"type": "nothing"}, {"pattern": "(?=x)"}):
            self.refused(lambda schema=schema: self.chat(response_format={
                "type": "json_schema", "json_schema": {"name": "x", "schema": schema}}))


class Calls(Client):
    template = pathlib.Path(__file__).resolve().parents[1] / "data/chat-templates/Qwen-Qwen2.5-7B-Instruct.jinja"

    @classmethod
    def setUpClass(cls):
        cls.flags = ["--chat-template-file", str(cls.template)] if cls.template.exists() else []
        if not cls.flags:
            raise unittest.SkipTest("the template with tools is not here")
        super().setUpClass()

    def test_are_made_when_one_is_required(self):
        answer = self.chat(tools=[WEATHER], tool_choice="required", max_tokens=100, temperature=1, seed=4).choices[0]
        self.assertEqual(answer.finish_reason, "tool_calls")
        call = answer.message.tool_calls[0]
        self.assertEqual((call.type, call.function.name), ("function", "weather"))
        self.assertIn(json.loads(call.function.arguments)["city"], ("Paris", "Rome"))
        self.assertTrue(call.id)

    def test_are_made_of_the_function_that_is_named(self):
        answer = self.chat(tools=[WEATHER, CLOCK], tool_choice={"type": "function", "function": {"name": "clock"}},
                           max_tokens=60).choices[0]
        self.assertEqual(answer.message.tool_calls[0].function.name, "clock")

    def test_come_in_a_stream(self):
        name, arguments, pieces = "", "", 0
        for each in self.chat(tools=[WEATHER], tool_choice="required", max_tokens=100, temperature=1, seed=4, stream=True):
            for call in each.choices[0].delta.tool_calls or []:
                name += call.function.name or ""
                arguments += call.function.arguments or ""
                pieces += 1
        self.assertEqual(name, "weather")
        self.assertGreater(pieces, 2)
        self.assertIn(json.loads(arguments)["city"], ("Paris", "Rome"))

    def test_are_not_made_when_none_is_wanted(self):
        answer = self.chat(tools=[WEATHER], tool_choice="none").choices[0]
        self.assertIsNone(answer.message.tool_calls)

    def test_and_their_results_are_part_of_the_conversation(self):
        call = {"id": "abc123def", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Rome"}'}}
        self.chat(tools=[WEATHER], messages=[*ASK, {"role": "assistant", "content": None, "tool_calls": [call]},
                                             {"role": "tool", "tool_call_id": "abc123def", "content": "sunny"}])

    def test_with_broken_arguments_are_refused(self):
        call = {"id": "abc123def", "type": "function", "function": {"name": "weather", "arguments": "{broken"}}
        self.refused(lambda: self.chat(tools=[WEATHER], messages=[*ASK, {"role": "assistant", "tool_calls": [call]}]))

    def test_of_unknown_functions_are_refused(self):
        self.refused(lambda: self.chat(tools=[WEATHER], tool_choice={"type": "function", "function": {"name": "other"}}))


class Responses(Client):
    def respond(self, **more):
        return self.client.responses.create(**{"model": self.model, "input": "Once upon a time", "temperature": 0,
                                               "max_output_tokens": 16, **more})

    def test_have_a_text(self):
        answer = self.respond()
        self.assertTrue(answer.output_text)
        self.assertEqual(answer.object, "response")
        self.assertIn(answer.status, ("completed", "incomplete"))
        self.assertGreater(answer.usage.output_tokens, 0)

    def test_that_are_cut_say_so(self):
        answer = self.respond(max_output_tokens=2, extra_body={"ignore_eos": True})
        self.assertEqual(answer.status, "incomplete")
        self.assertEqual(answer.incomplete_details.reason, "max_output_tokens")

    def test_come_as_events_that_are_numbered(self):
        events = list(self.respond(stream=True))
        self.assertEqual([each.sequence_number for each in events], list(range(len(events))))
        self.assertEqual(events[0].type, "response.created")
        self.assertIn(events[-1].type, ("response.completed", "response.incomplete"))
        text = "".join(each.delta for each in events if each.type == "response.output_text.delta")
        self.assertEqual(text, events[-1].response.output_text)

    def test_keep_a_form(self):
        answer = self.respond(max_output_tokens=200, temperature=1.5, text={
            "format": {"type": "json_schema", "name": "person", "schema": PERSON, "strict": True}})
        self.assertEqual(set(json.loads(answer.output_text)), {"name", "age"})

    def test_take_instructions_and_items(self):
        self.respond(instructions="Be kind.", input=[{"role": "user", "content": "hi"},
                                                     {"role": "assistant", "content": "yes?"},
                                                     {"role": "user", "content": [{"type": "input_text", "text": "go"}]}])

    def test_that_need_a_state_are_refused(self):
        self.refused(lambda: self.respond(previous_response_id="resp_1"), param="previous_response_id")
        self.refused(lambda: self.respond(store=True), param="store")


class Errors(Client):
    def test_name_values_out_of_their_range(self):
        for name, value in (("temperature", -1), ("temperature", 2.5), ("top_p", 2), ("n", 0), ("n", 17), ("max_tokens", -1),
                            ("presence_penalty", 3), ("frequency_penalty", -3), ("top_logprobs", 21)):
            with self.subTest(name=name, value=value):
                more = {"logprobs": True} if name == "top_logprobs" else {}
                self.refused(lambda: self.chat(**{name: value}, **more), param=name)

    def test_name_messages_that_are_none(self):
        self.refused(lambda: self.chat(messages=[]), param="messages")
        self.refused(lambda: self.chat(messages=[{"role": "nobody", "content": "x"}]))
        self.refused(lambda: self.chat(messages=[{"role": "user"}]))

    def test_name_members_that_are_not_known(self):
        self.refused(lambda: self.chat(extra_body={"colour": "red"}), param="colour")

    def test_name_members_of_a_wrong_type(self):
        self.refused(lambda: self.chat(extra_body={"temperature": "hot"}), param="temperature")
        self.refused(lambda: self.chat(extra_body={"stream": "yes"}), param="stream")

    def test_tell_that_a_prompt_is_too_long_with_both_numbers(self):
        error = self.refused(lambda: self.chat(messages=[{"role": "user", "content": "word " * 1200}]),
                             code="context_length_exceeded")
        self.assertIn("1024", error.body["message"])

    def test_tell_that_embeddings_are_not_there(self):
        self.refused(lambda: self.client.embeddings.create(model=self.model, input="x"), 501)

    def test_tell_that_other_routes_are_not_there(self):
        with self.assertRaises(openai.NotFoundError):
            self.client.images.generate(model=self.model, prompt="x")

    def test_leave_the_next_request_alone(self):
        self.refused(lambda: self.chat(temperature=9))
        self.assertTrue(self.chat().choices[0].message.content)


class Embeddings(Client):
    flags = ["--embeddings", "--pooling", "mean"]

    def vectors(self, texts, **more):
        return self.client.embeddings.create(model=self.model, input=texts, **more)

    def test_are_vectors_of_length_one_in_the_order_of_their_texts(self):
        answer = self.vectors(["Once upon a time", "a dog", "Once upon a time"])
        self.assertEqual([each.index for each in answer.data], [0, 1, 2])
        self.assertEqual(answer.data[0].embedding, answer.data[2].embedding)
        self.assertNotEqual(answer.data[0].embedding, answer.data[1].embedding)
        for each in answer.data:
            self.assertAlmostEqual(sum(value * value for value in each.embedding), 1, places=5)
        self.assertGreater(answer.usage.prompt_tokens, 8)
        self.assertEqual(answer.usage.total_tokens, answer.usage.prompt_tokens)

    # Without a format the client asks for base64 and decodes it itself.
    def test_are_the_same_numbers_in_both_formats(self):
        packed = self.vectors("Once upon a time").data[0].embedding
        digits = self.vectors("Once upon a time", encoding_format="float").data[0].embedding
        self.assertEqual(len(packed), len(digits))
        for one, other in zip(packed, digits):
            self.assertAlmostEqual(one, other, places=6)

    def test_may_be_asked_for_by_token_ids(self):
        self.assertEqual(self.vectors([5, 9, 20]).usage.prompt_tokens, 3)
        self.assertEqual(len(self.vectors([[5, 9], [7]]).data), 2)

    def test_name_what_they_do_not_take(self):
        self.refused(lambda: self.vectors("x", dimensions=3), param="dimensions")
        self.refused(lambda: self.vectors(""), param="input")

    def test_stand_beside_texts(self):
        self.vectors("x")
        self.assertTrue(self.text().choices[0].text)


class Keys(Client):
    flags = ["--chat-template", "chatml", "--api-key", "any"]

    def test_that_are_right_open_the_server(self):
        self.assertTrue(self.chat().id)

    def test_that_are_wrong_do_not(self):
        with openai.OpenAI(base_url=self.serving.url + "/v1", api_key="wrong", max_retries=0) as other:
            with self.assertRaises(openai.AuthenticationError):
                other.models.list()


class FullLines(Client):
    flags = ["--chat-template", "chatml", "--queue", "0"]

    def test_are_told_with_a_time_to_try_again(self):
        busy = [self.chat(stream=True, max_tokens=400, extra_body={"ignore_eos": True}) for _ in range(4)]
        for each in busy:
            next(iter(each))
        with self.assertRaises(openai.RateLimitError) as caught:
            for _ in range(4):
                self.chat(max_tokens=300, n=4, temperature=1, extra_body={"ignore_eos": True})
        self.assertGreaterEqual(int(caught.exception.response.headers["retry-after"]), 1)
        for each in busy:
            each.close()


if __name__ == "__main__":
    Client.program = sys.argv[1]
    unittest.main(argv=[sys.argv[0], *(["-k", sys.argv[2]] if len(sys.argv) > 2 else [])])
