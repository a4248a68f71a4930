#!/usr/bin/env python3
"""Generates the wire structs and their tables from schema/*.schema.

A schema file is a list of blocks in the notation of docs/spec/protocol.md section 5:

    api KEY NAME vMIN-MAX flexible N      ("flexible never" where it is not)
    Q: fields of the request body
    R: fields of the response body

or, for the two headers, `message NAME vMIN-MAX flexible N` with one line `M:`. A list of fields may
go on over further lines; '#' starts a comment. One field is

    name type[?][=default] [vA|vA+|vA-B] [tagN] [classic]      type: i32 str uuid ... or [i32]
    name[][?] [versions] [tagN]{ fields }                      array of structs
    name[?] [versions] [tagN]{ fields }                        struct

'?' is nullable, '?N+' nullable from version N; `classic` keeps the inflexible encoding in a flexible
version (client_id of the request header). Abbreviations are expanded here: see ABBREVIATIONS.

Output: one header an API (<api>.h) and one a header, keys.h, and messages.c with the tables that
src/wire/message.c interprets. `--list` prints the names of the output files and writes nothing.
"""
import argparse
import pathlib
import re
import sys

ABBREVIATIONS = {
    "err": "error_code",
    "errmsg": "error_message",
    "pidx": "partition_index",
    "pidxes": "partition_indexes",
    "throttle_ms": "throttle_time_ms",
}
# name: (C type, kind, bytes on the wire in classic encoding, in compact encoding)
TYPES = {
    "bool": ("bool", "WIRE_BOOL", 1, 1),
    "i8": ("int8_t", "WIRE_I8", 1, 1),
    "i16": ("int16_t", "WIRE_I16", 2, 2),
    "i32": ("int32_t", "WIRE_I32", 4, 4),
    "i64": ("int64_t", "WIRE_I64", 8, 8),
    "u16": ("uint16_t", "WIRE_U16", 2, 2),
    "f64": ("double", "WIRE_F64", 8, 8),
    "uuid": ("struct uuid", "WIRE_UUID", 16, 16),
    "str": ("struct slice", "WIRE_STR", 2, 1),
    "bytes": ("struct slice", "WIRE_BYTES", 4, 1),
    "records": ("struct wire_records", "WIRE_RECORDS", 4, 1),
}
NEVER = 0x7FFF
INT64_MAX = 2**63 - 1


class SchemaError(Exception):
    pass


def snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def expand(name):
    name = ABBREVIATIONS.get(name, name)
    name = re.sub(r"_errmsg$", "_error_message", name)
    return re.sub(r"_err$", "_error_code", name)


