#!/usr/bin/env python3
"""Takes four networks trained on Fashion-MNIST through the `espalier` command and prints what sparsity gained.

Every figure comes from a command that is printed first, so that each can be run by hand. Needs only Python's own library;
the images are those of Debian's dataset-fashion-mnist (the real 10,000 test images).
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
NETWORKS = [
    ("dense", "dense.onnx", "dense"),
    ("block 8x8, half", "block8x8_half.onnx", "block:8x8"),
    ("2:4", "nm24.onnx", "nm:2:4"),
    ("block 16x4, quarter", "block16x4_quarter.onnx", "block:16x4"),
]


class Espalier:
    """The command with `--json -`; prints each call before making it."""

    def __init__(self, program):
        self.program = program

    def __call__(self, *arguments):
        print("$ espalier", *(pathlib.Path(a).name if a.endswith((".onnx", ".espl")) else a for a in arguments), flush=True)
        done = subprocess.run([self.program, *arguments, "--json", "-"], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"demo: the command failed: {done.stderr.strip() or done.stdout.strip()}")
        return json.loads(done.stdout)


def table(rows):
    """Prints rows of text, the first being the header, in aligned columns."""
    widths = [max(len(str(row[i])) for row in rows) for i in range(len(rows[0]))]
    for number, row in enumerate(rows):
        cells = [str(c).ljust(w) if i == 0 else str(c).rjust(w) for i, (c, w) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip())
        if number == 0:
            print("  ".join("-" * w for w in widths))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--espalier", required=True, help="the espalier program")
    parser.add_argument("--seconds", default="1.5", help="seconds of each race")
    options = parser.parse_args()
    espalier = Espalier(options.espalier)
    start = time.monotonic()

    with tempfile.TemporaryDirectory() as folder:
        machine = espalier("machine")
        print(f"  {machine['cores']} cores, {machine['isa']}, {machine['ceilings']['f32_gflops']:.0f} f32 GFLOP/s\n")

        rows = [("network", "top-1", "plan size", "1 image", "speed-up", "64 images", "speed-up")]
        reasons = {}
        for title, file, _ in NETWORKS:
            path = str(HERE / file)
            accuracy = espalier("eval", path, "--data", "fashion-mnist")
            plan = str(pathlib.Path(folder) / (pathlib.Path(file).stem + ".espl"))
            compiled = espalier("compile", path, "-o", plan)
            races = [espalier("bench", path, "--batch", b, "--seconds", options.seconds, "--peers", "dense") for b in ("1", "64")]
            rows.append((title, f"{accuracy['top1']:.2f} %", f"{compiled['bytes'] / 1e6:.2f} MB",
                         *(cell for race in races for cell in (f"{race['median_ms']:.3f} ms", f"{race['speedup']:.2f}x"))))
            reasons[title] = espalier("explain", path)["layers"]
            print()

        pruned = str(pathlib.Path(folder) / "one_shot.onnx")
        report = espalier("prune", str(HERE / "dense.onnx"), "-o", pruned, "--pattern", "block:8x8", "--density", "0.5")
        one_shot = espalier("eval", pruned, "--data", "fashion-mnist")
        dense_top1 = rows[1][1]
        print(f"  pruned now, not trained again: {one_shot['top1']:.2f} % (dense {dense_top1}); "
              f"{len(report['layers'])} layers pruned, {len(report['skipped'])} left dense")
        for layer in report["skipped"]:
            print(f"    {layer['name']}: {layer['reason']}")

    print("\nWhy, layer by layer (block 16x4, quarter):")
    table([("layer", "pattern", "density", "kernel", "sparse", "dense", "reason")]
          + [(l["name"], l["pattern"], f"{l['density']:.2f}", l["kernel"], f"{l['measured_ms']:.3f} ms", f"{l['dense_ms']:.3f} ms",
              l["reason"]) for l in reasons["block 16x4, quarter"]])
    print("\nFour networks, the 10,000 test images of Fashion-MNIST; speed-up is against our own dense, same threads:")
    table(rows)
    print(f"\n{time.monotonic() - start:.0f} s in all")


if __name__ == "__main__":
    main()
