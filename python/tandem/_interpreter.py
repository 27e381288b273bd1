"""Says in one sentence why this interpreter cannot load the package's library."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import sysconfig


def _problem() -> str:
    here = pathlib.Path(__file__).parent
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return ("tandem is not tested on free-threaded interpreters, and refuses this one: take the usual build of Python")
    if any((here / ("_tandem" + suffix)).exists() for suffix in importlib.machinery.EXTENSION_SUFFIXES):
        if importlib.util.find_spec("numpy") is None:
            return f"tandem needs numpy, and {sys.executable} has none: pip install numpy, or take Debian's /usr/bin/python3"
        return ""
    libraries = ", ".join(sorted(path.name for path in here.glob("_tandem*.so"))) or "no library"
    wanted = importlib.machinery.EXTENSION_SUFFIXES[0]
    return (f"tandem was built for another interpreter or processor: {here} has {libraries}, and this Python loads "
            f"_tandem{wanted}; install the package with this Python")


if _problem():
    raise ImportError(_problem())
try:
    from . import _tandem as _library  # noqa: F401
except ImportError as error:
    raise ImportError(f"tandem's library cannot be loaded: {error}; ./dev setup installs the libraries that it needs") from error