class Field:
    """One field; `struct` is set for structs and arrays of structs, else `type` names a primitive."""

    def __init__(self, text, message):
        head, brace, body = text.partition("{")
        words = head.split()
        match = re.fullmatch(r"(\w+)(\[\])?(\?(?:\d+\+)?)?", words[0])
        if match is None:
            raise SchemaError(f"not a field: {text!r}")
        self.name = expand(match[1])
        self.is_array = match[2] is not None
        self.type = None
        self.default = 0
        self.first, self.last = message.first, message.last
        self.tag = -1
        self.is_classic = False
        self.struct = None
        words = words[1:]
        nullable = match[3]
        if not brace:
            nullable = self.parse_type(words.pop(0) if words else "", text)
        self.null_from = NEVER
        if nullable:
            self.null_from = int(nullable[1:-1]) if len(nullable) > 1 else 0
        for word in words:
            self.parse_modifier(word, text)
        if brace:
            if not body.endswith("}"):
                raise SchemaError(f"no closing brace: {text!r}")
            self.struct = Struct(body[:-1], message, self.name)

    def parse_type(self, word, text):
        match = re.fullmatch(r"(\[?)(\w+)(\]?)(\?(?:\d+\+)?)?(?:=(\S+))?", word)
        if match is None or match[2] not in TYPES or (match[1] == "[") != (match[3] == "]"):
            raise SchemaError(f"not a type: {word!r} in {text!r}")
        self.is_array = match[1] == "["
        self.type = match[2]
        if match[5] is not None:
            constants = {"true": 1, "false": 0}
            self.default = constants[match[5]] if match[5] in constants else int(match[5], 0)
        return match[4]

    def parse_modifier(self, word, text):
        versions = re.fullmatch(r"v(\d+)(\+|-(\d+))?", word)
        if versions:
            self.first = int(versions[1])
            if versions[2] != "+":
                self.last = int(versions[3] or versions[1])
        elif re.fullmatch(r"tag\d+", word):
            self.tag = int(word[3:])
        elif word == "classic":
            self.is_classic = True
        else:
            raise SchemaError(f"not a modifier: {word!r} in {text!r}")

    def is_present(self, version):
        return self.first <= version <= self.last

    def bytes_min(self, version, is_flexible):
        """The fewest bytes the field takes on the wire."""
        if not self.is_present(version) or self.tag >= 0:
            return 0
        if self.is_array:
            return 1 if is_flexible else 4
        if self.struct is not None:
            return 1 if self.null_from != NEVER else self.struct.bytes_min(version, is_flexible)
        return TYPES[self.type][3 if is_flexible and not self.is_classic else 2]

    def comment(self, message):
        parts = []
        if (self.first, self.last) != (message.first, message.last):
            if self.last == message.last:
                parts.append(f"v{self.first}+")
            else:
                parts.append(f"v{self.first}-{self.last}")
        if self.tag >= 0:
            parts.append(f"tag {self.tag}")
        if self.null_from != NEVER:
            parts.append("nullable" + (f" from v{self.null_from}" if self.null_from > 0 else ""))
        if self.default != 0:
            default = self.default
            if self.type == "bool":
                default = "true"
            parts.append(f"default {default}")
        return f" /* {', '.join(parts)} */" if parts else ""


class Struct:
    def __init__(self, text, message, name):
        self.fields = [Field(part, message) for part in split_fields(text)]
        self.name = name
        self.message = message
        if not self.fields:
            raise SchemaError(f"{message.name}: a struct without fields")
        names = [field.name for field in self.fields]
        for field_name in names:
            if names.count(field_name) > 1:
                raise SchemaError(f"{message.name}: {field_name} twice in one struct")
        self.untagged = [field for field in self.fields if field.tag < 0]
        self.tagged = sorted((f for f in self.fields if f.tag >= 0), key=lambda f: f.tag)

    def bytes_min(self, version, is_flexible):
        total = sum(field.bytes_min(version, is_flexible) for field in self.fields)
        return total + (1 if is_flexible else 0)


class Message:
    def __init__(self, name, first, last, flexible, text):
        self.name, self.first, self.last, self.flexible = name, first, last, flexible
        self.body = Struct(text, self, "")

    def element_bytes_min(self, struct, first, last):
        versions = range(max(first, self.first), min(last, self.last) + 1)
        fewest = min(struct.bytes_min(v, v >= self.flexible) for v in versions)
        if fewest == 0:
            raise SchemaError(f"{self.name}: {struct.name} may take no bytes")
        return fewest


class Api:
    def __init__(self, key, name, first, last, flexible, source):
        self.key, self.name, self.source = key, name, source
        self.first, self.last, self.flexible = first, last, flexible
        self.messages = []
        self.file = snake(name)


def split_fields(text):
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == ";" and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]


def parse_file(path):
    """The APIs of one file; a block of two headers (`message`) becomes an API without a key."""
    head = re.compile(r"(?:api (\d+)|message) (\w+) v(\d+)(?:-(\d+))? flexible (\d+|never)")
    lines = [re.sub(r"#.*", "", line).rstrip() for line in path.read_text().splitlines()]
    blocks, body = [], None
    for line in lines:
        match = head.fullmatch(line)
        if match:
            blocks.append((match, []))
            body = None
        elif re.match(r"[QRM]:", line):
            body = [line[0], line[2:]]
            blocks[-1][1].append(body)
        elif line.strip():
            if body is None:
                raise SchemaError(f"{path.name}: not a line of a schema: {line!r}")
            body[1] += " " + line.strip()
    return [make_api(match, bodies, path) for match, bodies in blocks]


