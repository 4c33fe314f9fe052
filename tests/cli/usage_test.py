"""Bad usage: exit code 2 and one sentence that says what was expected."""

import unittest

from espalier_case import EspalierCase

COMMANDS = ["machine", "model", "info", "prune", "compile", "run", "compare", "eval", "bench", "explain", "spmm",
            "estimate"]


class Usage(EspalierCase):
    def test_help_of_every_command_ends_with_an_example(self):
        overview = self.succeeds("--help").out
        for command in COMMANDS:
            with self.subTest(command):
                self.assertIn(f"  {command} ", overview)
                self.assertIn(f"Example:\n  espalier {command}", self.succeeds(command, "--help").out)

    def test_version(self):
        self.assertRegex(self.succeeds("--version").out, r"^espalier \d+\.\d+\.\d+\n$")

    def test_no_command(self):
        self.fails("A subcommand is required", code=2)

    def test_unknown_command(self):
        self.fails("unknown command 'prone'; the commands are machine, model, info, prune", "prone", "resnet20", code=2)

    def test_unknown_option(self):
        self.fails("not expected: --fast (see espalier machine --help)", "machine", "--fast", code=2)

    def test_missing_arguments(self):
        self.fails("--output is required", "prune", "resnet20", "--pattern", "nm:2:4", code=2)
        self.fails("F is required", "bench", code=2)

    def test_values_that_no_parser_takes(self):
        prune = ["prune", "resnet20", "-o", self.path("out.onnx")]
        cases = [
            (["machine", "--isa", "sse9"], "unknown instruction set 'sse9': expected scalar, avx2, avx512, vnni or amx"),
            (["machine", "--threads", "0"], "--threads"),
            (["info", "resnet20", "--dtype", "f7"], "f7"),
            ([*prune, "--pattern", "stripes:3"], "stripes:3"),
            ([*prune, "--pattern", "block:0x8", "--density", "0.5"], "block:0x8"),
            ([*prune, "--pattern", "nm:5:4"], "nm:5:4"),
            ([*prune, "--pattern", "block:8x8", "--density", "0"], "--density: '0' is outside (0, 1]"),
            ([*prune, "--pattern", "block:8x8", "--density", "2"], "--density: '2' is outside (0, 1]"),
            ([*prune, "--pattern", "block:8x8", "--density", "nan"], "--density: 'nan' is outside (0, 1]"),
            ([*prune, "--pattern", "block:8x8", "--sparsity", "1"], "--sparsity: '1' is outside [0, 1)"),
            ([*prune, "--pattern", "block:8x8", "--density", "0.5", "--criterion", "luck"], "unknown criterion 'luck'"),
            ([*prune, "--pattern", "block:8x8", "--density", "0.5", "--scope", "all"], "unknown scope 'all'"),
            (["info", "resnet20", "--shape", "image=1x0"], "'image=1x0' is not a shape; expected NAME=AxBxC"),
            (["info", "resnet20", "--shape", "image"], "'image' is not a shape; expected NAME=AxBxC"),
            (["bench", "resnet20", "--peers", "abacus"], "abacus"),
            (["eval", "resnet20", "--data", "cifar10:x", "--preprocess", "std=0"], "std must be positive"),
            (["run", "resnet20", "-i", "image"], "'image': expected NAME=FILE.npy"),
        ]
        for arguments, message in cases:
            with self.subTest(arguments):
                self.fails(message, *arguments, code=2)
        self.assertFalse((self.folder / "out.onnx").exists())

    def test_density_and_sparsity_exclude_each_other(self):
        self.fails("excludes", "prune", "resnet20", "-o", "x.onnx", "--pattern", "block:8x8", "--density", "0.5",
                   "--sparsity", "0.5", code=2)


class Machine(EspalierCase):
    def test_says_what_the_machine_offers(self):
        machine = self.result("machine")
        self.assertEqual(list(machine), ["isa", "features", "cores", "caches", "ceilings"])
        self.assertGreaterEqual(machine["cores"], 1)
        self.assertGreater(machine["ceilings"]["f32_gflops"], 0.1)

    def test_a_ceiling_lowers_the_isa(self):
        self.assertEqual(self.result("machine", "--isa", "scalar")["isa"], "scalar")

    def test_json_into_a_file_leaves_the_text(self):
        outcome = self.succeeds("machine", "--json", self.path("m.json"))
        self.assertIn("cores", outcome.out)
        self.assertIn('"isa"', (self.folder / "m.json").read_text())

    def test_json_that_cannot_be_written(self):
        outcome = self.run_program("machine", "--json", self.path("none/m.json"))
        self.assertEqual(outcome.code, 1)
        self.assertIn("none/m.json", outcome.err)


if __name__ == "__main__":
    unittest.main()
