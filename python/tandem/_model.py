"""Models, their texts and sequences."""
from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import json
import operator
import os
import weakref
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Optional, Union, overload

import numpy as np

from . import _tandem
from ._errors import UsageError, path_bytes
from ._planner import Planner, placed_by
from ._reports import Plan, Trace, plan_of

Ids = Any  # a sequence or an array of integers
Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
Prompt = Union[str, "list[dict[str, Any]]", Ids]
Sampler = Callable[[Any], int]

_models: "weakref.WeakSet[Model]" = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for model in list(_models):
        model.close()


def _array(ids: Ids, failure: str, hint: str) -> Any:
    try:
        return np.asarray(ids)
    except ValueError as error:  # rows of several lengths
        raise UsageError(failure, f"{ids!r:.80}", hint) from error


def _list_of(items: Any, what: str) -> list[Any]:
    if items is None:
        return []
    if isinstance(items, (list, tuple)):
        return list(items)
    raise UsageError("an option is no list", f"{what}: {items!r:.80}", "Give a list of texts or ids")


def _optional_path(path: Optional[Path]) -> bytes:
    return b"" if path is None else path_bytes(path)


def _ids(ids: Ids) -> list[int]:
    array = _array(ids, "these are no token ids", "Give a list of integers")
    if array.ndim != 1 or (array.size > 0 and array.dtype.kind not in "iu"):
        raise UsageError("these are no token ids", f"{array.dtype} of shape {array.shape}", "Give a list of integers")
    if array.size > 0 and (int(array.min()) < 0 or int(array.max()) >= 2**31):
        raise UsageError("an id is no token of the vocabulary", f"{array.min()} to {array.max()}", "Ids begin at 0")
    return list(array.tolist())


def _text(text: str, what: str) -> str:
    """The text as it is. A lone surrogate is half of a character, so there is no UTF-8 for it."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: a str is wanted, and not {type(text).__name__}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise UsageError("a text has a lone surrogate, which is no character", f"{what}, at {error.start}",
                         "Decode its bytes with errors='replace'") from error
    return text


def _parents(parents: Ids) -> list[int]:
    array = _array(parents, "these are no parents of drafts", "Give a list of indices; -1: the draft follows the text")
    if array.ndim != 1 or (array.size > 0 and array.dtype.kind not in "iu"):
        raise UsageError("these are no parents of drafts", f"{array.dtype} of shape {array.shape}",
                         "Give a list of indices; -1: the draft follows the text")
    if array.size > 0 and (int(array.min()) < -1 or int(array.max()) >= 2**31):
        raise UsageError("a parent is no draft of the tree", f"{array.min()} to {array.max()}", "Indices begin at 0")
    return list(array.tolist())


def _token(chosen: Any) -> int:
    token = operator.index(chosen)  # TypeError: it is no whole number
    return token if 0 <= token < 2**31 else -1  # -1 is no token, which is an Error


class Logits(np.ndarray):  # type: ignore[type-arg]  # Debian's numpy has no parameters here
    """Read-only float32 values of a pass. They are an array of numpy, and other libraries may see the same memory
    through `__dlpack__` (`torch.from_dlpack(logits)`). DLPack has no read-only memory, so such a library can write into
    the values; no pass reads or writes them. What is computed of them is a usual array, or a number."""

    def __array_wrap__(self, made: Any, *_: Any) -> Any:
        plain = np.asarray(made)
        return plain if plain.ndim > 0 else plain[()]

    def __dlpack__(self, **options: Any) -> Any:
        return np.asarray(_Shared(self)).__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return (1, 0)  # kDLCPU


class _Shared:
    """The memory of an array, which it keeps alive."""

    def __init__(self, array: Any) -> None:
        self._array = array
        inner = array.__array_interface__
        self.__array_interface__ = {**inner, "data": (inner["data"][0], False)}


def _logits(values: Any) -> Logits:
    return np.asarray(memoryview(values)).view(Logits)


def _row(values: Any) -> Logits:
    row: Logits = _logits(values)[0]
    return row


@dataclass(frozen=True)
class Piece:
    """A piece of a text: whole characters, perhaps none. `id` is the newest token, or -1 for text that was held back.
    `logprob` is its natural logarithm of the probability by the model's own logits."""

    text: str
    id: int
    logprob: float


@dataclass(frozen=True)
class Generation:
    """A text that was written. `stop_reason`: "eos", "length", "stop", "context_full", "interrupted". `calls` are the
    calls of functions in an answer to messages with `tools`: {"name", "arguments"}, with arguments as JSON text."""

    text: str
    ids: list[int]
    stop_reason: str
    prompt_ids: list[int]
    timings: dict[str, Any] = field(repr=False)
    calls: list[dict[str, str]] = field(default_factory=list)