def make_api(match, bodies, path):
    first = int(match[3])
    last = int(match[4] or match[3])
    flexible = NEVER if match[5] == "never" else int(match[5])
    key = None if match[1] is None else int(match[1])
    api = Api(key, match[2], first, last, flexible, path)
    if [letter for letter, _ in bodies] != (["M"] if key is None else ["Q", "R"]):
        raise SchemaError(f"{path.name}: {api.name}: expected lines Q: and R: (or M:)")
    for letter, text in bodies:
        suffix = {"Q": "_request", "R": "_response", "M": ""}[letter]
        api.messages.append(Message(snake(api.name) + suffix, first, last, flexible, text))
    return api


def structs_of(struct, prefix):
    """(C name, struct) of all structs inside, innermost first, then the struct itself."""
    for field in struct.fields:
        if field.struct is not None:
            yield from structs_of(field.struct, f"{prefix}_{field.name}")
    yield prefix, struct


def c_members(field, prefix, message):
    comment = field.comment(message)
    if field.struct is not None:
        c_type = f"struct {prefix}_{field.name}"
        star = "*" if field.is_array or field.null_from != NEVER else ""
    else:
        c_type = TYPES[field.type][0]
        star = "*" if field.is_array else ""
    lines = [f"    {c_type} {star}{field.name};{comment}"]
    if field.is_array:
        lines.append(f"    int32_t {field.name}_count;")
    return lines


def header_text(api):
    what = f"{api.name}, " + ("" if api.key is None else f"key {api.key}, ")
    what += f"versions {api.first}-{api.last}, "
    what += "never flexible" if api.flexible == NEVER else f"flexible from {api.flexible}"
    lines = [f"/*\n * {what}.", f" * Generated from schema/{api.source.name}; wire/wire.h explains."]
    lines += [" */", "#pragma once", "", '#include "wire/wire.h"']
    for message in api.messages:
        top = "wire_" + message.name
        for name, struct in structs_of(message.body, top):
            lines += ["", f"struct {name} {{"]
            for field in struct.fields:
                lines += c_members(field, name, message)
            lines.append("};")
        lines += ["", f"extern const struct wire_message {top}_message;"]
        lines += [f"int {top}_decode(struct {top} *ret, struct reader *r, int16_t version,"]
        lines += ["    struct arena *a) MUST_CHECK;"]
        lines += [f"void {top}_encode(const struct {top} *m, struct buf *b, int16_t version);"]
        for name, _ in structs_of(message.body, top):
            lines.append(f"void {name}_init(struct {name} *m);")
    return "\n".join(lines) + "\n"


def keys_text(apis):
    lines = ["/*\n * The api keys. Generated from schema/.\n */", "#pragma once", "", "enum wire_key {"]
    lines += [f"    WIRE_KEY_{snake(api.name).upper()} = {api.key}," for api in apis]
    return "\n".join(lines) + "\n};\n"


def table_entry(field, name):
    entry = [f'.name = "{field.name}"', f".offset = offsetof(struct {name}, {field.name})"]
    if field.is_array:
        entry.append(f".count_offset = offsetof(struct {name}, {field.name}_count)")
        entry.append(".is_array = true")
    if field.struct is not None:
        entry += [".kind = WIRE_STRUCT", f".of = &{name}_{field.name}_struct"]
    else:
        entry.append(f".kind = {TYPES[field.type][1]}")
    if field.default != 0:
        entry.append(".initial = " + ("INT64_MAX" if field.default == INT64_MAX else str(field.default)))
    if field.is_classic:
        entry.append(".is_classic = true")
    if field.name == "error_code":
        entry.append(".is_error = true")
    entry.append(f".first_version = {field.first}")
    entry.append(f".last_version = {field.last}")
    entry.append(f".null_version = {field.null_from if field.null_from != NEVER else 'WIRE_NEVER'}")
    entry.append(f".tag = {field.tag}")
    return "    {" + ", ".join(entry) + "},"


