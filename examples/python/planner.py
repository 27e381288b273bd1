"""A planner of one's own, which divides each matmul by the devices' speeds: planner.py MODEL.gguf"""
import sys

import tandem


def planner(work: tandem.Work) -> "list[str | dict[str, float]]":
    places: "list[str | dict[str, float]]" = []
    for op in work.operators:
        speeds = {device: 1 / op.seconds[device] for device in work.cutters}
        if op.rows and all(speeds.values()):
            places.append({device: speed / sum(speeds.values()) for device, speed in speeds.items()})
        else:
            places.append(min(op.seconds, key=lambda device: op.seconds[device]))
    return places


with tandem.Model.load(sys.argv[1], device="opencl:0,npu:0", act="f16") as model:
    usual = model.generate("Once upon a time", predict=16)
    model.planner = planner
    own = model.generate("Once upon a time", predict=16)
    print(own.text, "the same text" if own.ids == usual.ids else "another text", f"{own.timings['predicted_ms']:.1f} ms")
