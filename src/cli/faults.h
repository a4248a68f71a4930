/*
 * What is wrong with a file, all of it: faults are collected, sorted by place and shown together.
 * Bounded: CLI_FAULTS_MAX are kept, the rest is counted.
 */
#pragma once

#include "base/buf.h"
#include "cli/json.h"

#define CLI_FAULTS_MAX 1000

/* In the order in which Kafka's tool would stumble over them. */
enum cli_fault_kind {
    CLI_FAULT_SOURCE, /* the file cannot be read */
    CLI_FAULT_SYNTAX,
    CLI_FAULT_VERSION,
    CLI_FAULT_SHAPE, /* a key is missing, a value has the wrong type */
    CLI_FAULT_RANGE, /* a number below 0 or beyond 32 bits */
    CLI_FAULT_KEY_REPEATED,
    CLI_FAULT_KEY_UNKNOWN,
    CLI_FAULT_TOPIC_NAME,
    CLI_FAULT_LOG_DIRS,
    CLI_FAULT_LIST_EMPTY,
    CLI_FAULT_REPLICAS_EMPTY,
    CLI_FAULT_PARTITION_REPEATED,
    CLI_FAULT_REPLICA_REPEATED,
    CLI_FAULT_BROKER_UNKNOWN,
    CLI_FAULT_TOPIC_UNKNOWN,
    CLI_FAULT_PARTITION_UNKNOWN,
    CLI_FAULT_FACTOR_CHANGE,
    CLI_FAULT_BROKER_DOWN,
};

enum cli_severity {
    CLI_SEVERITY_ERROR,
    CLI_SEVERITY_WARNING,
};

struct cli_fault {
    enum cli_fault_kind kind;
    enum cli_severity severity;
    struct cli_json_place at; /* line 0: the file as a whole */
    int64_t value;            /* the broker id or number it is about; 0 where there is none */
    const char *subject;      /* "foo-0", copied by cli_faults_add; NULL = none */
    const char *text;         /* one line, made by cli_faults_add */
};

struct cli_faults {
    struct cli_fault *list;
    int32_t count;
    int32_t cap;
    int64_t dropped; /* found, but beyond CLI_FAULTS_MAX */
    int64_t error_count;
    int64_t warning_count;
};

void cli_faults_init(struct cli_faults *faults);
void cli_faults_deinit(struct cli_faults *faults);
/* fault gives all but the text; its subject is copied. */
void cli_faults_add(struct cli_faults *faults, const struct cli_fault *fault, const char *format,
                    ...) PRINTF_LIKE(3, 4);
/* By place, then in the order they were found. */
void cli_faults_sort(struct cli_faults *faults);
bool cli_faults_has(const struct cli_faults *faults, enum cli_fault_kind kind);
/* One line each: "FILE:LINE:COLUMN: foo-0: text", warnings marked as such. */
void cli_faults_print(const struct cli_faults *faults, const char *file, struct buf *out);
/* The one message Kafka's tool would print: of the errors, those of the first kind in the order of
 * the enum. Nothing when there is no error. */
void cli_faults_print_kafka(const struct cli_faults *faults, struct buf *out);
