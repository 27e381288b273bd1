"""The server's description by rules of others: openapi_suite.py PROGRAM. Exits with 77 without openapi-spec-validator.

./dev clients openapi fetches it."""
import copy
import json
import subprocess
import sys
import unittest

try:
    from openapi_spec_validator import OpenAPIV31SpecValidator
except ImportError:
    print("SKIPPED: openapi-spec-validator is not here; ./dev clients openapi fetches it")
    sys.exit(77)


def problems_of(document):
    return [error.message for error in OpenAPIV31SpecValidator(document).iter_errors()]


class Description(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        said = subprocess.run([sys.argv[1], "serve", "--openapi"], check=True, capture_output=True, text=True).stdout
        cls.document = json.loads(said)

    def test_is_valid(self):
        self.assertEqual(problems_of(self.document), [])

    def test_would_be_refused_if_it_were_not(self):
        broken = copy.deepcopy(self.document)
        del broken["paths"]["/v1/completions"]["post"]["responses"]["200"]["description"]
        self.assertNotEqual(problems_of(broken), [])

    def test_has_the_servers_routes(self):
        self.assertGreaterEqual({"/v1/chat/completions", "/v1/models/{name}", "/metrics"} & set(self.document["paths"]),
                                {"/v1/chat/completions", "/v1/models/{name}", "/metrics"})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[2:])
