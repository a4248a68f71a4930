#!/usr/bin/env python3
"""Checks the tree against layers.txt: one line a finding, exit status 1 if there is any.

From the sources: a folder includes only the folders and library headers of its row; rows name lower
levels only; no file includes itself by way of others.
From the built libraries (nm): exported symbols carry the folder's name; a pure folder reaches nothing
but its lower folders, its external libraries and the harmless part of libc (an allow list); only
env/ and the programs call the kernel (a deny list).
"""
import argparse
import pathlib
import re
import subprocess
import sys

# Headers of the external libraries, by the name layers.txt has for them.
EXTERNAL_HEADERS = {
    "uthash": r"uthash\.h",
    "libuv": r"uv\.h",
    "libzstd": r"zstd(_errors)?\.h",
    "liblz4": r"lz4(hc|frame)?\.h",
    "snappy": r"snappy-c\.h",
    "zlib": r"zlib\.h",
    "sqlite3": r"sqlite3\.h",
    "jansson": r"jansson\.h",
    "libmicrohttpd": r"microhttpd\.h",
    "openssl": r"openssl/.*",
    "zookeeper_st": r"zookeeper/.*",
}
# Symbols of the external libraries that a pure folder may name.
EXTERNAL_SYMBOLS = {
    "libzstd": r"ZSTD_\w+",
    "liblz4": r"LZ4F?_\w+",
    "snappy": r"snappy_\w+",
    "zlib": r"(deflate|inflate|crc32|adler32|compress|uncompress)\w*",
}
# Folders whose names may carry the file's name instead of the folder's: they hold the shared nouns.
FILE_PREFIXED = {"base", "model"}
# Further prefixes. client/ holds the public library, the parts of broker/ have names of their own;
# alloc.c and error.c each own two nouns.
EXTRA_PREFIXES = {
    "broker": ["api_", "controller_", "metadata_", "replicas_", "settings_"],
    "client": ["klamm_"],
    "env": ["loop_"],
    "base/alloc": ["x", "budget_"],
    "base/error": ["errmsg_"],
}
# What pure code may take from libc: no I/O, no clock, no threads, no environment, no randomness.
PURE_LIBC = re.compile(
    r"mem(chr|cmp|cpy|move|rchr|set|mem)|str(chr|cmp|len|ncmp|nlen|rchr|spn|cspn|str|casecmp|ncasecmp"
    r"|pbrk)|(str|__isoc23_str)to(l|ll|ul|ull|d)|malloc|calloc|realloc|free|abort|qsort|bsearch"
    r"|v?snprintf|v?asprintf|__v?snprintf_chk|__v?asprintf_chk|__mem\w+_chk|__stack_chk_fail"
    r"|__errno_location|__ctype_\w+|u?labs|ldexp|frexp|floor|ceil|round|log2?|exp2?|pow|sqrt"
    r"|_GLOBAL_OFFSET_TABLE_|__(a|ub|t)san_\w+|__sanitizer_\w+|__gcov_\w+|__(start_|stop_)?__sancov_\w+|__sancov_\w+|__tls_get_addr"
)
# The kernel's doors: for env/ alone, and for the programs' own folders.
KERNEL = re.compile(
    r"pthread_\w+|socket|bind|listen|accept4?|connect|send(to|msg|file)?|recv(from|msg)?|poll|ppoll"
    r"|epoll_\w+|select|getaddrinfo|[gs]etsockopt|clock_\w+|gettimeofday|time|nanosleep|u?sleep"
    r"|open(at|64)?|creat|read|write|pread(v2?)?|pwrite(v2?)?|readv|writev|lseek|fsync|fdatasync"
    r"|f?truncate|rename(at)?|unlink(at)?|mkdir(at)?|rmdir|opendir|fopen|fread|fwrite|fclose|fgets"
    r"|mmap|munmap|fork|exec\w+|kill|signal|sigaction|(secure_)?getenv|setenv|getrandom|s?rand(om)?"
    r"|uv_\w+"
)
KERNEL_FOLDERS = {"env", "cli", "cmd"}
# Locks are metric/'s too (rule 38).
LOCKS = re.compile(r"pthread_mutex_\w+")
LOCK_FOLDERS = {"metric"}


class Row:
    def __init__(self, line):
        match = re.fullmatch(r"(\d) +([a-z]+) +([P-]) *:([^:]*):(.*)", line)
        if match is None:
            raise ValueError(f"layers.txt: not a row: {line!r}")
        self.level, self.folder = int(match[1]), match[2]
        self.is_pure = match[3] == "P"
        self.includes = match[4].split()
        self.externals = [name.lstrip("=") for name in match[5].split()]


def read_rows(source):
    lines = (source / "layers.txt").read_text().splitlines()
    rows = [Row(line) for line in lines if re.match(r"\d", line)]
    return {row.folder: row for row in rows}


