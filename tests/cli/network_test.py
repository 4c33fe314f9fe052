"""model, info and prune on good and bad networks."""

import os
import unittest

import numpy as np
import tiny_onnx
from espalier_case import EspalierCase


def weights(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Model(EspalierCase):
    # Parameters as published; multiply-accumulates of one image as the papers and fvcore count them.
    PUBLISHED = {
        "resnet50": (25_557_032, 4_089_184_256),
        "vgg16": (138_357_544, 15_470_264_320),
        "inception_v3": (23_834_568, 5_713_216_096),
        "mobilenet_v2": (3_504_872, 300_774_272),
        "resnet20": (269_722, 40_551_040),
    }

    def test_published_sizes(self):
        for name, (parameters, macs) in self.PUBLISHED.items():
            with self.subTest(name):
                info = self.result("info", name)
                self.assertEqual((info["parameters"], info["macs"]), (parameters, macs))

    def test_transformers_count_128_tokens(self):
        for name, parameters, layers, hidden in (("minilm", 22_713_216, 6, 384), ("bert_base", 109_482_240, 12, 768)):
            shapes = [f"--shape={i}=1x128" for i in ("input_ids", "attention_mask", "token_type_ids")]
            info = self.result("info", name, *shapes)
            # Projections and feed-forward on 128 tokens, scores and context, and the pooler on one token.
            layer = 128 * 12 * hidden * hidden + 2 * 128 * 128 * hidden
            self.assertEqual((info["parameters"], info["macs"]), (parameters, layers * layer + hidden * hidden))

    def test_what_is_written_has_the_size_that_is_said(self):
        made = self.result("model", "resnet20", "-o", self.path("r.onnx"))
        self.assertEqual((made["parameters"], made["macs"]), self.PUBLISHED["resnet20"])
        self.assertEqual(self.result("info", self.path("r.onnx"))["macs"], made["macs"])
        self.assertGreater(os.path.getsize(self.path("r.onnx")), 4 * made["parameters"])

    def test_seeds(self):
        for name, seed in (("a", 1), ("b", 1), ("c", 2)):
            self.succeeds("model", "resnet20", "-o", self.path(name), "--seed", seed)
        read = {name: (self.folder / name).read_bytes() for name in "abc"}
        self.assertEqual(read["a"], read["b"])
        self.assertNotEqual(read["a"], read["c"])

    def test_unknown_name(self):
        self.fails("no model is called 'resnet51'; the models are resnet50, vgg16", "model", "resnet51", "-o", "x.onnx")

    def test_output_that_cannot_be_written(self):
        self.fails("none/x.onnx", "model", "resnet20", "-o", self.path("none/x.onnx"))


class Info(EspalierCase):
    def test_layers_of_a_known_network(self):
        info = self.result("info", "resnet20")
        self.assertEqual(info["parameters"], 269_722)
        self.assertEqual(info["fraction_supported"], 1)
        self.assertEqual(info["unsupported"], [])
        self.assertEqual(len(info["layers"]), 20)
        first = info["layers"][0]
        self.assertEqual((first["name"], first["op"], first["shape"], first["pattern"]),
                         ("conv1", "Conv", [16, 3, 3, 3], "dense"))
        self.assertEqual(first["macs"], 16 * 27 * 32 * 32)

    def test_batch_and_shape(self):
        one = self.result("info", "resnet20")["macs"]
        self.assertEqual(self.result("info", "resnet20", "--batch", "4")["macs"], 4 * one)
        self.assertEqual(self.result("info", "resnet20", "--shape", "image=2x3x32x32")["macs"], 2 * one)
        self.fails("the model has no input 'img'", "info", "resnet20", "--shape", "img=1x3x32x32")
        self.fails("input 'image' has shape batchx3x32x32, which 1x1x32x32 does not fit", "info", "resnet20", "--shape",
                   "image=1x1x32x32")

    def test_unknown_operators_are_listed_and_nothing_fails(self):
        nodes = [
            tiny_onnx.node("Frobnicate", ["x"], ["a"], "first", domain="ai.example"),
            tiny_onnx.node("MatMul", ["a", "w"], ["b"], "product"),
            tiny_onnx.node("Wibble", ["b"], ["y"], "last"),
        ]
        data = tiny_onnx.model(nodes, [("x", "float32", [1, 16])], [("y", "float32", [1, 32])], {"w": weights(16, 32)},
                               domains=["ai.example"])
        info = self.result("info", self.write("odd.onnx", data))
        self.assertEqual([(u["name"], u["op"], u["domain"], u["opset"]) for u in info["unsupported"]],
                         [("first", "Frobnicate", "ai.example", 1), ("last", "Wibble", "", 17)])
        self.assertAlmostEqual(info["fraction_supported"], 1 / 3)
        self.assertEqual(info["layers"][0]["name"], "product")
        self.assertEqual(info["parameters"], 16 * 32)

    def test_missing_file(self):
        self.fails("nowhere.onnx: no such file, and no model of that name; the models are resnet50", "info",
                   "nowhere.onnx")

    def test_a_plan_holds_no_graph(self):
        self.fails("half.espl: a Plan holds no graph; give the ONNX file it was compiled from", "info", "half.espl")

    def test_truncated_and_foreign_files(self):
        self.succeeds("model", "resnet20", "-o", self.path("whole.onnx"))
        whole = (self.folder / "whole.onnx").read_bytes()
        for size in (0, 1, 100, len(whole) // 2, len(whole) - 1):
            with self.subTest(size=size):
                self.fails("cut.onnx", "info", self.write("cut.onnx", whole[:size]))
        self.fails("text.onnx", "info", self.write("text.onnx", b"this is not a network at all\n" * 10))

    def test_three_of_four_is_not_two_of_four(self):
        second = weights(32, 16, seed=2)
        second.T.reshape(16, 8, 4)[:, :, 3] = 0
        file = self.write("three.onnx", tiny_onnx.perceptron(weights(32, 32), second))
        self.fails(
            f"{file}: node 'scores' (MatMul, opset 17): weight has 3 kept values in group (row 0, columns 0..3); nm:2:4 "
            f"allows 2. Prune it first: espalier prune {file} -o OUT.onnx --pattern nm:2:4", "info", file, "--expect",
            "nm:2:4")
        self.succeeds("info", file, "--expect", "nm:3:4")


class Prune(EspalierCase):
    def setUp(self):
        super().setUp()
        self.file = self.write("dense.onnx", tiny_onnx.perceptron(weights(32, 64), weights(64, 16, seed=2)))

    def test_blocks_and_the_report(self):
        out = self.path("half.onnx")
        report = self.result("prune", self.file, "-o", out, "--pattern", "block:8x8", "--density", "0.5")
        self.assertEqual([(l["name"], l["pattern"], l["density"]) for l in report["layers"]],
                         [("hidden", "block:8x8", 0.5), ("scores", "block:8x8", 0.5)])
        self.assertEqual(report["density"], 0.5)
        self.assertEqual(report["skipped"], [])
        for layer in report["layers"]:
            self.assertTrue(0.5 < layer["kept_score"] < 1)
        patterns = [(l["pattern"], l["density"]) for l in self.result("info", out)["layers"]]
        self.assertEqual(patterns, [("block:8x8", 0.5), ("block:8x8", 0.5)])
        self.succeeds("info", out, "--expect", "block:8x8")

    def test_sparsity_is_one_minus_density(self):
        out = self.path("out.onnx")
        report = self.result("prune", self.file, "-o", out, "--pattern", "block:8x8", "--sparsity", "0.75")
        self.assertEqual(report["density"], 0.25)

    def test_nm_needs_no_density(self):
        out = self.path("out.onnx")
        self.succeeds("prune", self.file, "-o", out, "--pattern", "nm:2:4")
        self.succeeds("info", out, "--expect", "nm:2:4")
        self.fails("nm:2:4 keeps 0.5 of the weights, which contradicts density 0.25", "prune", self.file, "-o",
                   self.path("no.onnx"), "--pattern", "nm:2:4", "--density", "0.25")
        self.fails("block:8x8 needs a density", "prune", self.file, "-o", self.path("no.onnx"), "--pattern",
                   "block:8x8")
        self.assertFalse((self.folder / "no.onnx").exists())

    def test_skip_and_reasons(self):
        report = self.result("prune", self.file, "-o", self.path("out.onnx"), "--pattern", "block:8x8", "--density",
                             "0.5", "--skip", "^scores$")
        self.assertEqual(report["skipped"], [{"name": "scores", "reason": "matches skip '^scores$'"}])
        self.fails("is not a regular expression", "prune", self.file, "-o", "x.onnx", "--pattern", "nm:2:4", "--skip",
                   "(")

    def test_global_scope(self):
        report = self.result("prune", self.file, "-o", self.path("out.onnx"), "--pattern", "block:8x8", "--density",
                             "0.5", "--scope", "global", "--criterion", "l2")
        self.assertAlmostEqual(report["density"], 0.5, delta=0.03)

    def test_sparse_initializers_keep_the_weights(self):
        arguments = ["prune", self.file, "--pattern", "unstructured", "--density", "0.1", "-o"]
        self.succeeds(*arguments, self.path("zeros.onnx"))
        self.succeeds(*arguments, self.path("sparse.onnx"), "--sparse-initializers")
        self.assertLess(os.path.getsize(self.path("sparse.onnx")), 0.5 * os.path.getsize(self.path("zeros.onnx")))
        zeros, sparse = (self.result("info", self.path(f"{n}.onnx")) for n in ("zeros", "sparse"))
        self.assertEqual(zeros, sparse)

    def test_nan_is_named(self):
        broken = weights(32, 64)
        broken[7, 3] = np.nan
        file = self.write("nan.onnx", tiny_onnx.perceptron(broken, weights(64, 16)))
        self.fails(
            f"{file}: node 'hidden' (MatMul, opset 17): the weight at (row 3, column 7) is nan, expected a finite number",
            "prune", file, "-o", self.path("out.onnx"), "--pattern", "block:8x8", "--density", "0.5")
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_nothing_to_prune(self):
        file = self.write("small.onnx", tiny_onnx.perceptron(weights(8, 8), weights(8, 8)))
        self.fails("no layer can be pruned: 'hidden' 8 output and 8 input channels; fewer than 16 never pay", "prune",
                   file, "-o", "x.onnx", "--pattern", "nm:2:4")

    def test_a_target_is_replaced_only_when_complete(self):
        target = self.write("target.onnx", b"precious")
        self.fails("", "prune", self.path("none.onnx"), "-o", target, "--pattern", "nm:2:4")
        self.assertEqual((self.folder / "target.onnx").read_bytes(), b"precious")
        self.fails("none/out.onnx", "prune", self.file, "-o", self.path("none/out.onnx"), "--pattern", "nm:2:4")
        self.succeeds("prune", self.file, "-o", target, "--pattern", "nm:2:4")
        self.assertNotEqual((self.folder / "target.onnx").read_bytes(), b"precious")
        self.assertEqual(sorted(p.name for p in self.folder.glob("*target*")), ["target.onnx"])


if __name__ == "__main__":
    unittest.main()