class Stream:
    """The pieces of a text as they are written: iterate with `for` or `async for`. `result` is the whole text, when it
    has ended. Dropping it ends the text."""

    def __init__(self, text: _tandem.Text, prompt_ids: list[int],
                 calls_of: Callable[[str], list[dict[str, str]]] = lambda _: []) -> None:
        self._text, self._prompt_ids, self._calls_of = text, prompt_ids, calls_of
        self._taken: Optional["concurrent.futures.Future[Any]"] = None  # a piece that a thread takes for `async for`

    def __iter__(self) -> "Stream":
        return self

    def __next__(self) -> Piece:
        taken, self._taken = self._taken, None
        got = self._text.next() if taken is None else taken.result()
        if got is None:
            raise StopIteration
        return Piece(got[2], got[0], got[1])

    def __aiter__(self) -> "Stream":
        return self

    async def __anext__(self) -> Piece:
        while True:
            taken = self._taken or self._take()
            try:
                got = await asyncio.wrap_future(taken)
            except asyncio.CancelledError:
                raise  # the next call gets this piece: a task that ends by a timeout loses none
            except BaseException:
                self._taken = None
                raise
            if self._taken is not taken:
                continue  # another task has it
            self._taken = None
            if got is None:
                raise StopAsyncIteration
            return Piece(got[2], got[0], got[1])

    def _take(self) -> "concurrent.futures.Future[Any]":
        """The next piece, which a thread waits for. Cancelling a task does not cancel it."""
        taken: "concurrent.futures.Future[Any]" = concurrent.futures.Future()
        taken.set_running_or_notify_cancel()

        def take() -> None:
            try:
                taken.set_result(self._text.next())
            except BaseException as error:
                taken.set_exception(error)

        asyncio.get_running_loop().run_in_executor(None, take)
        self._taken = taken
        return taken

    def cancel(self) -> None:
        """Ends the text within one pass, with the stop reason "interrupted"."""
        self._text.cancel()

    @property
    def result(self) -> Generation:
        """The whole text with its ids and times, once the stream has ended."""
        told = json.loads(self._text.result())
        return Generation(told["text"], told["ids"], told["stop_reason"], self._prompt_ids, told["timings"],
                          self._calls_of(told["text"]))

    def _drained(self) -> Generation:
        for _ in self:
            pass
        return self.result


class Machine:
    """Devices that several models share: `Model.load(path, machine=machine)`.

    device: "opencl:0,npu:0" or a list of names; none: those that plans need. threads: cores to use, 0 for all. The
    devices are freed when the last of its models is closed, and the machine by `close()` or at the end of `with`.
    """

    def __init__(self, device: Union[str, list[str], None] = None, threads: int = 0) -> None:
        self._machine: Optional[_tandem.Machine] = _tandem.Machine(_names(device), threads)

    def close(self) -> None:
        """Lets no further model use these devices. Models that use them stay as they are."""
        self._machine = None

    def __enter__(self) -> "Machine":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _open(self) -> _tandem.Machine:
        if self._machine is None:
            raise UsageError("the machine is closed", "machine", "Make another one")
        return self._machine


def _is_prompt(item: Any) -> bool:
    """Whether an item of a list is a prompt by itself: a text, ids, or messages. A message is none."""
    return isinstance(item, (str, list, tuple)) or isinstance(item, np.ndarray) and item.ndim == 1


def _names(device: Union[str, list[str], None]) -> list[str]:
    if not device:
        return []
    return device.split(",") if isinstance(device, str) else list(device)


