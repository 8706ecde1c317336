"""Training steps and inference in float32 and under autocast to bfloat16, in both libraries, alternately in one process.

Worth running on processors with instructions for bfloat16 (AVX512-BF16); elsewhere autocast saves memory at most.
"""

import argparse
import contextlib
import importlib
import json
import os
import time

import result_tables as tables
import workload_models as models
from workload_models import numbers, words

HERE = os.path.dirname(os.path.abspath(__file__))


def digits(T):
    return models.digits_cnn(T, 28, 0.0), numbers(T, 1, 64, 1, 28, 28), words(T, 2, 10, 64)


def resnet(T):
    model = models.resnet(T, [3, 4, 6, 3], 64, 1000)
    return model, numbers(T, 1, 8, 3, 160, 160), words(T, 2, 1000, 8)


def gpt(T):
    model = models.gpt(T, vocabulary=512, length=256, width=384, heads=6, layers=6)
    return model, words(T, 1, 512, 4, 256), words(T, 2, 512, 4 * 256)


def lstm(T):
    model = models.lstm_language_model(T, vocabulary=10_000, hidden=650, layers=2)
    return model, words(T, 1, 10_000, 35, 20), words(T, 2, 10_000, 35 * 20)


CASES = {"MNIST CNN, batch 64": digits, "ResNet-50, batch 8": resnet, "GPT 6 x 384, batch 4": gpt, "LSTM 650": lstm}


def casting(T, cast):
    return T.autocast("cpu", dtype=T.bfloat16) if cast else contextlib.nullcontext()


def steps(T, case):
    """{(what, whether it casts): function}"""
    model, x, y = CASES[case](T)
    optimiser = T.optim.SGD(model.parameters(), lr=1e-4)

    def train(cast):
        optimiser.zero_grad()
        with casting(T, cast):
            found = model(x)
            loss = T.nn.functional.cross_entropy(found.reshape(-1, found.shape[-1]), y)
        loss.backward()
        optimiser.step()

    def infer(cast):
        with T.inference_mode(), casting(T, cast):
            model(x)

    kinds = {"training": train, "inference": infer}
    return {(what, cast): lambda f=f, cast=cast: f(cast) for what, f in kinds.items() for cast in (False, True)}


def measure(libraries, case, rounds):
    calls = {(name, *key): f for name, T in libraries.items() for key, f in steps(T, case).items()}
    best = dict.fromkeys(calls, float("inf"))
    for _ in range(rounds):
        for key, f in calls.items():
            time.sleep(0.01)  # until the other library's idle threads have stopped spinning
            for _ in range(2):
                start = time.perf_counter()
                f()
                best[key] = min(best[key], time.perf_counter() - start)
    return best


def row_of(case, what, best):
    wisp, cast = best["wisp", what, False], best["wisp", what, True]
    row = {"case": case, "what": what, "wisp": wisp, "wisp_autocast": cast, "gain": wisp / cast}
    if ("torch", what, True) in best:
        rival = best["torch", what, True]
        row |= {"torch": best["torch", what, False], "torch_autocast": rival, "times_faster": rival / cast}
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--libraries", default="wisp,torch")
    parser.add_argument("--only", default="", help="part of a case's name")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", default=os.path.join(HERE, "autocast.json"))
    options = parser.parse_args()
    libraries = {name: importlib.import_module(name) for name in options.libraries.split(",")}
    for T in libraries.values():
        T.set_num_threads(options.threads)
    rows = []
    for case in CASES:
        if options.only not in case:
            continue
        best = measure(libraries, case, options.rounds)
        rows += [row_of(case, what, best) for what in ("training", "inference")]
    print(tables.autocast(rows))
    if not options.only:
        with open(options.json, "w") as f:
            json.dump(rows, f, indent=1)


if __name__ == "__main__":
    main()
