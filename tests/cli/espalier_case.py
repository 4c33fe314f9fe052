"""What the end-to-end tests share: running the program, a scratch folder, and checks of its exit codes and messages."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["ESPALIER"]


class Outcome:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr

    @property
    def json(self):
        return json.loads(self.out)


class EspalierCase(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._folder.name)

    def tearDown(self):
        self._folder.cleanup()

    def path(self, name):
        return str(self.folder / name)

    def write(self, name, data):
        (self.folder / name).write_bytes(data)
        return self.path(name)

    def run_program(self, *arguments):
        environment = dict(os.environ, XDG_CACHE_HOME=self.path("cache"))
        done = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300,
                              env=environment, cwd=self.folder)
        return Outcome(done)

    def succeeds(self, *arguments):
        outcome = self.run_program(*arguments)
        self.assertEqual(outcome.code, 0, f"{arguments}: {outcome.out}{outcome.err}")
        return outcome

    def result(self, *arguments):
        """The JSON of a command that succeeds."""
        return self.succeeds(*arguments, "--json", "-").json

    def fails(self, message, *arguments, code=1):
        """The command fails with this code, one sentence on stderr that holds `message`, and the same as JSON."""
        outcome = self.run_program(*arguments)
        self.assertEqual(outcome.code, code, f"{arguments}: {outcome.out}{outcome.err}")
        self.assertTrue(outcome.err.startswith("espalier: "), outcome.err)
        self.assertIn(message, outcome.err)
        if "--json" not in arguments:
            as_json = self.run_program(*arguments, "--json", "-")
            self.assertEqual(as_json.code, code)
            self.assertIn(message, as_json.json["error"])
        return outcome
