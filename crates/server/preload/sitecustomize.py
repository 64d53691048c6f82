"""Python imports a file of this name at its start. This one belongs to Metroon: metroon_preload.py says what it is for.

Another sitecustomize that is found later on the path is imported as it would have been.
"""

import os
import sys

import metroon_preload


def _import_the_next():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != here]
    own = sys.modules.pop("sitecustomize", None)
    try:
        import sitecustomize  # noqa: F401
    except ImportError as error:
        if error.name != "sitecustomize":
            raise
        if own is not None:
            sys.modules["sitecustomize"] = own


if os.environ.get("METROON_PROXY"):
    metroon_preload.install()
_import_the_next()
