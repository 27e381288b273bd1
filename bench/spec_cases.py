"""Makes the cases of `./dev bench spec` of recorded outputs: a JSON object a line with a task, a prompt and an output.

  spec_cases.py TANDEM MODEL FOLDER > CASES
  spec_cases.py TANDEM MODEL FOLDER --own > CASES

FOLDER has speculative/pld_cnn_dm_outputs.json (summaries of a 7 B model), ui-automation/droidtask_prompts.json and
droidtask_vicuna_outputs.json (steps in a user interface), and speculative/spec_bench_question.jsonl (questions). An
edit is a text with 5 % of its words changed. A dialogue is a question with an output that has nothing to do with it, so
that drafts find little. TANDEM makes the token ids with the vocabulary of MODEL.

--own: prompts in the form of ChatML for texts of MODEL itself (`./dev bench spec --own`). They have the tasks of sd.npu
that data is here for: summaries, answers from documents (rag) and steps in a user interface.
"""

import json
import os
import random
import subprocess
import sys
import tempfile


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return [json.loads(line) for line in file] if name.endswith(".jsonl") else json.load(file)


def texts_of(folder):
    """(task, prompt, output), as text."""
    articles = read(folder, "speculative/pld_cnn_dm_outputs.json")
    outputs = [article["response_mistral7b"][0]["response_text"] for article in articles]
    for article, output in zip(articles[:20], outputs):
        yield "summary", article["prompt"], output
    prompts = read(folder, "ui-automation/droidtask_prompts.json")
    answers = read(folder, "ui-automation/droidtask_vicuna_outputs.json")
    steps = [(prompt, answer) for app in prompts for task in prompts[app] if task in answers.get(app, {})
             for prompt, answer in list(zip(prompts[app][task], answers[app][task]))[:3]
             if isinstance(prompt, str) and isinstance(answer, str)]
    for prompt, answer in steps[:40]:
        yield "ui", prompt, answer
    choose = random.Random(1)
    for article in articles[60:70]:
        words = article["prompt"].split(" ")[10:300]
        changed = [choose.choice(words) if choose.random() < 0.05 else word for word in words]
        yield "edit", "Rewrite this text:\n" + " ".join(words) + "\nRewritten:", " " + " ".join(changed)
    for question, output in zip(read(folder, "speculative/spec_bench_question.jsonl")[:15], outputs):
        yield "dialogue", question["turns"][0], output


def own_texts_of(folder, texts=8):
    """(task, prompt, ""): the same number of prompts of each task, of 300 to 6,000 letters."""
    def some(task, prompts):
        for prompt in [prompt for prompt in prompts if 300 <= len(prompt) <= 6000][:texts]:
            yield task, f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n", ""

    articles = read(folder, "speculative/pld_cnn_dm_outputs.json")
    bodies = [article["prompt"].split("Article:")[-1].replace("Summary:[/INST]", "").strip() for article in articles]
    yield from some("summary", [f"Summarize this article in a few sentences.\n\n{body}" for body in bodies])
    questions = read(folder, "speculative/spec_bench_question.jsonl")
    yield from some("rag", [each["turns"][0] for each in questions if each["category"] == "rag"])
    apps = read(folder, "ui-automation/droidtask_prompts.json")
    steps = [prompts[0] for app in apps for prompts in apps[app].values() if prompts and isinstance(prompts[0], str)]
    yield from some("ui", steps[::7])


def main(tandem, model, folder, own=""):
    if own not in ("", "--own"):
        sys.exit(f"spec_cases.py: unknown argument {own}")

    def ids_of(text):
        with tempfile.NamedTemporaryFile("w", encoding="utf-8", suffix=".txt") as file:
            file.write(text)
            file.flush()
            special = [] if own else ["--no-special"]
            printed = subprocess.run([tandem, "tokenize", "-m", model, "-f", file.name, *special],
                                     check=True, capture_output=True, text=True).stdout
        return [int(word) for word in printed.split()]

    for task, prompt, output in own_texts_of(folder) if own else texts_of(folder):
        prompt, output = ids_of(prompt), ids_of(output) if output else []
        if len(prompt) + len(output) <= 2000 and (own or len(output) > 1):
            print(json.dumps({"task": task, "prompt": prompt, "output": output}))


if __name__ == "__main__":
    main(*sys.argv[1:])
