"""tools/wire_gen.py: the notation, and what it refuses."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import wire_gen


class WireGen(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "one.schema"

    def generate(self, request, response="err i16"):
        self.path.write_text(f"# comment\napi 7 SomeCall v1-4 flexible 3\nQ: {request}\nR: {response}\n")
        return wire_gen.generate([self.path])

    def fields(self, request):
        self.generate(request)
        return wire_gen.parse_file(self.path)[0].messages[0].body.fields

    def test_one_header_an_api_is_made(self):
        outputs = self.generate("a i32")
        self.assertEqual({"some_call.h", "keys.h", "messages.c"}, set(outputs))
        self.assertIn("struct wire_some_call_request {\n    int32_t a;\n};", outputs["some_call.h"])
        self.assertIn("WIRE_KEY_SOME_CALL = 7,", outputs["keys.h"])

    def test_abbreviations_are_expanded(self):
        names = [f.name for f in self.fields("err i16; x_errmsg str?; pidxes [i32]; throttle_ms i32")]
        self.assertEqual(["error_code", "x_error_message", "partition_indexes", "throttle_time_ms"], names)

    def test_modifiers_are_understood(self):
        a, b, c, d = self.fields("a i64=-1 v2+; b str?3+ v2-3; c[]? v4 tag5{x i8}; d?{y bool=true}")
        self.assertEqual((-1, 2, 4), (a.default, a.first, a.last))
        self.assertEqual((3, 2, 3), (b.null_from, b.first, b.last))
        self.assertEqual((True, 0, 4, 5), (c.is_array, c.null_from, c.first, c.tag))
        self.assertEqual((False, 0, 1), (d.is_array, d.null_from, d.struct.fields[0].default))

    def test_fields_may_go_on_over_lines(self):
        names = [field.name for field in self.fields("\n    a i8; # a comment\n    b[]{\n        c i8\n    }")]
        self.assertEqual(["a", "b"], names)

    def test_an_element_has_a_least_size(self):
        text = self.generate("a[]{x i32 v2-3; y str}")["messages.c"]
        # version 1 has the string alone, with two bytes of length; compact ones take one and the tags one
        self.assertIn('.bytes_min = 2, .name = "wire_some_call_request_a"', text)

    def test_faults_are_refused(self):
        for fault in ("a", "a i33", "a [i32", "a i32 w3", "a i32; a i64", "a[]{x i32", "a[]{x i32 v9+}"):
            with self.subTest(fault), self.assertRaises((wire_gen.SchemaError, ValueError)):
                self.generate(fault)

    def test_a_key_twice_is_refused(self):
        self.path.write_text("api 7 A v0 flexible never\nQ: a i8\nR: a i8\n" * 2)
        with self.assertRaises(wire_gen.SchemaError):
            wire_gen.generate([self.path])


if __name__ == "__main__":
    unittest.main()
