"""Writes the files of this folder with the version of wisp that is installed: python -m tests.jit_files.write.

Files of earlier versions are never written again: they prove that they can still be read.
"""

import json
import pathlib

import wisp
from tests.test_jit_files import X, make

FOLDER = pathlib.Path(__file__).parent


def grown(x, n: int):
    for i in range(n):
        if i % 2 == 0:
            x = x + 2
        else:
            x = x * 2
    return x + 4


def main():
    compiled = wisp.jit.script(make())
    compiled.save(FOLDER / "net_1.pt")
    with wisp.no_grad():
        result = [round(each, 4) for each in compiled(X).flatten().tolist()]
    (FOLDER / "net_1.json").write_text(json.dumps(result) + "\n")
    wisp.jit.script(grown).save(FOLDER / "function_1.pt")


if __name__ == "__main__":
    main()