def check_rows(rows):
    for row in rows.values():
        for name in row.includes:
            if name not in rows:
                yield f"layers.txt: {row.folder} names {name}, which has no row"
            elif rows[name].level >= row.level:
                if not (row.folder == "cmd" and name != "cmd"):
                    yield f"layers.txt: {row.folder} may not include {name}: not a lower level"


def source_files(source):
    return sorted(p for p in (source / "src").rglob("*") if p.suffix in (".c", ".h"))


def includes_of(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*([<"])([^>"]+)[>"]', line)
        if match:
            yield number, match[1], match[2]


def check_quoted(row, rows, header):
    folder = header.split("/")[0]
    if folder == "klamm" or folder == row.folder or folder in row.includes:
        return None
    if folder not in rows:
        return f'includes "{header}", which is in no folder of layers.txt'
    return f'{row.folder} may not include {folder} ("{header}")'


def check_angled(row, header):
    for name, pattern in EXTERNAL_HEADERS.items():
        if re.fullmatch(pattern, header) and name not in row.externals:
            return f"{row.folder} may not include <{header}>: layers.txt does not name {name}"
    return None


def check_includes(source, rows):
    for path in source_files(source):
        name = path.relative_to(source)
        folder = name.parts[1]
        if folder not in rows:
            yield f"{name}: layers.txt has no row for {folder}"
            continue
        for number, quote, header in includes_of(path):
            if quote == '"':
                finding = check_quoted(rows[folder], rows, header)
            else:
                finding = check_angled(rows[folder], header)
            if finding:
                yield f"{name}:{number}: {finding}"


def check_cycles(source):
    """Removes files that include no remaining file, until none is left or a cycle is."""
    root = source / "src"
    graph = {}
    for path in source_files(source):
        name = str(path.relative_to(root))
        graph[name] = {header for _, quote, header in includes_of(path) if quote == '"'}
    while True:
        leaves = [name for name, headers in graph.items() if not headers & graph.keys()]
        if not leaves:
            break
        for name in leaves:
            del graph[name]
    if graph:
        yield "headers include each other in a circle, among: " + ", ".join(sorted(graph))


def symbols_of(library, *options):
    """(object file, symbol) of a library."""
    text = subprocess.run(["nm", *options, library], check=True, capture_output=True, text=True)
    member = ""
    for line in text.stdout.splitlines():
        if line.endswith(":"):
            member = line[:-1].split("(")[-1].rstrip(")")
        elif line.strip():
            yield member, line.split()[-1]


def has_prefix(folder, member, symbol):
    stem = member.split(".")[0]
    prefixes = [folder + "_"] + EXTRA_PREFIXES.get(folder, [])
    if folder in FILE_PREFIXED:
        # crc32c.c may export crc32c itself.
        prefixes += [stem + "_"] + EXTRA_PREFIXES.get(f"{folder}/{stem}", [])
        if symbol == stem:
            return True
    return symbol.startswith(tuple(prefixes))


def check_prefixes(folder, library):
    for member, symbol in symbols_of(library, "-g", "--defined-only"):
        if not has_prefix(folder, member, symbol) and not symbol.startswith("__"):
            yield f"{folder}: {member} exports {symbol}, which lacks the prefix"


def check_reach(row, library, provided):
    """provided: what the folders below define."""
    externals = [EXTERNAL_SYMBOLS[name] for name in row.externals if name in EXTERNAL_SYMBOLS]
    allowed = re.compile("|".join(externals) or r"(?!)")
    own = {symbol for _, symbol in symbols_of(library, "-g", "--defined-only")}
    for member, symbol in sorted(set(symbols_of(library, "-u"))):
        symbol = symbol.split("@")[0]
        if symbol in own or symbol in provided:
            continue
        if row.is_pure and not PURE_LIBC.fullmatch(symbol) and not allowed.fullmatch(symbol):
            yield f"{row.folder}: {member} reaches {symbol}, but the folder is pure"
        elif row.folder in LOCK_FOLDERS and LOCKS.fullmatch(symbol):
            continue
        elif row.folder not in KERNEL_FOLDERS and KERNEL.fullmatch(symbol):
            yield f"{row.folder}: {member} calls {symbol}: only env/ may"


def check_libraries(build, rows):
    defined = {}
    for row in rows.values():
        library = build / f"libklamm_{row.folder}.a"
        if not library.exists():
            continue
        provided = set().union(*(defined.get(name, set()) for name in row.includes))
        defined[row.folder] = {s for _, s in symbols_of(library, "-g", "--defined-only")}
        yield from check_prefixes(row.folder, library)
        yield from check_reach(row, library, provided)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, default=pathlib.Path("."))
    parser.add_argument("--build", type=pathlib.Path, help="a build folder, for the checks by nm")
    options = parser.parse_args()
    rows = read_rows(options.source)
    findings = list(check_rows(rows))
    findings += check_includes(options.source, rows)
    findings += check_cycles(options.source)
    if options.build is not None:
        findings += check_libraries(options.build, rows)
    print("\n".join(findings) if findings else "layers: no findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
