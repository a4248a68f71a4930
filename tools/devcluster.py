"""A `klamm dev` process in a directory of its own: what the demo, the benchmarks and the system tests start."""

import os
import signal
import subprocess
import sys
import tempfile
import shutil

STOP_SECONDS = 60


class DevCluster:
    """Starts `klamm dev` and waits for its line that names the bootstrap address.

    directory: kept when given, else a temporary one that stop() removes.
    """

    def __init__(self, build, brokers, directory=None, options=()):
        self.klamm = os.path.join(build, "klamm")
        self.is_temporary = directory is None
        self.root = directory or tempfile.mkdtemp(prefix="klamm-")
        self.directory = os.path.join(self.root, "data")
        os.makedirs(self.directory, exist_ok=True)
        self.log_path = os.path.join(self.root, "brokers.log")
        self.options = ["--brokers", str(brokers), "--dir", self.directory, *options]
        self.process = None
        self.bootstrap = None
        self.start()

    def start(self):
        with open(self.log_path, "a", encoding="utf-8") as log:
            self.process = subprocess.Popen([self.klamm, "dev", *self.options], stdout=subprocess.PIPE, stderr=log,
                                            text=True)
        for line in self.process.stdout:
            if "bootstrap" in line:
                self.bootstrap = line.split("bootstrap", 1)[1].strip(" :\n")
                return
        raise RuntimeError("klamm dev ended with status %s before it was ready; its log:\n%s"
                           % (self.process.wait(), self.log()))

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()[-8000:]

    def run(self, *arguments, check=True):
        """Runs `klamm ARGUMENTS`; with check, an exit status but 0 raises with what it printed."""
        result = subprocess.run([self.klamm, *arguments], capture_output=True, text=True, check=False)
        if check and result.returncode != 0:
            raise RuntimeError("klamm %s ended with status %d:\n%s%s"
                               % (" ".join(arguments), result.returncode, result.stdout, result.stderr))
        return result

    def admin(self, command, *arguments, check=True):
        """Runs a command that talks to the brokers."""
        return self.run(command, *arguments, "--bootstrap-server", self.bootstrap, check=check)

    def dev(self, *arguments, check=True):
        """klamm dev stop|kill|start ID, status."""
        return self.run("dev", *arguments, "--dir", self.directory, check=check)

    def stop(self, check=False):
        """Ends it and returns its exit status; with check, one but 0 (so a sanitizer tells of leaks and races) raises
        with the log."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                print("klamm dev did not end %d s after SIGINT: killed" % STOP_SECONDS, file=sys.stderr)
                self.process.kill()
                self.process.wait()
        if self.process is not None:
            self.process.stdout.close()
        status = None if self.process is None else self.process.returncode
        log = self.log() if check and status else ""
        if self.is_temporary:
            shutil.rmtree(self.root, ignore_errors=True)
        if check and status:
            raise RuntimeError("klamm dev ended with status %d; its log:\n%s" % (status, log))
        return status

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