class Model:
    """A model that is loaded, with its devices. Use `Model.load()`, and `with` or `close()` to free them.

    Any thread may call it. Texts of several threads share passes. Ctrl-C raises KeyboardInterrupt within one pass, and
    the model stays usable. In a child of os.fork() every call is a UsageError, and close() does nothing.
    """

    def __init__(self, model: _tandem.Model) -> None:
        self._model = model
        self._planner: Optional[Planner] = None
        _models.add(self)

    @classmethod
    def load(cls, path: Path, *, device: Union[str, list[str], None] = None, plan: str = "auto", context: int = 0,
             act: str = "", cache_type: str = "", parallel: int = 4, logit_rows: int = 0, threads: int = 0,
             expert_budget: str = "auto", host_budget: str = "auto", expert_copies: bool = False,
             expert_policy: str = "auto", packed: Optional[Path] = None, split: Optional[list[float]] = None,
             chunk: int = 0, draft_model: Optional[Path] = None, history: Optional[Path] = None,
             machine: Optional[Machine] = None) -> "Model":
        """Opens the devices and loads a GGUF file.

        device, plan, act, cache_type: as the flags of `tandem run`; act may also be "exact". context: most tokens of a
        text; 0: as trained, but not above 4096. parallel: texts that share a pass. logit_rows: tokens of a pass that
        get logits; 0: what fits into 64 MiB. Errors: FileError, DeviceError, UsageError.

        expert_budget, host_budget: memory for the experts of a mixture, "auto", "25%" or "2GiB"; a host_budget without
        a unit counts GiB. The others are read from the packed file in the user's cache, or from `packed`, a file of
        `tandem pack`. expert_copies: experts are copied into slots, which expert_budget counts, and expert_policy says
        which one leaves ("mrs", "lru", "lfu", "ema", "static"). `info["expert_store"]` says what came of them.
        split: shares of the plan's cuts, such as [0.5]; None: measured. chunk: most tokens of a pass. draft_model: a
        smaller model of the same vocabulary, whose choices are drafts. history: a file of earlier texts; drafts continue
        them, and this model's texts are added.

        machine: devices of several models; `device`, `threads` and `expert_copies` are then the machine's own.
        """
        return cls(_tandem.Model(path_bytes(path), _names(device), plan, act, cache_type, context, parallel, logit_rows,
                                 threads, expert_budget, host_budget, expert_copies, expert_policy,
                                 _optional_path(packed), [] if split is None else [float(each) for each in split],
                                 chunk, _optional_path(draft_model), _optional_path(history),
                                 None if machine is None else machine._open()))

    def close(self) -> None:
        """Ends the model's texts and frees its memory. A second call does nothing."""
        self._model.close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether close() was called, or the `with` block has ended."""
        return bool(self._model.is_closed())

    @property
    def vocabulary(self) -> int:
        """Tokens of the vocabulary: logits of a token."""
        return int(self._model.vocabulary())

    @property
    def context(self) -> int:
        """Most tokens of a text."""
        return int(self._model.context())

    @property
    def info(self) -> dict[str, Any]:
        """Architecture, sizes in bytes, devices, plan, notes, and why other plans may give other bits."""
        return dict(json.loads(self._model.report()))

    def tokenize(self, text: str, start: bool = True, special: bool = True) -> list[int]:
        """The ids of a text. start: with the start token, if the model wants one. special: special tokens in the text
        become their ids."""
        return list(self._model.ids(_text(text, "text"), start, special))

    def detokenize(self, ids: Ids, special: bool = False) -> str:
        """The text of ids. Bytes that are no UTF-8 become U+FFFD. special: special tokens show."""
        return bytes(self._model.text(_ids(ids), special)).decode("utf-8", "replace")

    def _prompt(self, prompt: Prompt, tools: Optional[list[Any]]) -> tuple[list[int], list[str]]:
        if isinstance(prompt, str):
            if tools:
                raise UsageError("functions are offered to a text", "tools", "Give messages as the prompt")
            return list(self._model.prompt(_text(prompt, "prompt"))), []
        if isinstance(prompt, (bytes, bytearray, memoryview)):
            raise UsageError("bytes are no text", f"{type(prompt).__name__}", "Decode them, or give a list of ids")
        items = list(prompt)
        if items and all(isinstance(each, dict) for each in items):
            said: dict[str, Any] = {"messages": items}
            if tools:
                said["tools"] = tools
            ids, stops = self._model.chat_prompt(json.dumps(said))
            return list(ids), list(stops)
        return _ids(items), []

    def stream(self, prompt: Prompt, *, predict: int = 128, temperature: float = 0.0, top_k: int = 40,
               top_p: float = 0.95, min_p: float = 0.05, repeat_penalty: float = 1.0, presence_penalty: float = 0.0,
               frequency_penalty: float = 0.0, seed: int = 0, stop: Union[str, list[str], None] = None,
               ignore_end: bool = False, logprobs: bool = False, json_schema: Any = None, grammar: str = "",
               json_object: bool = False, tools: Optional[list[Any]] = None, sampler: Optional[Sampler] = None,
               sequence: Optional["Sequence"] = None, spec: str = "auto", draft_max: int = 15,
               predictions: Optional[list[Union[str, Ids]]] = None) -> Stream:
        """Writes a text piece by piece. The arguments are those of `generate()`."""
        if json_schema == "":
            raise UsageError("the JSON schema is empty", "json_schema", "Give a schema, or None for a text of any form")
        ids, stops = self._prompt(prompt, tools)
        asked = _tandem.TextAsked()
        asked.predict, asked.ignore_end, asked.logprobs = predict, ignore_end, logprobs
        own_stops = [stop] if isinstance(stop, str) else list(stop or [])
        asked.stop = stops + [_text(each, "stop") for each in own_stops]
        asked.sample(temperature, top_k, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty, seed)
        schema = json_schema if isinstance(json_schema, str) else "" if json_schema is None else json.dumps(json_schema)
        asked.keep_form(_text(schema, "json_schema"), _text(grammar, "grammar"), json_object)
        asked.spec, asked.draft_max = _text(spec, "spec"), draft_max
        asked.predictions = [self.tokenize(each, start=False, special=False) if isinstance(each, str) else _ids(each)
                             for each in _list_of(predictions, "predictions")]
        if sampler is not None:
            choose = sampler
            asked.choose = lambda values: _token(choose(_row(values)))
        text = self._model.start(ids, asked, None if sequence is None else sequence._sequence)
        if not tools:
            return Stream(text, ids)
        offered = json.dumps(tools)
        return Stream(text, ids, lambda answer: list(json.loads(self._model.calls_of(answer, offered))))

    @overload  # type: ignore[misc]  # ids may be an array of any library, so the second form takes anything
    def generate(self, prompt: Union[list[str], tuple[str, ...], list[list[int]], list[list[dict[str, Any]]]],
                 **options: Any) -> list[Generation]: ...

    @overload
    def generate(self, prompt: Prompt, **options: Any) -> Generation: ...

    def generate(self, prompt: Any, **options: Any) -> Any:
        """Writes a text and returns a Generation; for a list of prompts, a list of them, which share passes.

        prompt: a text to continue; token ids; or messages, a list of {"role", "content"}, which are answered. The
        options have the defaults that `stream()` shows. predict: most tokens; below 0: until the model ends.
        temperature: 0 is greedy. top_k, top_p, min_p, repeat_penalty, presence_penalty, frequency_penalty, seed: as the
        flags of `tandem run`. stop: texts that end the text. json_schema (a dict or JSON), grammar (GBNF), json_object:
        the form that the text keeps. tools: the functions that messages offer, as the server takes them; a template
        without functions is a UsageError. sampler: a function from logits, float32 [vocabulary], to a token id, in
        place of the sampler; it must not call the model. sequence: continues this sequence, which has the text's
        beginning.

        spec: where drafts come from, "auto", "sdnpu", "pld", "sam" or "none". No draft changes the text, unless spec
        names one of the middle three where `info["bits_depend_on_passes"]` is true; a warning says so. draft_max: most
        drafts of a pass. predictions: texts or ids that the answer may look like. `timings` counts drafts.
        """
        if isinstance(prompt, (list, tuple)) and prompt and all(_is_prompt(each) for each in prompt):
            streams = [self.stream(each, **options) for each in prompt]
            return [each._drained() for each in streams]
        return self._write(prompt, **options)

    def _write(self, prompt: Prompt, **options: Any) -> Generation:
        return self.stream(prompt, **options)._drained()

    def chat(self, system: str = "", **options: Any) -> "Chat":
        """A conversation with a history. options: of `generate()`."""
        return Chat(self, system, options)

    def eval(self, ids: Ids) -> Logits:
        """Logits of every token, a read-only array float32 [tokens, vocabulary]. Row i predicts token i + 1.

        The array shows the buffer that the pass wrote, without a copy, and keeps it alive. Later passes write elsewhere
        until the array is gone. Two such buffers may be held at a time. Further results, and those of several passes
        (more tokens than `logit_rows`), are copied once."""
        return _logits(self._model.eval(_ids(ids)))

    def embed(self, text: Any, *, pooling: str = "", normed: bool = True) -> Logits:
        """The vector of a text, read-only float32 [width]; for a list of texts or of lists of ids, [texts, width].

        Texts of a list share passes. pooling: how the vectors of tokens become the text's, "mean", "cls" or "last";
        "": what the file says, "last" for a model that writes texts. normed: vectors have the length 1. An encoder
        gives vectors and nothing else. The numbers are those of `tandem embed`."""
        if isinstance(text, str):
            return _row(self._model.embed([self.tokenize(text)], pooling, normed))
        texts = [self.tokenize(each) if isinstance(each, str) else _ids(each) for each in text]
        return _logits(self._model.embed(texts, pooling, normed))

    def perplexity(self, text: Union[str, Ids]) -> float:
        """exp of the mean negative log-likelihood of the second and later tokens."""
        return float(self._model.perplexity(self.tokenize(text) if isinstance(text, str) else _ids(text)))

    def sequence(self) -> "Sequence":
        """A new, empty sequence."""
        return Sequence(self, _tandem.Sequence(self._model))

    def load_sequence(self, path: Path) -> "Sequence":
        """A sequence that `Sequence.save()` wrote."""
        return Sequence(self, _tandem.Sequence.load(self._model, path_bytes(path)))

    @property
    def planner(self) -> Optional[Planner]:
        """A function from Work, the predicted costs of a pass, to the places of its operators; None: the plan that was
        loaded. A place is a device, or for a matmul the devices' shares of its rows: {"opencl:0": 0.6, "npu:0": 0.4}.

        It is called once for each new kind of pass, and must not call the model. The rules of all plans are checked:
        each operator is placed once and on a device that runs it, and waits follow from what operators read and write.
        Texts keep their bits where `info["other_bits"]` is empty. A breach is an Error that names the operator."""
        return self._planner

    @planner.setter
    def planner(self, planner: Optional[Planner]) -> None:
        if planner is not None and not callable(planner):
            raise UsageError("a planner is a function", f"{planner!r:.80}", "Give a function from Work to places, or None")
        self._model.plan_by(None if planner is None else placed_by(planner))
        self._planner = planner

    def plan(self, prompt: int = 256) -> Plan:
        """The plan for a prompt of so many tokens and for one token behind it, with predicted times. Nothing runs."""
        return plan_of(self._model.plans(prompt))

    def trace(self) -> Trace:
        """Records what each device does: `with model.trace() as trace:`."""
        return Trace(self._model)


class Chat:
    """A conversation: `messages` is its history, which may be changed between turns."""

    def __init__(self, model: Model, system: str, options: dict[str, Any]) -> None:
        self._model, self._options = model, options
        self.messages: list[dict[str, Any]] = [{"role": "system", "content": system}] if system else []

    def say(self, text: str) -> str:
        """Adds a user's message and returns the answer, which is added too."""
        messages = self.messages + [{"role": "user", "content": text}]
        answer = self._model._write(messages, **self._options).text
        self.messages = messages + [{"role": "assistant", "content": answer}]
        return answer

    def stream(self, text: str) -> Iterator[Piece]:
        """The same piece by piece. The turn is added when the answer has ended."""
        messages = self.messages + [{"role": "user", "content": text}]
        stream = self._model.stream(messages, **self._options)
        yield from stream
        self.messages = messages + [{"role": "assistant", "content": stream.result.text}]


