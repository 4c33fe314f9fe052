"""compile, run, compare, eval, bench and explain against numpy, and what they refuse."""

import os
import sys
import textwrap
import unittest

import numpy as np
import tiny_onnx
from espalier_case import EspalierCase


def weights(*shape, seed=1):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


class Execution(EspalierCase):
    def setUp(self):
        super().setUp()
        self.first, self.second = weights(32, 64), weights(64, 16, seed=2)
        self.file = self.write("net.onnx", tiny_onnx.perceptron(self.first, self.second))
        self.x = weights(3, 32, seed=3)
        np.save(self.path("x.npy"), self.x)

    def expected(self):
        return np.maximum(self.x @ self.first, 0) @ self.second

    def test_run_gives_what_numpy_gives(self):
        made = self.result("run", self.file, "-i", "x=" + self.path("x.npy"), "-o", "y=" + self.path("y.npy"))
        self.assertEqual(made["outputs"], [{"name": "y", "shape": [3, 16]}])
        np.testing.assert_allclose(np.load(self.path("y.npy")), self.expected(), rtol=1e-4, atol=1e-4)

    def test_a_plan_runs_like_its_model(self):
        for flags in ([], ["--portable"]):
            with self.subTest(flags):
                plan = self.path("net.espl")
                made = self.result("compile", self.file, "-o", plan, "--batch", "3", *flags)
                self.assertEqual(made["bytes"], os.path.getsize(plan))
                self.assertEqual([l["name"] for l in made["layers"]], ["hidden", "scores"])
                self.succeeds("run", plan, "-i", "x=" + self.path("x.npy"), "-o", "y=" + self.path("y.npy"))
                np.testing.assert_allclose(np.load(self.path("y.npy")), self.expected(), rtol=1e-4, atol=1e-4)

    def test_a_plan_for_several_instruction_sets(self):
        here = self.result("machine")["isa"]
        if here == "scalar":
            self.skipTest("needs a second instruction set")
        plan = self.path("net.espl")
        made = self.result("compile", self.file, "-o", plan, "--batch", "3", "--isa", "scalar," + here)
        self.assertEqual(made["isa"], [here, "scalar"])
        for isa in (here, "scalar"):
            self.assertEqual(self.result("bench", plan, "--isa", isa, "--seconds", "0.05", "--warmup", "0")["isa"], isa)
            self.succeeds("run", plan, "--isa", isa, "-i", "x=" + self.path("x.npy"), "-o", "y=" + self.path("y.npy"))
            np.testing.assert_allclose(np.load(self.path("y.npy")), self.expected(), rtol=1e-4, atol=1e-4)
        self.fails("leave out the list of --isa", "compile", self.file, "-o", plan, "--portable", "--isa", "scalar,avx2")
        self.fails("unknown instruction set 'sse9'", "compile", self.file, "-o", plan, "--isa", "scalar,sse9", code=2)

    def test_a_broken_plan_is_refused(self):
        plan = self.path("net.espl")
        self.succeeds("compile", self.file, "-o", plan)
        whole = (self.folder / "net.espl").read_bytes()
        for size in (0, 7, 64, len(whole) // 2, len(whole) - 1):
            with self.subTest(size=size):
                self.fails("cut.espl", "run", self.write("cut.espl", whole[:size]), "-i", "x=" + self.path("x.npy"))

    def test_a_plan_keeps_its_shapes(self):
        plan = self.path("net.espl")
        self.succeeds("compile", self.file, "-o", plan)
        self.fails("give the ONNX file to use --batch, --shape or --dtype", "bench", plan, "--batch", "2")
        self.fails("net.espl: a Plan holds no graph", "compile", plan, "-o", self.path("again.espl"))

    def test_wrong_inputs(self):
        run = ["run", self.file, "-i"]
        self.fails("gone.npy", *run, "x=" + self.path("gone.npy"))
        np.save(self.path("wide.npy"), weights(3, 33))
        self.fails("x", *run, "x=" + self.path("wide.npy"))
        self.fails("z", *run, "z=" + self.path("x.npy"))
        self.fails("the model has no output 'q'; its outputs are y", *run, "x=" + self.path("x.npy"), "-o",
                   "q=" + self.path("q.npy"))
        self.fails("x", "run", self.file, "-i", "x=" + self.path("x.npy"), "--shape", "x=3x31")

    def test_a_dynamic_dimension_names_the_flag(self):
        self.fails("--shape input_ids=", "compile", "minilm", "-o", self.path("m.espl"))

    def test_unknown_operators_are_all_listed(self):
        nodes = [
            tiny_onnx.node("Frobnicate", ["x"], ["a"], "first", domain="ai.example"),
            tiny_onnx.node("Wibble", ["a"], ["y"], "last"),
        ]
        data = tiny_onnx.model(nodes, [("x", "float32", [1, 4])], [("y", "float32", [1, 4])], {}, domains=["ai.example"])
        outcome = self.fails("odd.onnx", "compile", self.write("odd.onnx", data), "-o", self.path("odd.espl"))
        for part in ("'first'", "Frobnicate", "opset 1", "'last'", "Wibble", "opset 17"):
            self.assertIn(part, outcome.err)
        self.assertFalse((self.folder / "odd.espl").exists())

    def test_compare_says_how_far_networks_are_apart(self):
        same = self.result("compare", self.file, self.file)
        self.assertEqual([o["max_abs"] for o in same["outputs"]], [0])
        self.assertEqual([l["name"] for l in same["layers"]], ["hidden", "scores"])
        self.assertEqual([l["max_abs"] for l in same["layers"]], [0, 0])
        self.succeeds("prune", self.file, "-o", self.path("half.onnx"), "--pattern", "block:8x8", "--density", "0.5")
        different = self.result("compare", self.file, self.path("half.onnx"))
        self.assertGreater(different["outputs"][0]["max_rel"], 0.01)
        for file in ("net", "half"):
            self.succeeds("compile", self.path(f"{file}.onnx"), "-o", self.path(f"{file}.espl"))
        # The same differences whether networks come as models or as Plans of them.
        for a, b in (("net.espl", "half.onnx"), ("net.onnx", "half.espl"), ("net.espl", "half.espl")):
            with self.subTest(a=a, b=b):
                found = self.result("compare", self.path(a), self.path(b))
                self.assertEqual([l["name"] for l in found["layers"]], ["hidden", "scores"])
                for kind in ("outputs", "layers"):
                    for one, other in zip(found[kind], different[kind]):
                        self.assertAlmostEqual(one["max_rel"], other["max_rel"], places=5)

    def test_eval_counts_what_is_right(self):
        x = weights(64, 32, seed=5)
        scores = np.maximum(x @ self.first, 0) @ self.second
        labels = scores.argmax(axis=1)
        labels[:16] = (labels[:16] + 1) % 16
        np.savez(self.path("data.npz"), x=x, labels=labels)
        found = self.result("eval", self.file, "--data", self.path("data.npz"))
        self.assertEqual((found["top1"], found["count"]), (75, 64))
        self.assertEqual(self.result("eval", self.file, "--data", self.path("data.npz"), "--limit", "16")["top1"], 0)
        np.savez(self.path("bad.npz"), x=x, labels=labels + 10)
        self.fails("but the network has 16 classes", "eval", self.file, "--data", self.path("bad.npz"))
        self.fails("expected fashion-mnist, cifar10:DIR or a file F.npz", "eval", self.file, "--data", "imagenet")

    def test_bench_and_explain_report_every_field(self):
        self.succeeds("prune", self.file, "-o", self.path("half.onnx"), "--pattern", "block:8x8", "--density", "0.5")
        timed = self.result("bench", self.path("half.onnx"), "--batch", "8", "--seconds", "0.2", "--warmup", "0")
        for field in ("median_ms", "p90_ms", "p99_ms", "items_per_second", "dense_median_ms", "speedup", "best_dense_ms",
                      "speedup_best", "load_ms", "peak_rss_mb"):
            self.assertGreater(timed[field], 0, field)
        self.assertEqual((timed["peers"], timed["shapes"], timed["streams"]), ([], {"x": [8, 32]}, 1))
        explained = self.result("explain", self.path("half.onnx"), "--seconds", "0.2")
        self.assertEqual([(l["name"], l["op"]) for l in explained["layers"]], [("hidden", "MatMul"), ("scores", "MatMul")])
        for layer in explained["layers"]:
            self.assertEqual(set(layer), {"name", "op", "pattern", "density", "kernel", "reason", "rejected",
                                          "predicted_ms", "measured_ms", "dense_ms"})
            self.assertTrue(layer["kernel"] and layer["reason"])

    def test_a_plan_is_raced_and_explained_against_its_dense_twin(self):
        self.succeeds("prune", self.file, "-o", self.path("half.onnx"), "--pattern", "block:8x8", "--density", "0.5")
        plan = self.path("half.espl")
        self.succeeds("compile", self.path("half.onnx"), "-o", plan, "--batch", "8")
        timed = self.result("bench", plan, "--peers", "dense", "--seconds", "0.2", "--warmup", "0")
        for field in ("dense_median_ms", "speedup", "best_dense_ms", "speedup_best"):
            self.assertGreater(timed[field], 0, field)
        self.assertEqual(timed["shapes"], {"x": [8, 32]})
        for layer in self.result("explain", plan, "--seconds", "0.2")["layers"]:
            self.assertGreater(layer["measured_ms"], 0)
            self.assertGreater(layer["dense_ms"], 0)
        self.fails("other engines read ONNX", "bench", plan, "--peers", "ort")

    def test_streams(self):
        timed = self.result("bench", self.file, "--streams", "2", "--seconds", "0.2", "--warmup", "0")
        self.assertEqual(timed["streams"], 2)
        self.fails("other engines are timed with one stream", "bench", self.file, "--streams", "2", "--peers", "ort")

    def stand_in(self, body):
        """Puts a program in the place of the Python that runs other engines; it sees the arguments of peer_worker.py."""
        (self.folder / "bin").mkdir(exist_ok=True)
        program = self.folder / "bin" / "python"
        program.write_text(f"#!{sys.executable}\nimport json, sys, time\nimport numpy as np\n" + textwrap.dedent(body))
        program.chmod(0o755)
        os.environ["ESPALIER_PEERS"] = str(self.folder)
        self.addCleanup(os.environ.pop, "ESPALIER_PEERS", None)
        np.savez(self.path("weights.npz"), first=self.first, second=self.second)

    PEER = """
        engine, model, inputs, outputs, threads, dtype = sys.argv[3:9]
        weights = np.load(%r)
        x = np.load(inputs)["x"]
        np.savez(outputs, y=np.maximum(x @ weights["first"], 0) @ weights["second"] + %r)
        print(json.dumps({"version": "7." + dtype}), flush=True)
        for _ in sys.stdin:
            print(0.25, flush=True)
    """
    RACE = ("--seconds", "0.1", "--warmup", "0", "--peers", "ort")

    def test_a_peer_that_agrees_is_timed(self):
        self.stand_in(self.PEER % (self.path("weights.npz"), 0.0))
        timed = self.result("bench", self.file, *self.RACE)
        self.assertEqual(timed["peers"], [{"name": "ort", "version": "7.f32", "median_ms": 0.25}])
        self.assertEqual((timed["best_dense_ms"], timed["dense_median_ms"]), (0.25, None))

    def test_a_peer_that_disagrees_is_not_timed(self):
        self.stand_in(self.PEER % (self.path("weights.npz"), 1.0))
        self.fails("differs from that of ort", "bench", self.file, *self.RACE)

    def test_peers_that_fail(self):
        right = self.PEER % (self.path("weights.npz"), 0.0)
        for body, message in (
            ("sys.exit('no such engine here')", "peer ort stopped: no such engine here"),
            ("print('hello', flush=True)", "peer ort said 'hello'"),
            ("time.sleep(600)", "peer ort gave no answer within 1 s and was ended"),
            (right.replace("print(0.25, flush=True)", "time.sleep(600)"), "gave no answer within 1 s"),
            (right.replace("0.25", "'soon'"), "said 'soon' instead of a time"),
        ):
            with self.subTest(message):
                self.stand_in(body.replace("print(0.25, flush=True)\n        time", "time"))
                self.fails(message, "bench", self.file, *self.RACE, "--peer-limit", "1")

    def test_peers_without_their_environment(self):
        os.environ["ESPALIER_PEERS"] = self.path("nowhere")
        self.addCleanup(os.environ.pop, "ESPALIER_PEERS")
        self.fails("where there is no bin/python", "bench", self.file, "--peers", "ort")


if __name__ == "__main__":
    unittest.main()
