"""tools/layers.py on small trees with one fault each."""
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tools"))
import layers

ROWS = """# comment
0 base - : : uthash
1 env  - : base : libuv
1 wire P : base :
2 auth P : base wire :
"""


class Layers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write("layers.txt", ROWS)
        self.write("src/base/buf.h", "")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def findings(self):
        rows = layers.read_rows(self.root)
        found = list(layers.check_rows(rows))
        found += layers.check_includes(self.root, rows)
        return found + list(layers.check_cycles(self.root))

    def test_a_clean_tree_has_no_findings(self):
        self.write("src/auth/acl.c", '#include "wire/wire.h"\n#include "base/buf.h"\n#include <stdio.h>\n')
        self.assertEqual([], self.findings())

    def test_an_include_the_row_lacks_is_found(self):
        self.write("src/wire/wire.c", '#include "base/buf.h"\n#include "env/env.h"\n')
        self.assertEqual(['src/wire/wire.c:2: wire may not include env ("env/env.h")'], self.findings())

    def test_a_library_the_row_lacks_is_found(self):
        self.write("src/base/map.h", "#include <uthash.h>\n")
        self.write("src/wire/wire.c", "#include <uv.h>\n")
        found = "src/wire/wire.c:1: wire may not include <uv.h>: layers.txt does not name libuv"
        self.assertEqual([found], self.findings())

    def test_a_folder_without_row_is_found(self):
        self.write("src/other/x.c", "")
        self.assertEqual(["src/other/x.c: layers.txt has no row for other"], self.findings())

    def test_a_row_that_names_its_own_level_is_found(self):
        self.write("layers.txt", ROWS + "2 http - : auth :\n")
        found = "layers.txt: http may not include auth: not a lower level"
        self.assertEqual([found], self.findings())

    def test_headers_in_a_circle_are_found(self):
        self.write("src/base/buf.h", '#include "base/a.h"\n')
        self.write("src/base/a.h", '#include "base/b.h"\n')
        self.write("src/base/b.h", '#include "base/a.h"\n')
        found = "headers include each other in a circle, among: base/a.h, base/b.h, base/buf.h"
        self.assertEqual([found], self.findings())

    def test_prefixes_follow_the_folder_or_the_file(self):
        self.assertTrue(layers.has_prefix("wire", "wire.c.o", "wire_api_find"))
        self.assertFalse(layers.has_prefix("wire", "wire.c.o", "api_find"))
        self.assertTrue(layers.has_prefix("base", "buf.c.o", "buf_init"))
        self.assertTrue(layers.has_prefix("base", "alloc.c.o", "xalloc"))
        self.assertFalse(layers.has_prefix("base", "buf.c.o", "xalloc"))
        self.assertTrue(layers.has_prefix("base", "crc32c.c.o", "crc32c"))
        self.assertTrue(layers.has_prefix("client", "client.c.o", "klamm_connect"))

    def test_pure_code_may_compute_but_not_reach_out(self):
        for symbol in ("memcpy", "snprintf", "qsort", "free", "__asan_report_load8"):
            self.assertTrue(layers.PURE_LIBC.fullmatch(symbol), symbol)
        for symbol in ("printf", "fopen", "time", "clock_gettime", "getenv", "rand", "pthread_create"):
            self.assertFalse(layers.PURE_LIBC.fullmatch(symbol), symbol)

    def test_the_doors_of_the_kernel_are_known(self):
        for symbol in ("open", "pwritev", "socket", "clock_gettime", "getenv", "uv_run", "sendfile"):
            self.assertTrue(layers.KERNEL.fullmatch(symbol), symbol)
        for symbol in ("buf_read", "opendoor", "memcpy", "timer_add"):
            self.assertFalse(layers.KERNEL.fullmatch(symbol), symbol)


if __name__ == "__main__":
    unittest.main()
