"""What a hostile or unlucky user does: damaged files, absurd sizes, outputs that cannot or must not be written. Every
command ends with an exit code of its own and one sentence, and what stood at the output's place is still there."""

import os
import random
import unittest

import numpy as np
import tiny_onnx
from espalier_case import EspalierCase


def weights(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def small_network():
    nodes = [
        tiny_onnx.node("Conv", ["x", "u"], ["a"], "first", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        tiny_onnx.node("Conv", ["a", "v"], ["b"], "second", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        tiny_onnx.node("Relu", ["b"], ["c"], "relu"),
        tiny_onnx.node("MaxPool", ["c"], ["d"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        tiny_onnx.node("GlobalAveragePool", ["d"], ["e"], "average"),
        tiny_onnx.node("Flatten", ["e"], ["f"], "flatten"),
        tiny_onnx.node("Gemm", ["f", "w"], ["y"], "scores"),
    ]
    return tiny_onnx.model(nodes, [("x", "float32", ["batch", 16, 8, 8])], [("y", "float32", ["batch", 10])],
                           {"u": weights(16, 16, 3, 3), "v": weights(16, 16, 3, 3, seed=2), "w": weights(16, 10, seed=3)})


class Hostile(EspalierCase):
    def setUp(self):
        super().setUp()
        self.file = self.write("net.onnx", small_network())
        np.save(self.path("x.npy"), weights(1, 16, 8, 8))

    def ends_well(self, *arguments):
        outcome = self.run_program(*arguments)
        self.assertIn(outcome.code, (0, 1), f"{arguments}: {outcome.err}")
        if outcome.code == 1:
            self.assertTrue(outcome.err.startswith("espalier: "), outcome.err)
            self.assertNotIn("internal error", outcome.err)
        return outcome.code

    def damage(self, whole, generator):
        """Cuts, flipped bits and overwritten bytes; more often where structure is than where weights are."""
        data = bytearray(whole)
        if generator.random() < 0.15:
            return bytes(data[:generator.randrange(len(data))])
        for _ in range(generator.choice([1, 1, 2, 5])):
            near = generator.randrange(min(400, len(data)))
            at = generator.choice([near, len(data) - 1 - near, generator.randrange(len(data))])
            data[at] = generator.choice([data[at] ^ 1 << generator.randrange(8), generator.randrange(256), 0, 255])
        return bytes(data)

    def test_damaged_models(self):
        generator, whole = random.Random(1), small_network()
        codes = []
        for i in range(60):
            bad = self.write("bad.onnx", self.damage(whole, generator))
            command = generator.choice([
                ("info", bad), ("run", bad, "-i", "x=" + self.path("x.npy")),
                ("compile", bad, "-o", self.path("out.espl"), "--deterministic"),
                ("prune", bad, "-o", self.path("out.onnx"), "--pattern", "nm:2:4"),
                ("compare", bad, self.file, "--deterministic")])
            with self.subTest(i=i, command=command):
                codes.append(self.ends_well(*command))
        self.assertIn(1, codes)

    def test_damaged_plans(self):
        plan = self.path("net.espl")
        self.succeeds("prune", self.file, "-o", self.path("half.onnx"), "--pattern", "block:8x8", "--density", "0.5")
        self.succeeds("compile", self.path("half.onnx"), "-o", plan, "--deterministic")
        generator, whole = random.Random(2), (self.folder / "net.espl").read_bytes()
        codes = []
        for i in range(60):
            bad = self.write("bad.espl", self.damage(whole, generator))
            with self.subTest(i=i):
                codes.append(self.ends_well(*generator.choice([
                    ("run", bad, "-i", "x=" + self.path("x.npy")), ("compare", bad, bad),
                    ("explain", bad, "--seconds", "0.02")])))
        self.assertIn(1, codes)

    def test_names_that_steer_a_terminal(self):
        name = "\x1b[31mred\x07"
        data = tiny_onnx.model([tiny_onnx.node("Wibble", ["x"], ["y"], name)], [("x", "float32", [1])],
                               [("y", "float32", [1])], {})
        file = self.write("odd.onnx", data.replace(b"Wibble", b"Wib\xffle"))
        for command in (("info", file), ("compile", file, "-o", self.path("out.espl"))):
            outcome = self.run_program(*command)
            self.assertIn("?[31mred?", outcome.out + outcome.err)
            self.assertNotIn("\x1b", outcome.out + outcome.err)
            self.run_program(*command, "--json", "-").json

    def test_sizes_beyond_the_memory(self):
        self.fails("larger than the cap of", "bench", self.file, "--batch", str(1 << 30), "--seconds", "0.1")
        for op, inputs, constants in (
            ("ConstantOfShape", ["n"], {"n": [1 << 40]}),
            ("Expand", ["x", "n"], {"n": [1 << 40, 1]}),
            ("Tile", ["x", "n"], {"n": [1 << 40, 1]}),
            ("Pad", ["x", "n"], {"n": [1 << 40, 0, 0, 0]}),
            ("Resize", ["x", "", "", "n"], {"n": [1 << 40, 1]}),
        ):
            with self.subTest(op):
                data = tiny_onnx.model([tiny_onnx.node(op, inputs, ["y"], "huge")], [("x", "float32", [1, 1])],
                                       [("y", "float32", ["a", "b"])],
                                       {k: np.array(v, np.int64) for k, v in constants.items()})
                self.fails("node 'huge' (" + op, "compile", self.write("huge.onnx", data), "-o", self.path("out.espl"))
        self.assertFalse((self.folder / "out.espl").exists())

    def test_outputs_that_cannot_be_written(self):
        (self.folder / "folder").mkdir()
        commands = (("prune", self.file, "--pattern", "block:8x8", "--density", "0.5", "-o"),
                    ("compile", self.file, "--deterministic", "-o"), ("model", "resnet20", "-o"),
                    ("machine", "--json"))
        for command in commands:
            for place, message in ((self.path("folder"), "is a directory"), (self.path("none/out"), "none/out")):
                with self.subTest(command=command, place=place):
                    outcome = self.run_program(*command, place)
                    self.assertEqual(outcome.code, 1, outcome.err)
                    self.assertIn(message, outcome.err)
        self.fails("folder", "run", self.file, "-i", "x=" + self.path("x.npy"), "-o", "y=" + self.path("folder"))

    def test_a_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("needs /dev/full")
        os.symlink("/dev/full", self.path("full"))
        for command in (("prune", self.file, "--pattern", "block:8x8", "--density", "0.5", "-o"),
                        ("compile", self.file, "--deterministic", "-o"), ("machine", "--json")):
            with self.subTest(command):
                outcome = self.run_program(*command, self.path("full"))
                self.assertEqual(outcome.code, 1, outcome.err)
                self.assertIn("No space left", outcome.err)
        self.assertTrue(os.path.islink(self.path("full")))
        self.assertFalse(os.path.isfile("/dev/full"))

    def test_a_folder_that_is_read_only(self):
        folder = self.folder / "locked"
        folder.mkdir()
        (folder / "old.onnx").write_bytes(b"precious")
        folder.chmod(0o555)
        try:
            if os.access(folder, os.W_OK):
                self.skipTest("the user may write everywhere")
            self.fails("Permission denied", "prune", self.file, "--pattern", "nm:2:4", "-o", str(folder / "old.onnx"))
            self.assertEqual((folder / "old.onnx").read_bytes(), b"precious")
        finally:
            folder.chmod(0o755)

    def test_an_output_that_is_the_input(self):
        self.succeeds("prune", self.file, "-o", self.file, "--pattern", "block:8x8", "--density", "0.5")
        self.assertEqual(self.result("info", self.file)["layers"][1]["density"], 0.5)
        before = (self.folder / "net.onnx").read_bytes()
        os.symlink(self.file, self.path("link.onnx"))
        for name in (self.file, self.path("link.onnx")):
            self.fails("would replace the network that it is made from", "compile", self.file, "-o", name)
        self.assertEqual((self.folder / "net.onnx").read_bytes(), before)

    def test_a_plan_is_known_by_its_contents(self):
        plan = self.path("network.plan")
        self.succeeds("compile", self.file, "-o", plan, "--deterministic")
        self.succeeds("run", plan, "-i", "x=" + self.path("x.npy"))
        self.fails("a Plan holds no graph", "info", plan)

    def test_an_input_given_twice(self):
        self.fails("input 'x' is given twice", "run", self.file, *["-i", "x=" + self.path("x.npy")] * 2)

    def test_times_that_are_none(self):
        for text in ("-1", "0", "nan", "inf", "soon"):
            with self.subTest(text):
                self.fails("--seconds", "bench", self.file, "--seconds", text, code=2)
                self.fails("--seconds", "spmm", "--seconds", text, code=2)

    def test_a_3_of_4_matrix_is_no_2_of_4(self):
        pruned = weights(16, 16, 3, 3, seed=2)
        pruned[:, ::4] = 0
        data = small_network().replace(weights(16, 16, 3, 3, seed=2).tobytes(), pruned.tobytes())
        self.fails("nm:2:4", "info", self.write("three.onnx", data), "--expect", "nm:2:4")

    def test_empty_matrices(self):
        for rows, columns in ((0, 16), (16, 0), (0, 0)):
            with self.subTest(rows=rows, columns=columns):
                data = tiny_onnx.model([tiny_onnx.node("MatMul", ["x", "w"], ["y"], "product")],
                                       [("x", "float32", [2, rows])], [("y", "float32", [2, columns])],
                                       {"w": weights(rows, columns)})
                file = self.write("empty.onnx", data)
                for command in (("info", file), ("compile", file, "-o", self.path("e.espl")),
                                ("prune", file, "-o", self.path("e.onnx"), "--pattern", "block:8x8", "--density", "0.5")):
                    self.ends_well(*command)
                np.save(self.path("e.npy"), weights(2, rows))
                self.succeeds("run", file, "-i", "x=" + self.path("e.npy"), "-o", "y=" + self.path("y.npy"))
                np.testing.assert_array_equal(np.load(self.path("y.npy")), np.zeros((2, columns), np.float32))


if __name__ == "__main__":
    unittest.main()
