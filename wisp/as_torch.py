"""Importing this module makes wisp stand in for torch: every `import torch` that follows gives wisp.

Processes started with multiprocessing inherit it. To run a whole script this way, unchanged, use
``python -m wisp.torch script.py``.
"""

from wisp._drop_in import install

install()