def tables_of(message):
    """Tables and functions of one message."""
    top = "wire_" + message.name
    ranges = {top: (message.first, message.last)}
    for name, struct in reversed(list(structs_of(message.body, top))):
        first, last = ranges[name]
        for field in struct.fields:
            ranges[f"{name}_{field.name}"] = (max(first, field.first), min(last, field.last))
    lines = []
    for name, struct in structs_of(message.body, top):
        ordered = struct.untagged + struct.tagged
        fields = f"{name}_fields"
        lines += [f"static const struct wire_field {fields}[] = {{"]
        lines += [table_entry(field, name) for field in ordered]
        lines.append("};")
        fewest = 1 if name == top else message.element_bytes_min(struct, *ranges[name])
        lines += [f"static const struct wire_struct {name}_struct = {{"]
        lines += [f"    .fields = {fields}, .untagged_count = {len(struct.untagged)},"]
        lines += [f"    .field_count = {len(ordered)}, .size = sizeof(struct {name}),"]
        lines += [f"    .bytes_min = {fewest}, .name = \"{name}\"}};"]
        lines += [f"void {name}_init(struct {name} *m)", "{"]
        lines += [f"    wire_struct_init(&{name}_struct, m);", "}"]
    flexible = "WIRE_NEVER" if message.flexible == NEVER else message.flexible
    lines += [f"static_assert(sizeof(struct {top}) <= WIRE_BODY_SIZE_MAX, \"{top}\");"]
    lines += [f"const struct wire_message {top}_message = {{.body = &{top}_struct,"]
    lines += [f"    .first_version = {message.first}, .last_version = {message.last},"]
    lines += [f"    .flexible_version = {flexible}}};"]
    lines += [f"int {top}_decode(struct {top} *ret, struct reader *r, int16_t version, struct arena *a)"]
    lines += ["{", f"    return wire_message_decode(&{top}_message, ret, r, version, a);", "}"]
    lines += [f"void {top}_encode(const struct {top} *m, struct buf *b, int16_t version)"]
    lines += ["{", f"    wire_message_encode(&{top}_message, m, b, version);", "}"]
    return lines


def tables_text(apis, headers):
    files = sorted({api.file for api in apis} | {api.file for api in headers})
    lines = ["/*", " * The tables of all messages. Generated from schema/; src/wire/message.c reads them."]
    lines += [" */"] + [f'#include "wire/{name}.h"' for name in files]
    lines += ['#include "wire/message.h"', "", "#include <assert.h>", "#include <stddef.h>", ""]
    for api in headers + apis:
        for message in api.messages:
            lines += tables_of(message)
    lines.append("const struct wire_api wire_apis[] = {")
    for api in apis:
        name = snake(api.name)
        flexible = "WIRE_NEVER" if api.flexible == NEVER else api.flexible
        lines += [f'    {{.key = {api.key}, .name = "{api.name}", .first_version = {api.first},']
        lines += [f"     .last_version = {api.last}, .flexible_version = {flexible},"]
        lines += [f"     .request = &wire_{name}_request_message,"]
        lines += [f"     .response = &wire_{name}_response_message}},"]
    lines += ["};", f"const int32_t wire_apis_count = {len(apis)};"]
    return "\n".join(lines) + "\n"


def generate(paths):
    """{file name: text} of all outputs."""
    blocks = [api for path in sorted(paths) for api in parse_file(path)]
    apis = sorted((api for api in blocks if api.key is not None), key=lambda api: api.key)
    headers = [api for api in blocks if api.key is None]
    keys = [api.key for api in apis]
    if len(keys) != len(set(keys)):
        raise SchemaError("an api key occurs twice")
    outputs = {api.file + ".h": header_text(api) for api in apis + headers}
    outputs["keys.h"] = keys_text(apis)
    outputs["messages.c"] = tables_text(apis, headers)
    return outputs


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--schema", type=pathlib.Path, required=True, help="folder of *.schema")
    parser.add_argument("--out", type=pathlib.Path, required=True, help="folder to write to")
    parser.add_argument("--list", action="store_true", help="print the output files, write nothing")
    options = parser.parse_args()
    try:
        outputs = generate(options.schema.glob("*.schema"))
    except SchemaError as error:
        sys.exit(f"wire_gen: {error}")
    if options.list:
        print("\n".join(str(options.out / name) for name in sorted(outputs)))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    for name, text in outputs.items():
        (options.out / name).write_text(text)


if __name__ == "__main__":
    main()
