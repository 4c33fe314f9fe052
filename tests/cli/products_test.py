"""`espalier spmm`: products of every type and pattern, checked before they are timed."""

import unittest

from espalier_case import EspalierCase

SMALL = ["spmm", "--m", "96", "--k", "96", "--n", "24", "--threads", "1", "--seconds", "0.02", "--deterministic"]


class Products(EspalierCase):
    def test_types_and_patterns(self):
        # By the name in the kernel's: f16 is widened when packed.
        for dtype, kernel in (("f32", "f32"), ("bf16", "bf16"), ("f16", "f32"), ("int8", "i8"), ("f64", "f64")):
            for pattern in ("block:16x16", "block:4x4", "nm:2:4", "unstructured"):
                with self.subTest(dtype=dtype, pattern=pattern):
                    report = self.result(*SMALL, "--dtype", dtype, "--pattern", pattern)
                    self.assertIn(f"_{kernel}_", report["kernel"])
                    self.assertLess(report["max_error"], 1e-3)
                    self.assertGreater(report["cold_ms"], 0)
                    self.assertIn("own_dense", [peer["name"] for peer in report["peers"]])

    def test_dynamic_is_f32_or_bf16(self):
        self.fails("mode dynamic computes in f32 or bf16, got i8", *SMALL, "--dtype", "int8", "--mode", "dynamic")
