"""What `cmake --install` puts on a host, and that the README's example runs with it: the unit, its user, its paths."""

import configparser
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from support import BUILD, DEADLINE_SECONDS

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CONFIG = "/etc/klamm/server.properties"


def run(*words, **options):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=DEADLINE_SECONDS, **options)


def indented(path, heading):
    """The lines of commands and files in a section of a document."""
    section = re.search(r"^## %s\n(.*?)^## " % heading, (SOURCE / path).read_text(), re.S | re.M)[1]
    return [line[4:].split("  #")[0].rstrip() for line in section.splitlines() if line.startswith("    ")]


def read_unit(path):
    unit = configparser.ConfigParser(interpolation=None, strict=True)
    unit.optionxform = str
    unit.read(path)
    return unit


class Install(unittest.TestCase):
    def setUp(self):
        self.root = tempfile.mkdtemp(prefix="klamm-install-")
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)

    def install(self, prefix="/usr"):
        result = run("cmake", "--install", BUILD, "--prefix", prefix, env={**os.environ, "DESTDIR": self.root})
        self.assertEqual(result.returncode, 0, result.stderr)

    def path(self, path):
        """Where a path of the host is here."""
        return pathlib.Path(self.root + path)

    def files(self):
        return {"/" + os.path.relpath(os.path.join(where, name), self.root)
                for where, _, names in os.walk(self.root) for name in names}

    def test_everything_is_installed(self):
        self.install()
        pages = {"/usr/share/man/man1/" + page.name for page in (SOURCE / "docs/man").glob("*.1")}
        libraries = {path for path in self.files() if re.search(r"/libklamm\.so(\.[0-9.]+)?$", path)}
        self.assertEqual(len(libraries), 3)
        (pkgconfig,) = [path for path in self.files() if path.endswith("/pkgconfig/klamm.pc")]
        self.assertEqual(self.files(), pages | libraries | {
            pkgconfig, CONFIG, "/usr/bin/klamm", "/usr/include/klamm/klamm.h", "/usr/lib/systemd/system/klamm.service",
            "/usr/lib/sysusers.d/klamm.conf"})
        self.assertIn("prefix=/usr\n", self.path(pkgconfig).read_text())
        result = run(str(self.path("/usr/bin/klamm")), "server", "--config", str(self.path(CONFIG)), "--check")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))

    def test_configuration_of_before_stays(self):
        self.path(CONFIG).parent.mkdir(parents=True)
        self.path(CONFIG).write_text("broker.id=7\n")
        self.install()
        self.assertEqual(self.path(CONFIG).read_text(), "broker.id=7\n")

    def test_unit_names_what_is_installed(self):
        for prefix in ("/usr", "/usr/local"):
            self.install(prefix)
            service = read_unit(self.path(prefix + "/lib/systemd/system/klamm.service"))["Service"]
            words = service["ExecStart"].split()
            self.assertEqual(words, [prefix + "/bin/klamm", "server", "--config", CONFIG])
            self.assertTrue(os.access(self.path(words[0]), os.X_OK))
            self.assertTrue(self.path(CONFIG).exists())
            users = self.path(prefix + "/lib/sysusers.d/klamm.conf").read_text().splitlines()
            self.assertIn('u klamm - "klamm broker" /var/lib/klamm', users)
            self.assertEqual((service["User"], service["Group"], service["StateDirectory"]), ("klamm", "klamm", "klamm"))

    @unittest.skipIf(shutil.which("systemd-sysusers") is None, "systemd-sysusers is not installed")
    def test_user_is_made(self):
        self.install()
        self.path("/etc/passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
        self.path("/etc/group").write_text("root:x:0:\n")
        result = run("systemd-sysusers", "--root=" + self.root)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(self.path("/etc/passwd").read_text(), r"(?m)^klamm:x:\d+:\d+:klamm broker:/var/lib/klamm:")
        self.assertRegex(self.path("/etc/group").read_text(), r"(?m)^klamm:x:\d+:")

    def test_directories_of_the_readme_may_be_written_to(self):
        """The example's log.dirs, the directories that are made for them, and those that the drop-in opens are the same;
        all else is closed."""
        self.install()
        lines = indented("README.md", "Run it on three hosts")
        properties = [line for line in lines if re.match(r"[a-z.]+=", line)]
        self.path(CONFIG).write_text("\n".join(properties) + "\n")
        result = run(str(self.path("/usr/bin/klamm")), "server", "--config", str(self.path(CONFIG)), "--check")
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        (log_dirs,) = [line.split("=")[1].split(",") for line in properties if line.startswith("log.dirs=")]
        self.assertIn("install -d -o klamm -g klamm " + " ".join(log_dirs), lines)
        unit = self.path("/usr/lib/systemd/system/klamm.service")
        self.assertEqual(read_unit(unit)["Service"]["ProtectSystem"], "strict")
        start = lines.index("[Service]")
        drop_in = self.path("/drop-in.conf")
        drop_in.write_text("\n".join(lines[start:start + 2]) + "\n")
        writable = read_unit(drop_in)["Service"]["ReadWritePaths"].split()
        self.assertEqual(writable, ["-" + path for path in log_dirs])

    def test_both_documents_say_the_same_commands(self):
        readme = indented("README.md", "Run it on three hosts")
        operations = indented("docs/operations.md", "One process a host")
        self.assertGreater(len(operations), 5)
        self.assertEqual([line for line in operations if line not in readme], [])
        for line in ("cmake --install build/release --prefix /usr", "systemd-sysusers",
                     "systemctl enable --now klamm"):
            self.assertIn(line, readme)


if __name__ == "__main__":
    unittest.main()
