"""Language models on a GPU and an NPU that share one memory.

    import tandem
    with tandem.Model.load("model.gguf") as model:
        print(model.generate("Once upon a time", predict=16).text)

Token ids go in as any sequence or array of integers. Logits come out as float32 arrays of numpy, read-only. Times are
measured on the wall clock, unless a name says that they are predicted or modelled.
"""
from . import _interpreter  # first: it says why the library cannot be loaded
from . import npu
from ._errors import ContextError, DeviceError, Error, FileError, UsageError
from ._model import Chat, Generation, Logits, Machine, Model, Piece, Sequence, Stream
from ._planner import Operator, Work
from ._reports import Phase, Plan, Step, SyncLab, SyncRow, Trace, devices, sync_lab
from ._tandem import version as _version

__version__ = _version()
__all__ = [
    "Chat", "ContextError", "DeviceError", "Error", "FileError", "Generation", "Logits", "Machine", "Model", "Operator",
    "Phase", "Piece", "Plan", "Sequence", "Step", "Stream", "SyncLab", "SyncRow", "Trace", "UsageError", "Work", "devices",
    "npu", "sync_lab",
]
