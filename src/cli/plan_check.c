/*
 * A plan against the cluster: what does not exist, and what would change. Also how severe a finding
 * is, by the rules in force.
 */
#include "cli/plan.h"

#include "base/check.h"
#include "cli/moves.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum cli_severity cli_plan_severity(const struct cli_plan_rules *rules, enum cli_fault_kind kind)
{
    bool is_error = true;
    if (kind == CLI_FAULT_KEY_UNKNOWN) {
        is_error = rules->refuses_unknown_keys;
    } else if (kind == CLI_FAULT_FACTOR_CHANGE) {
        is_error = rules->is_strict && !rules->allows_factor_change;
    } else if (kind == CLI_FAULT_BROKER_DOWN) {
        is_error = !rules->allows_down_targets;
    } else if (kind == CLI_FAULT_TOPIC_UNKNOWN || kind == CLI_FAULT_PARTITION_UNKNOWN) {
        is_error = rules->purpose == CLI_PLAN_EXECUTE;
    } else if (kind >= CLI_FAULT_LIST_EMPTY) {
        is_error = rules->purpose == CLI_PLAN_EXECUTE || rules->purpose == CLI_PLAN_UNDO;
    }
    return is_error ? CLI_SEVERITY_ERROR : CLI_SEVERITY_WARNING;
}

struct cli_fault cli_plan_fault(const struct cli_plan_rules *rules, enum cli_fault_kind kind,
                                struct cli_json_place at, const char *subject)
{
    return (struct cli_fault){
        .kind = kind, .severity = cli_plan_severity(rules, kind), .at = at, .subject = subject};
}

static bool has_broker(const struct klamm_cluster *cluster, int32_t id)
{
    for (int32_t i = 0; i < cluster->broker_count; i++) {
        if (cluster->brokers[i].id == id) {
            return true;
        }
    }
    return false;
}

/* A broker of the list that does not live; it may keep what it has. */
static void check_broker(const struct cli_plan_rules *rules, const struct cli_plan_view *view,
                         const struct cli_fault *at, struct cli_faults *faults)
{
    const struct klamm_cluster *cluster = view->cluster;
    struct cli_fault fault = *at;
    bool was_known = rules->purpose == CLI_PLAN_UNDO; /* it held a replica when the file was made */
    if (was_known || cli_text_ids_has(view->down, (int32_t)at->value)) {
        fault.kind = CLI_FAULT_BROKER_DOWN;
        fault.severity = cli_plan_severity(rules, fault.kind);
        cli_faults_add(faults, &fault, "broker %" PRId64 " is down: the move would wait for it%s",
                       at->value,
                       rules->allows_down_targets ? "" : " (--allow-down-targets accepts that)");
        return;
    }
    struct buf known;
    buf_init(&known);
    for (int32_t k = 0; k < MIN(cluster->broker_count, 30); k++) {
        buf_putf(&known, "%s%" PRId32, k == 0 ? "" : ", ", cluster->brokers[k].id);
    }
    cli_faults_add(faults, &fault, "broker %" PRId64 " is unknown (the cluster has %.*s%s)",
                   at->value, SLICE_ARG(buf_slice(&known)),
                   cluster->broker_count > 30 ? ", ..." : "");
    buf_deinit(&known);
}

static void check_brokers(const struct cli_plan_entry *entry, const struct cli_plan_rules *rules,
                          const struct cli_plan_view *view, const char *subject,
                          struct cli_faults *faults)
{
    const struct klamm_partition *now =
        cli_topics_find_partition(view->topics, entry->topic, entry->partition);
    const struct cli_json *value = entry->replicas_json->first;
    for (int32_t i = 0; i < entry->replicas.count; i++, value = value->next) {
        int32_t id = entry->replicas.list[i];
        bool stays = rules->is_strict && now != NULL && cli_text_ids_has(now->replicas, id);
        if (has_broker(view->cluster, id) || stays) {
            continue;
        }
        struct cli_fault fault =
            cli_plan_fault(rules, CLI_FAULT_BROKER_UNKNOWN, value->at, subject);
        fault.value = id;
        check_broker(rules, view, &fault, faults);
    }
}

static void check_change(struct cli_plan *plan, const struct cli_plan_entry *entry,
                         const struct klamm_ids *now, const struct klamm_reassignment *running)
{
    if (running != NULL) {
        return;
    }
    if (cli_text_ids_equal(*now, entry->replicas)) {
        plan->unchanged_count++;
    } else if (cli_text_ids_same_set(*now, entry->replicas)) {
        plan->reordered_count++;
    }
}

static void check_entry(struct cli_plan *plan, const struct cli_plan_entry *entry,
                        const struct cli_plan_rules *rules, const struct cli_plan_view *view,
                        struct cli_faults *faults)
{
    char subject[CLI_PLAN_SUBJECT_SIZE];
    snprintf(subject, sizeof subject, "%s-%" PRId32, entry->topic, entry->partition);
    if (entry->has_valid_replicas) {
        check_brokers(entry, rules, view, subject, faults);
    }
    const struct klamm_topic *topic = cli_topics_find(view->topics, entry->topic);
    if (topic == NULL || topic->code != 0) {
        struct cli_fault fault = cli_plan_fault(rules, CLI_FAULT_TOPIC_UNKNOWN, entry->at, subject);
        if (topic == NULL || topic->code == 3) {
            cli_faults_add(faults, &fault, "Topic %s not found", entry->topic);
        } else {
            fault.severity = CLI_SEVERITY_ERROR; /* it may be there */
            cli_faults_add(faults, &fault, "Topic %s: %s", entry->topic,
                           klamm_code_name(topic->code));
        }
        return;
    }
    if (entry->partition >= topic->partition_count) {
        struct cli_fault fault =
            cli_plan_fault(rules, CLI_FAULT_PARTITION_UNKNOWN, entry->at, subject);
        cli_faults_add(faults, &fault,
                       "Unable to find partition: %s does not exist, the topic has "
                       "partitions 0..%" PRId32,
                       subject, topic->partition_count - 1);
        return;
    }
    if (!entry->has_valid_replicas) {
        return;
    }
    const struct klamm_ids *now = &topic->partitions[entry->partition].replicas;
    const struct klamm_reassignment *running =
        cli_moves_find(view->running, entry->topic, entry->partition);
    check_change(plan, entry, now, running);
    /* A move may have ended since it was told of: what it says of itself fits together. */
    int32_t factor = running == NULL ? now->count : running->replicas.count - running->adding.count;
    if (factor != entry->replicas.count && rules->purpose == CLI_PLAN_EXECUTE) {
        struct cli_fault fault =
            cli_plan_fault(rules, CLI_FAULT_FACTOR_CHANGE, entry->replicas_at, subject);
        cli_faults_add(faults, &fault, "factor %" PRId32 " -> %" PRId32, factor,
                       entry->replicas.count);
    }
}

void cli_plan_check(struct cli_plan *plan, const struct cli_plan_rules *rules,
                    const struct cli_plan_view *view, struct cli_faults *faults)
{
    plan->unchanged_count = plan->reordered_count = 0;
    for (int32_t i = 0; i < plan->count; i++) {
        check_entry(plan, &plan->entries[i], rules, view, faults);
    }
}
