"""Runs the simulator over a range of seeds on all cores: ./dev sim --seeds A..B.

Each worker is a sim-cluster process with a piece of the range. Prints the reason and the trace of each failing
seed and, last, how many passed. --time-limit stops handing out seeds after so many seconds (used by the tests).
"""

import argparse
import concurrent.futures
import os
import re
import subprocess
import sys
import time

PIECE = 10


def seed_range(text):
    match = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text)
    if not match or int(match[2] or match[1]) < int(match[1]):
        raise argparse.ArgumentTypeError("'%s' is not A..B with A <= B" % text)
    return int(match[1]), int(match[2] or match[1])


def read_seeds(path):
    with open(path, encoding="ascii") as file:
        lines = [line.split("#")[0].split() for line in file]
    return [int(words[0]) for words in lines if words]


def run_piece(program, first, last, options):
    result = subprocess.run([program, "--seeds", "%d..%d" % (first, last), *options], capture_output=True, text=True)
    counts = re.findall(r"^(\d+) passed, (\d+) failed$", result.stdout, re.M)
    if not counts:  # the process died: some seed of the piece brought it down
        return 0, last - first + 1, "seeds %d..%d: the simulator ended with status %d\n%s" % (
            first, last, result.returncode, result.stderr[-6000:]), {}
    crossed = {name: int(count) for name, count in re.findall(r"^crossed (\S+) (\d+)$", result.stdout, re.M)}
    return int(counts[-1][0]), int(counts[-1][1]), result.stderr, crossed


def main():
    parser = argparse.ArgumentParser(prog="./dev sim", description="deterministic simulation of a cluster")
    parser.add_argument("--build", default="build/release")
    which = parser.add_mutually_exclusive_group(required=True)
    which.add_argument("--seeds", type=seed_range, metavar="A..B")
    which.add_argument("--seeds-file", metavar="FILE", help="a seed at the start of each line; # starts a comment")
    parser.add_argument("--time-limit", type=float, default=float("inf"), metavar="SECONDS")
    parser.add_argument("--last-replica", action="store_true", help="also the excluded case: losing the last in-sync replica")
    parser.add_argument("--levels", action="store_true", help="brokers of two levels of inter.broker.protocol.version")
    parser.add_argument("--fault-points", action="store_true",
                        help="the controller also crashes at its fault points; fails when one is never crossed")
    arguments = parser.parse_args()
    program = os.path.join(arguments.build, "tests/sim/sim-cluster")
    options = (["--last-replica"] * arguments.last_replica + ["--levels"] * arguments.levels
               + ["--fault-points"] * arguments.fault_points)
    if arguments.seeds_file:
        pieces = [(seed, seed) for seed in read_seeds(arguments.seeds_file)]
        name = arguments.seeds_file
    else:
        first, last = arguments.seeds
        pieces = [(a, min(a + PIECE - 1, last)) for a in range(first, last + 1, PIECE)]
        name = "seeds %d..%d" % (first, last)
    total = sum(b - a + 1 for a, b in pieces)
    end = time.monotonic() + arguments.time_limit
    passed = failed = left_out = 0
    crossed = {}

    def work(piece):
        return run_piece(program, *piece, options) if time.monotonic() < end else None

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, result in enumerate(pool.map(work, pieces), 1):
            if result is None:
                left_out += pieces[done - 1][1] - pieces[done - 1][0] + 1
                continue
            passed, failed = passed + result[0], failed + result[1]
            crossed = {point: crossed.get(point, 0) + count for point, count in result[3].items()} or crossed
            if result[1]:
                print(result[2], file=sys.stderr)
            if sys.stderr.isatty():
                print("\r%d of %d seeds, %d failed" % (passed + failed, total, failed), end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if left_out:
        print("sim: %d seeds were left out at the time limit" % left_out)
    for point, count in crossed.items():
        print("sim: crashes %s: %d" % (point, count))
    never = [point for point, count in crossed.items() if count == 0]
    if never:
        print("sim: never crossed: %s" % ", ".join(never))
    print("sim: %s: %d passed, %d failed" % (name, passed, failed))
    return 0 if failed == 0 and passed > 0 and not never else 1


if __name__ == "__main__":
    sys.exit(main())
