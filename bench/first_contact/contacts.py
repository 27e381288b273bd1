"""Calls both programs for first_contact.py, and checks every run before its time counts."""

import os
import re
import subprocess

import launches
import programs
from processes import Failed

CONTEXT = 4096  # positions, for both; the peer's default is the model's trained context, gigabytes for some models
PROSE = ("The river ran past the mill and under the old bridge, where the children of the village came to swim in the "
         "long evenings of summer. Nobody knew who had built it, or why its stones were of another colour than those "
         "of the houses, but everybody had a story about it. ")
TURNS = (
    "Tell me about a small town by the sea.", "What do the people there do all day?", "Is there a harbour?",
    "Who owns the largest boat?", "How old is he?", "Does he have a family?", "What is the weather like in winter?",
    "Where do the children go to school?", "Which of the houses is the oldest one?", "Who lives in it today?",
    "What do they eat for dinner?", "Is there a train to the next city?", "How long does it take?",
    "What would a visitor want to see?", "Are there any festivals?", "Which one is the best?",
    "When does it begin?", "What do they sing?", "Do you know the words?", "Thank you, and good night.")
TURN_TOKENS = 40  # tokens of a turn's line and its answer together, as the peer's interactive mode counts
# Lines that the interactive mode prints at its end.
_PEER_READ = re.compile(r"prompt eval time =.*/\s*(\d+) tokens")
_PEER_RUNS = re.compile(r"eval time =.*/\s*(\d+) runs")


def peer_dialogue_tokens(messages):
    """(read, generated) by the peer's own figures; it reads the last token of an answer with the next turn."""
    read, runs = _PEER_READ.search(messages), _PEER_RUNS.search(messages)
    if not read or not runs:
        raise Failed("llama-completion did not say how many tokens it had")
    return int(read[1]) + int(runs[1])


class Contacts:
    """Tandem's text for a prompt must be the same in every run, cold or warm."""

    def __init__(self, peer, tandem, dialogue, timeout):
        self._peer, self._tandem, self._dialogue, self._timeout = peer, tandem, dialogue, timeout
        self._texts = {}  # by model, prompt and count
        self._counts = {}  # numbers of tokens, by model and prompt

    def tandem(self, model, prompt, count, cache):
        launch = self._launch(model, self._tandem.completion(model, prompt, count, "--ctx-size", str(CONTEXT)), cache)
        self._check((model, prompt, count), launch.output)
        if programs.positions_in(launch.messages) != self.tokens(model, prompt) + count:
            raise Failed("tandem run did not have as many tokens as it was asked for")
        return launch

    def peer(self, model, prompt, count):
        command = self._peer.completion(model, prompt, count, "-c", str(CONTEXT), "--no-display-prompt")
        return self._launch(model, command)

    def tandem_dialogue(self, model, cache):
        answers = self._answers(model)
        command = [self._dialogue, "-m", model, "--ctx-size", str(CONTEXT), "--answers", ",".join(map(str, answers)),
                   "--tandem", self._tandem.path]
        launch = self._launch(model, command, cache, "".join(turn + "\n" for turn in TURNS))
        self._check((model, TURNS, tuple(answers)), launch.output)
        return launch

    def peer_dialogue(self, model):
        command = self._peer.completion(model, TURNS[0], TURN_TOKENS, "-c", str(CONTEXT), "--no-display-prompt",
                                        "--interactive", "--simple-io")
        launch = self._launch(model, command, lines="".join(turn + "\n" for turn in TURNS[1:]))
        # Every token except the very last one is computed once; each turn's line and answer are TURN_TOKENS.
        wanted = self.tokens(model, TURNS[0]) + len(TURNS) * TURN_TOKENS - 1
        if abs(peer_dialogue_tokens(launch.messages) - wanted) > len(TURNS):
            raise Failed(f"llama-completion had {peer_dialogue_tokens(launch.messages)} tokens, not {wanted}")
        return launch

    def tokens(self, model, prompt):
        if (model, prompt) not in self._counts:
            self._counts[model, prompt] = len(self._ids(model, prompt))
        return self._counts[model, prompt]

    def prompt_of(self, model, length):
        """A text of about `length` tokens, because not every row of tokens comes back from its text."""
        added = self.tokens(model, PROSE) - len(self._ids(model, PROSE, special=False))
        ids = self._ids(model, PROSE * (2 + length // 40), special=False)[:max(1, length - added)]
        return self._tool([self._tandem.path, "tokenize", "-m", model, "--decode", "-p", " ".join(ids)])

    def known_type(self, model):
        return os.path.basename(model).rsplit(".", 2)[1]

    def _answers(self, model):
        """Tokens of each answer. The peer subtracts a line's tokens from its answer's, except for the first one."""
        lengths = [len(self._ids(model, turn, special=False)) for turn in TURNS[1:]]
        return [TURN_TOKENS, *(TURN_TOKENS - length for length in lengths)]

    def _ids(self, model, text, special=True):
        arguments = [self._tandem.path, "tokenize", "-m", model, "-p", text, *(["--bos"] if special else [])]
        return self._tool(arguments).split()

    def _tool(self, arguments):
        result = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                timeout=self._timeout, env=launches.environment())
        if result.returncode != 0:
            raise Failed(f"tandem {arguments[1]} ended with status {result.returncode}", result.stderr)
        return result.stdout

    def make_random(self, shape, type_name):
        """Makes a model file of random weights, and keeps it for the next time."""
        path = os.path.join(programs.made_models(), f"{shape}-random.{type_name}.gguf")
        if not os.path.isfile(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            self._tool([self._tandem.path, "make-random", "--shape", shape, "--type", type_name, "-o", path, "-q"])
        return path

    def _launch(self, model, command, cache=None, lines=""):
        return launches.launch(command, cache, lines, self._timeout, model)

    def _check(self, key, text):
        if self._texts.setdefault(key, text) != text:
            raise Failed("tandem wrote another text than in an earlier run of the same prompt")
