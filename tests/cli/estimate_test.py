"""estimate: products and networks on an IPU."""

import json

from espalier_case import EspalierCase

PRODUCT = ["estimate", "--target", "ipu:bow", "--m", "512", "--k", "512", "--n", "64", "--block", "16", "--density", "0.125"]


class Estimate(EspalierCase):
    def test_fields_of_a_product(self):
        for mode in ("dense", "static", "dynamic", "best"):
            with self.subTest(mode):
                result = self.result(*PRODUCT, "--mode", mode)
                self.assertEqual((result["mode"], result["n"], result["basis"]), (mode, 64, "modelled"))
                self.assertAlmostEqual(sum(result["phases"].values()), result["cycles"], delta=1e-6 * result["cycles"])
                self.assertAlmostEqual(result["speedup"], result["dense_cycles"] / result["cycles"], places=9)
                self.assertGreater(result["bytes_per_tile"], 0)

    def test_best_n_and_types(self):
        best = self.result(*PRODUCT[:-6], "--n", "best", "--block", "16", "--density", "0.125")
        self.assertGreaterEqual(best["tflops"], self.result(*PRODUCT)["tflops"])
        self.assertLess(self.result(*PRODUCT, "--dtype", "f32")["tflops"], self.result(*PRODUCT)["tflops"])

    def test_simulated_products_are_checked(self):
        for mode in ("static", "dynamic", "best"):
            with self.subTest(mode):
                result = self.result(*PRODUCT, "--mode", mode, "--simulate", "--seed", "3")
                self.assertGreater(result["max_error"], 0)
                self.assertLessEqual(result["max_error_of_bound"], 1)
                self.assertGreater(result["simulated"]["supersteps"], 3)

    def test_plan_file(self):
        self.succeeds(*PRODUCT, "--plan", self.path("plan.json"))
        plan = json.loads((self.folder / "plan.json").read_text())
        self.assertEqual(plan["kind"], "static")
        self.assertGreater(plan["k_bands"], 0)

    def test_network(self):
        self.succeeds("prune", "resnet20", "-o", self.path("sparse.onnx"), "--pattern", "block:8x8", "--density", "0.25")
        network = self.result("estimate", self.path("sparse.onnx"), "--target", "ipu:gc200", "--mode", "best", "--batch",
                              "16", "--plan", self.path("plan.json"))
        self.assertEqual(len(network["layers"]), 20)
        self.assertAlmostEqual(sum(layer["cycles"] for layer in network["layers"]), network["cycles"], delta=1)
        for layer in network["layers"]:
            self.assertLessEqual(layer["cycles"], layer["dense_cycles"])
        macs = sum(layer["m"] * layer["k"] * layer["n"] for layer in network["layers"])
        self.assertEqual(macs, 16 * self.result("info", "resnet20")["macs"])
        self.assertEqual(len(json.loads((self.folder / "plan.json").read_text())), 20)

    def test_bad_usage_and_what_does_not_fit(self):
        self.fails("unknown target 'gpu:x': expected ipu:bow, ipu:gc200 or ipu:FILE.json", "estimate", "--target", "gpu:x")
        self.fails("one of bow, gc200 or a .json file, found 'mk9'", "estimate", "--target", "ipu:mk9")
        self.fails("expected a network, or --m and --k", "estimate", "--target", "ipu:bow")
        self.fails("--n: expected a number or best, found 'many'", *PRODUCT[:7], "--n", "many")
        self.fails("unknown mode 'fast'", *PRODUCT, "--mode", "fast", code=2)
        self.fails("whole blocks of 16", "estimate", "--target", "ipu:bow", "--m", "500", "--k", "512")
        self.fails("expected the mode static, dynamic or best", *PRODUCT, "--mode", "dense", "--simulate")
        self.fails("bytes on a tile of bow", "estimate", "--target", "ipu:bow", "--m", "8192", "--k", "8192", "--n", "1024",
                   "--density", "0.25")