class Sequence:
    """A text whose keys and values stay on the devices. One call at a time."""

    def __init__(self, model: Model, sequence: _tandem.Sequence) -> None:
        self.model, self._sequence = model, sequence

    def __len__(self) -> int:
        return int(self._sequence.position())

    @property
    def ids(self) -> list[int]:
        """The ids of the sequence's tokens, in order."""
        return list(self._sequence.ids())

    def extend(self, ids: Ids) -> Logits:
        """Appends tokens. Returns the last one's logits, read-only float32 [vocabulary]; later passes do not change
        them."""
        return _row(self._sequence.extend(_ids(ids)))

    def fork(self, position: Optional[int] = None) -> "Sequence":
        """A sequence with the first `position` tokens (all of them), which share memory."""
        return Sequence(self.model, self._sequence.fork(len(self) if position is None else position))

    def rewind(self, position: int) -> None:
        """Drops the tokens from this position on."""
        self._sequence.rewind(position)

    def generate(self, prompt: Ids, **options: Any) -> Generation:
        """Continues the sequence with these ids, then with what the model writes: options of `Model.generate()`."""
        return self.model._write(_ids(prompt), sequence=self, **options)

    def draft(self, ids: Ids, parents: Ids) -> Logits:
        """Runs a tree of drafts behind the text in one pass: parents[i] is the index of token i's parent, -1 for the
        text's end. Returns their logits, read-only float32 [ids, vocabulary]. `accept()` keeps a path."""
        return _logits(self._sequence.draft(_ids(ids), _parents(parents)))

    def accept(self, path: Ids) -> None:
        """Appends the drafts of a path, indices of the tree, and drops the others."""
        self._sequence.accept(_ids(path))

    def save(self, path: Path) -> None:
        """Writes the sequence to a file, for `Model.load_sequence()`."""
        self._sequence.save(path_bytes(path))
