/*
 * Any bytes as a plan file. What is accepted must be a plan in the strict sense, and must read the same
 * when it is written again. Input: one byte for the rules, then the file.
 */
#include "base/alloc.h"
#include "base/check.h"
#include "cli/plan.h"
#include "cli/reassign.h"
#include "cli/text.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_entry(const struct cli_plan_entry *entry)
{
    const char *reason;
    CHECK(cli_text_is_topic_name(slice_str(entry->topic), &reason));
    CHECK(entry->partition >= 0);
    for (int32_t i = 0; i < entry->replicas.count; i++) {
        CHECK(entry->replicas.list[i] >= 0);
    }
}

static bool is_in_order(const struct cli_plan_entry *a, const struct cli_plan_entry *b)
{
    int order = strcmp(a->topic, b->topic);
    return order < 0 || (order == 0 && a->partition <= b->partition);
}

/* A plan without faults: written as Kafka's tool writes it, it is the same plan without faults. */
static void check_again(const struct cli_plan *plan, const struct cli_plan_rules *rules)
{
    struct cli_assignment *list = xalloc((size_t)MAX(plan->count, 1) * sizeof *list);
    for (int32_t i = 0; i < plan->count; i++) {
        const struct cli_plan_entry *entry = &plan->entries[i];
        list[i] = (struct cli_assignment){entry->topic, entry->partition, entry->replicas};
    }
    struct buf text;
    struct cli_faults faults;
    buf_init(&text);
    cli_faults_init(&faults);
    cli_reassign_put_json(&text, list, plan->count);
    struct cli_plan *again = cli_plan_parse(buf_slice(&text), rules, &faults);
    CHECK(faults.error_count == 0 && faults.warning_count == 0);
    CHECK(again->count == plan->count);
    for (int32_t i = 0; i < plan->count; i++) {
        CHECK(strcmp(again->entries[i].topic, plan->entries[i].topic) == 0);
        CHECK(again->entries[i].partition == plan->entries[i].partition);
        CHECK(cli_text_ids_equal(again->entries[i].replicas, plan->entries[i].replicas));
    }
    cli_plan_free(again);
    cli_faults_deinit(&faults);
    buf_deinit(&text);
    free(list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    struct cli_plan_rules rules = {.is_strict = (data[0] & 1) != 0,
                                   .refuses_unknown_keys = (data[0] & 2) != 0,
                                   .purpose = CLI_PLAN_EXECUTE};
    struct cli_faults faults;
    struct buf printed;
    cli_faults_init(&faults);
    buf_init(&printed);
    struct cli_plan *plan = cli_plan_parse(slice_of(data + 1, size - 1), &rules, &faults);
    for (int32_t i = 0; i < plan->count; i++) {
        check_entry(&plan->entries[i]);
        CHECK(i == 0 || is_in_order(&plan->entries[i - 1], &plan->entries[i]));
    }
    if (faults.error_count == 0) {
        CHECK(plan->count > 0);
        check_again(plan, &rules);
    }
    cli_faults_sort(&faults);
    cli_faults_print(&faults, "plan", &printed);
    cli_faults_print_kafka(&faults, &printed);
    for (size_t i = 0; i < printed.len; i++) {
        CHECK(printed.ptr[i] == '\n' || (printed.ptr[i] >= 0x20 && printed.ptr[i] < 0x7f));
    }
    cli_plan_free(plan);
    cli_faults_deinit(&faults);
    buf_deinit(&printed);
    return 0;
}
