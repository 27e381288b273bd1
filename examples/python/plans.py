"""What each plan predicts for a prompt of 100 tokens: plans.py MODEL.gguf"""
import sys

import tandem

for plan in ("gpu-only", "npu-only", "tensor"):
    with tandem.Model.load(sys.argv[1], plan=plan) as model:
        for phase in model.plan(prompt=100).phases:
            print(f"{plan:10} {phase.name:8} {phase.predicted_ms:8.3f} ms predicted, {len(phase.steps)} steps")
