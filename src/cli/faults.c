/*
 * The list of faults and its two ways of being shown: ours, one line a fault with its place; and
 * Kafka's, one sentence about the first kind.
 * Invariant: error_count + warning_count = count + dropped.
 */
#include "cli/faults.h"

#include "base/alloc.h"
#include "base/check.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void cli_faults_init(struct cli_faults *faults)
{
    memset(faults, 0, sizeof *faults);
}

void cli_faults_deinit(struct cli_faults *faults)
{
    for (int32_t i = 0; i < faults->count; i++) {
        free((void *)(uintptr_t)faults->list[i].subject);
        free((void *)(uintptr_t)faults->list[i].text);
    }
    free(faults->list);
    memset(faults, 0, sizeof *faults);
}

void cli_faults_add(struct cli_faults *faults, const struct cli_fault *fault, const char *format,
                    ...)
{
    if (fault->severity == CLI_SEVERITY_ERROR) {
        faults->error_count++;
    } else {
        faults->warning_count++;
    }
    if (faults->count == CLI_FAULTS_MAX) {
        faults->dropped++;
        return;
    }
    if (faults->count == faults->cap) {
        faults->cap = MAX(16, faults->cap * 2);
        faults->list = xrealloc(faults->list, (size_t)faults->cap * sizeof *faults->list);
    }
    char text[ERRMSG_SIZE];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    struct cli_fault *added = &faults->list[faults->count++];
    *added = *fault;
    added->subject = fault->subject == NULL ? NULL : xstrdup(fault->subject);
    added->text = xstrdup(text);
}

static int compare_places(const struct cli_fault *a, const struct cli_fault *b)
{
    if (a->at.line != b->at.line) {
        return a->at.line < b->at.line ? -1 : 1;
    }
    if (a->at.column != b->at.column) {
        return a->at.column < b->at.column ? -1 : 1;
    }
    return 0;
}

void cli_faults_sort(struct cli_faults *faults)
{
    /* An insertion sort: it is stable, and there are few and nearly sorted. */
    for (int32_t i = 1; i < faults->count; i++) {
        struct cli_fault moving = faults->list[i];
        int32_t to = i;
        while (to > 0 && compare_places(&moving, &faults->list[to - 1]) < 0) {
            faults->list[to] = faults->list[to - 1];
            to--;
        }
        faults->list[to] = moving;
    }
}

bool cli_faults_has(const struct cli_faults *faults, enum cli_fault_kind kind)
{
    for (int32_t i = 0; i < faults->count; i++) {
        if (faults->list[i].kind == kind) {
            return true;
        }
    }
    return false;
}

void cli_faults_print(const struct cli_faults *faults, const char *file, struct buf *out)
{
    for (int32_t i = 0; i < faults->count; i++) {
        const struct cli_fault *fault = &faults->list[i];
        buf_put_str(out, file);
        if (fault->at.line > 0) {
            buf_putf(out, ":%" PRId32 ":%" PRId32, fault->at.line, fault->at.column);
        }
        buf_put_str(out, fault->severity == CLI_SEVERITY_WARNING ? ": warning: " : ": ");
        if (fault->subject != NULL) {
            buf_putf(out, "%s: ", fault->subject);
        }
        buf_putf(out, "%s\n", fault->text);
    }
    if (faults->dropped > 0) {
        buf_putf(out, "%s: and %" PRId64 " more\n", file, faults->dropped);
    }
}

static const struct cli_fault *first_error(const struct cli_faults *faults)
{
    const struct cli_fault *first = NULL;
    for (int32_t i = 0; i < faults->count; i++) {
        const struct cli_fault *fault = &faults->list[i];
        if (fault->severity == CLI_SEVERITY_ERROR && (first == NULL || fault->kind < first->kind)) {
            first = fault;
        }
    }
    return first;
}

void cli_faults_print_kafka(const struct cli_faults *faults, struct buf *out)
{
    const struct cli_fault *first = first_error(faults);
    if (first == NULL) {
        return;
    }
    bool is_partition = first->kind == CLI_FAULT_PARTITION_REPEATED;
    if (!is_partition && first->kind != CLI_FAULT_REPLICA_REPEATED) {
        if (first->kind == CLI_FAULT_BROKER_UNKNOWN) {
            buf_putf(out, "Unknown broker id %" PRId64, first->value);
        } else if (first->subject != NULL && first->kind < CLI_FAULT_LIST_EMPTY) {
            buf_putf(out, "%s: %s", first->subject, first->text);
        } else {
            buf_put_str(out, first->text);
        }
        return;
    }
    buf_put_str(out, is_partition ? "Partition reassignment contains duplicate topic partitions: "
                                  : "Partition replica lists may not contain duplicate entries: ");
    const char *separator = "";
    for (int32_t i = 0; i < faults->count; i++) {
        const struct cli_fault *fault = &faults->list[i];
        if (fault->kind != first->kind) {
            continue;
        }
        buf_putf(out, "%s%s", separator, fault->subject);
        if (!is_partition) {
            buf_putf(out, " contains multiple entries for %" PRId64, fault->value);
        }
        separator = is_partition ? "," : ". ";
    }
}
