#!/usr/bin/env python3
"""Fits the IPU model's constants to the published figures, and tests the fit out of sample.

    bench_ipu_published --features features.json
    python3 bench/ipu_published/fit.py features.json

Prints the constants of src/targets/ipu/calibration.hpp. What is fitted: four weights of a dense product and seven of a
static one (f16) together, on the speed-up grid, the dense curves and the rates that are best over n; four weights of an
f32 dense product on its curves; one factor each for dynamic products of blocks and of entries. Compute is not weighted:
its cycles are as the vertices state them. The index-list limit is read off the cells that ran out of memory. Needs NumPy
and SciPy.
"""
import json
import math
import sys

import numpy as np
from scipy.optimize import least_squares

# The first term of each is compute, with the weight 1.
DENSE_NAMES = ["load", "exchange", "reduce", "fixed"]
STATIC_NAMES = ["exchange", "gather", "final_move", "fixed", "group", "transfer", "entry"]
DENSE_START = [3.6, 0.6, 2.3, 1780.0]
STATIC_START = [0.9, 1.2, 2.5, 1100.0, 5.0, 17.0, 0.6]
# Weights of the residuals beside those of the grid, which are many more.
DENSE_WEIGHT, BEST_WEIGHT, BEST_DENSE_WEIGHT = 3.0, 1.5, 2.0


def load(path):
    with open(path) as file:
        data = json.load(file)
    for entry in data["dense"]:
        terms = np.array(entry["candidates"], float)
        entry["terms"] = np.hstack([terms, np.ones((len(terms), 1))])
    data["dense_by"] = {(e["dtype"], e["m"], e["n"]): e["terms"] for e in data["dense"]}
    return data


def dense_cycles(data, dtype, m, n, weights):
    return (data["dense_by"][dtype, m, n] @ weights).min()


def rate(data, m, n, cycles):
    return 2.0 * m * m * n / cycles * data["clock_hz"] / 1e12


def with_compute(weights):
    return np.concatenate([[1.0], weights])


def fit_half(data, cells):
    """Dense and static f16 weights from these grid cells and all other f16 figures."""
    # Least squares works on factors of the start, since fixed costs are thousands and weights are ones.
    base = np.array(DENSE_START + STATIC_START)
    static = np.array([c["terms"] for c in cells], float)
    speedup = np.array([c["speedup"] for c in cells])
    keys = sorted({(c["m"], c["n"]) for c in cells})
    key_of = np.array([keys.index((c["m"], c["n"])) for c in cells])
    curves = [r for r in data["dense_rates"] if r["dtype"] == "f16"]
    best = [b for b in data["best"] if b["mode"] == "static" and b["terms"]]
    best_dense = data["best_dense"]
    columns = sorted({n for dtype, m, n in data["dense_by"] if m == best_dense[0]["m"]})

    def residuals(x):
        dense, weights = with_compute(x[:4] * base[:4]), with_compute(x[4:] * base[4:])
        per_key = np.array([dense_cycles(data, "f16", m, n, dense) for m, n in keys])
        grid = np.log(per_key[key_of] / (static @ weights) / speedup)
        rates = [math.log(rate(data, r["m"], r["n"], dense_cycles(data, "f16", r["m"], r["n"], dense)) / r["tflops"])
                 for r in curves]
        tops = [math.log(max(rate(data, b["m"], t["n"], np.dot(t["terms"], weights)) for t in b["terms"])
                         / b["inverse_density"] / b["tflops"]) for b in best]
        dense_tops = [math.log(max(rate(data, b["m"], n, dense_cycles(data, "f16", b["m"], n, dense)) for n in columns)
                               / b["tflops"]) for b in best_dense]
        return np.concatenate([grid, DENSE_WEIGHT * np.array(rates), BEST_WEIGHT * np.array(tops),
                               BEST_DENSE_WEIGHT * np.array(dense_tops)])

    result = least_squares(residuals, np.ones(len(base)), bounds=(0, 20))
    return with_compute(result.x[:4] * base[:4]), with_compute(result.x[4:] * base[4:])


def grid_errors(data, cells, dense, weights):
    return np.array([math.log(dense_cycles(data, "f16", c["m"], c["n"], dense) / np.dot(c["terms"], weights)
                              / c["speedup"]) for c in cells])


def summary(errors):
    return (f"spread {math.exp(errors.std()):.3f}, mean {math.exp(errors.mean()):.3f}, "
            f"within 1.3 {100 * (abs(errors) <= math.log(1.3)).mean():.1f} %, worst {math.exp(abs(errors).max()):.2f}")


def fit_dense_f32(data):
    base = np.array([5.0, 0.4, 6.0, 2000.0])
    curves = [r for r in data["dense_rates"] if r["dtype"] == "f32"]

    def residuals(x):
        return [math.log(rate(data, r["m"], r["n"], dense_cycles(data, "f32", r["m"], r["n"], with_compute(x * base))) / r["tflops"])
                for r in curves]

    # Squared once more: the worst point counts.
    result = least_squares(lambda x: np.array(residuals(x)) * np.abs(residuals(x)) * 10, np.ones(4), bounds=(0, 20))
    return result.x * base, np.array(residuals(result.x))


def dynamic_factor(data, blocks):
    errors = []
    for b in data["best"]:
        if b["mode"] != "dynamic" or (b["block"] > 1) != blocks or b["m"] != 4096 or not b["terms"]:
            continue
        # Powers of 4, as were measured.
        top = max(rate(data, b["m"], t["n"], t["terms"]) for t in b["terms"] if math.log2(t["n"]) % 2 == 0)
        errors.append(math.log(top / b["inverse_density"] / b["tflops"]))
    return math.exp(np.mean(errors)), np.array(errors)


def main():
    data = load(sys.argv[1])
    cells = [c for c in data["grid"] if c["speedup"] is not None and c["planned"]]
    raw = np.array([math.log(dense_cycles(data, "f16", c["m"], c["n"], with_compute(np.array(DENSE_START)))
                             / c["raw"] / c["speedup"]) for c in cells])
    print("uncalibrated:", summary(raw))
    dense, weights = fit_half(data, cells)
    print("all cells:   ", summary(grid_errors(data, cells, dense, weights)))
    print("dense f16 ", dict(zip(DENSE_NAMES, np.round(dense[1:], 3))))
    print("static f16", dict(zip(STATIC_NAMES, np.round(weights[1:], 3))))
    rng = np.random.default_rng(1)
    for repeat in range(5):
        order = rng.permutation(len(cells))
        halves = [[cells[i] for i in order[: len(cells) // 2]], [cells[i] for i in order[len(cells) // 2:]]]
        for fitted, tested in (halves, halves[::-1]):
            half_dense, half_weights = fit_half(data, fitted)
            print(f"half {repeat}, out of sample:", summary(grid_errors(data, tested, half_dense, half_weights)))
    ran = [c["list_words"] for c in cells]
    failed = [c["list_words"] for c in data["grid"] if c["speedup"] is None and c["planned"]]
    print(f"index list: ran with at most {max(ran)} words, out of memory from {min(failed)} on")
    f32, errors = fit_dense_f32(data)
    print("dense f32 ", dict(zip(DENSE_NAMES, np.round(f32, 3))), summary(errors))
    for blocks in (True, False):
        factor, errors = dynamic_factor(data, blocks)
        print("dynamic, " + ("blocks" if blocks else "entries") + f": factor {factor:.3f}", summary(errors))


if __name__ == "__main__":
    main()
