"""Language models on a GPU and an NPU that share one memory.

    import tandem
    with tandem.Model.load("model.gguf") as model:
        print(model.generate("Once upon a time", predict=16).text)

Token ids go in as any sequence or array of integers. Logits come out as float32 arrays of numpy, read-only. Times are
measured on the wall clock, unless a name says that they are predicted or modelled.
"""
from . import npu
from ._errors import ContextError, DeviceError, Error, FileError, UsageError
from ._model import Chat, Generation, Machine, Model, Piece, Sequence, Stream
from ._reports import Phase, Plan, Step, Trace, devices
from ._tandem import version as _version

__version__ = _version()
__all__ = [
    "Chat", "ContextError", "DeviceError", "Error", "FileError", "Generation", "Machine", "Model", "Phase", "Piece",
    "Plan", "Sequence", "Step", "Stream", "Trace", "UsageError", "devices", "npu",
]
