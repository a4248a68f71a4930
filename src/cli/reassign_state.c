/*
 * klamm reassign --verify, --cancel and --list (docs/spec/reassignment.md 14.6 to 14.8).
 * Throttles go with the last move that runs, or with any cancel.
 * A cancel picks what is moving at all: also a pure growth of the replica list, which Kafka's tool of
 * 3.7 to 3.9 leaves out.
 */
#include "cli/reassign.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"
#include "cli/text.h"
#include "cli/watch.h"

#include <inttypes.h>
#include <stdlib.h>

#define CODE_NO_REASSIGNMENT 85

/* ---- verify ---- */

static const struct klamm_ids no_ids = {NULL, 0};

static void print_state(struct cli_reassign *run, const struct cli_plan_entry *entry,
                        const struct klamm_topics *topics)
{
    struct buf *out = &run->terminal->out;
    const struct klamm_partition *partition =
        cli_topics_find_partition(topics, entry->topic, entry->partition);
    struct klamm_ids now = partition == NULL ? no_ids : partition->replicas;
    const struct klamm_reassignment *move =
        cli_moves_find(run->running, entry->topic, entry->partition);
    if (move != NULL) {
        buf_putf(out, "Reassignment of partition %s-%" PRId32 " is still in progress.\n",
                 entry->topic, entry->partition);
        struct klamm_ids target = cli_moves_target(move);
        if (entry->has_valid_replicas && !cli_text_ids_same_set(target, entry->replicas)) {
            buf_putf(&run->terminal->err,
                     "%s-%" PRId32 ": another target is active: ", entry->topic, entry->partition);
            cli_text_put_json_ids(&run->terminal->err, target);
            buf_put_str(&run->terminal->err, "\n");
        }
        free((void *)(uintptr_t)target.list);
    } else if (partition != NULL && cli_text_ids_equal(now, entry->replicas)) {
        buf_putf(out, "Reassignment of partition %s-%" PRId32 " is completed.\n", entry->topic,
                 entry->partition);
    } else {
        buf_putf(out,
                 "There is no active reassignment of partition %s-%" PRId32 ", but replica set is ",
                 entry->topic, entry->partition);
        cli_text_put_ids(out, now);
        buf_put_str(out, " rather than ");
        cli_text_put_ids(out, entry->replicas);
        buf_put_str(out, ".\n");
    }
}

static void print_state_json(struct cli_reassign *run, const struct cli_plan_entry *entry,
                             const struct klamm_topics *topics)
{
    struct buf *out = &run->terminal->out;
    const struct klamm_partition *partition =
        cli_topics_find_partition(topics, entry->topic, entry->partition);
    const struct klamm_reassignment *move =
        cli_moves_find(run->running, entry->topic, entry->partition);
    bool is_done = partition != NULL && cli_text_ids_equal(partition->replicas, entry->replicas);
    buf_put_str(out, "{\"topic\":");
    cli_text_put_json(out, entry->topic);
    buf_putf(out, ",\"partition\":%" PRId32 ",\"state\":\"%s\",\"wanted\":", entry->partition,
             move != NULL        ? "in_progress"
             : partition == NULL ? "unknown"
             : is_done           ? "completed"
                                 : "not_active");
    cli_text_put_json_ids(out, entry->replicas);
    buf_put_str(out, ",\"replicas\":");
    cli_text_put_json_ids(out, partition == NULL ? no_ids : partition->replicas);
    if (move != NULL) {
        struct klamm_ids target = cli_moves_target(move);
        buf_put_str(out, ",\"active_target\":");
        cli_text_put_json_ids(out, target);
        free((void *)(uintptr_t)target.list);
    }
    buf_put_str(out, "}");
}

static void print_states(struct cli_reassign *run, const struct cli_plan *plan,
                         const struct klamm_topics *topics)
{
    struct buf *out = &run->terminal->out;
    bool is_json = run->options.is_json;
    buf_put_str(out, is_json ? "{\"partitions\":[" : "Status of partition reassignment:\n");
    bool is_first = true;
    for (int32_t i = 0; i < plan->count; i++) {
        if (plan->entries[i].is_repeated) {
            continue;
        }
        if (is_json) {
            buf_put_str(out, is_first ? "" : ",");
            print_state_json(run, &plan->entries[i], topics);
        } else {
            print_state(run, &plan->entries[i], topics);
        }
        is_first = false;
    }
    if (is_json) {
        buf_putf(out, "],\"reassignments_running\":%" PRId32 "}\n", run->running->count);
    } else {
        buf_put_str(out, "\n"); /* where Kafka's tool tells about directory moves */
    }
}

/* The file against the cluster: warnings only, for what --verify and --cancel do not depend on. */
static bool warns_only(struct cli_reassign *run, struct cli_plan *plan, struct cli_faults *faults,
                       const struct klamm_topics *topics)
{
    struct cli_plan_rules rules = cli_reassign_rules(&run->options);
    struct cli_plan_view view = {
        .cluster = run->cluster, .topics = topics, .running = run->running};
    cli_plan_check(plan, &rules, &view, faults);
    return !cli_reassign_refuses(run, run->options.reassignment_file, faults);
}

/* A watch takes its time: what was learnt before it is old. */
static int watch_first(struct cli_reassign *run, const struct cli_plan *plan)
{
    struct klamm_error err = {0};
    struct klamm_client *client = run->session->client;
    int exit_code = cli_watch_plan(run, plan);
    if (exit_code != CLI_EXIT_OK) {
        return exit_code;
    }
    klamm_reassignments_free(run->running);
    klamm_cluster_free(run->cluster);
    run->running = NULL;
    run->cluster = NULL;
    if (klamm_describe_cluster(client, &run->cluster, &err) != 0 ||
        klamm_list_reassignments(client, NULL, &run->running, &err) != 0) {
        return cli_reassign_error(run, &err);
    }
    return CLI_EXIT_OK;
}

int cli_reassign_verify(struct cli_reassign *run, struct cli_plan *plan, struct cli_faults *faults)
{
    struct klamm_error err = {0};
    struct klamm_topics *topics = NULL;
    int exit_code = CLI_EXIT_OK;
    if (run->options.watches && faults->error_count == 0) {
        exit_code = watch_first(run, plan);
    }
    if (exit_code != CLI_EXIT_OK) {
        return exit_code;
    }
    if (cli_reassign_describe(run, plan, &topics, &err) != 0) {
        return cli_reassign_error(run, &err);
    }
    if (!warns_only(run, plan, faults, topics)) {
        exit_code = CLI_EXIT_FAILED;
    } else {
        print_states(run, plan, topics);
        if (run->running->count == 0) {
            exit_code = cli_reassign_clear_throttles(run, plan, topics);
        }
    }
    klamm_topics_free(topics);
    return exit_code;
}

/* ---- cancel ---- */

struct cancel_counts {
    int32_t cancelled;
    int32_t idle;
    int32_t unknown;
    int32_t failed;
};

/* The moving partitions of the plan; counts the others. */
static int32_t choose_targets(const struct cli_reassign *run, const struct cli_plan *plan,
                              const struct klamm_topics *topics, struct klamm_target *targets,
                              struct cancel_counts *counts)
{
    int32_t count = 0;
    for (int32_t i = 0; i < plan->count; i++) {
        const struct cli_plan_entry *entry = &plan->entries[i];
        if (entry->is_repeated) {
            continue;
        }
        if (cli_moves_find(run->running, entry->topic, entry->partition) != NULL) {
            targets[count++] = (struct klamm_target){
                .topic = entry->topic, .partition = entry->partition, .is_cancel = true};
        } else if (cli_topics_find_partition(topics, entry->topic, entry->partition) == NULL) {
            counts->unknown++;
        } else {
            counts->idle++;
        }
    }
    return count;
}

static void print_cancelled(struct cli_reassign *run, const struct klamm_partition_results *results,
                            struct cancel_counts *counts)
{
    struct cli_assignment *done = xalloc((size_t)MAX(results->count, 1) * sizeof *done);
    struct buf failures;
    buf_init(&failures);
    for (int32_t i = 0; i < results->count; i++) {
        const struct klamm_partition_result *result = &results->list[i];
        if (result->code == 0) {
            done[counts->cancelled++] =
                (struct cli_assignment){result->topic, result->partition, no_ids};
        } else if (result->code == CODE_NO_REASSIGNMENT) {
            counts->idle++; /* it ended between the question and the cancel */
        } else {
            counts->failed++;
            buf_putf(&failures, "%s-%" PRId32 ": %s\n", result->topic, result->partition,
                     result->message);
        }
    }
    struct buf *out = &run->terminal->out;
    if (counts->failed > 0) {
        buf_putf(out, "Error cancelling partition reassignment%s for:\n",
                 counts->failed == 1 ? "" : "s");
        buf_put_slice(out, buf_slice(&failures));
    } else if (counts->cancelled > 0) {
        buf_putf(out, "Successfully cancelled partition reassignment%s for: ",
                 counts->cancelled == 1 ? "" : "s");
        cli_reassign_put_names(out, done, counts->cancelled);
        buf_put_str(out, "\n");
    } else {
        buf_put_str(out, "None of the specified partition reassignments are active.\n");
    }
    buf_deinit(&failures);
    free(done);
}

static void print_cancel_json(struct cli_reassign *run,
                              const struct klamm_partition_results *results,
                              struct cancel_counts *counts)
{
    struct buf *out = &run->terminal->out;
    buf_put_str(out, "{\"results\":[");
    for (int32_t i = 0; i < results->count; i++) {
        const struct klamm_partition_result *result = &results->list[i];
        bool is_idle = result->code == CODE_NO_REASSIGNMENT;
        counts->cancelled += result->code == 0;
        counts->idle += is_idle;
        counts->failed += result->code != 0 && !is_idle;
        buf_putf(out, "%s{\"topic\":", i == 0 ? "" : ",");
        cli_text_put_json(out, result->topic);
        buf_putf(out, ",\"partition\":%" PRId32 ",\"code\":%d,\"message\":", result->partition,
                 result->code);
        cli_text_put_json(out, result->message);
        buf_put_str(out, "}");
    }
    buf_putf(out,
             "],\"cancelled\":%" PRId32 ",\"not_moving\":%" PRId32 ",\"unknown\":%" PRId32 "}\n",
             counts->cancelled, counts->idle, counts->unknown);
}

static int cancel_moves(struct cli_reassign *run, const struct cli_plan *plan,
                        const struct klamm_topics *topics)
{
    struct klamm_error err = {0};
    struct cancel_counts counts = {0};
    struct klamm_target *targets = xalloc((size_t)MAX(plan->count, 1) * sizeof *targets);
    struct klamm_partition_results empty = {.count = 0};
    struct klamm_partition_results *results = NULL;
    struct klamm_alter alter = {.targets = targets,
                                .target_count = choose_targets(run, plan, topics, targets, &counts),
                                .forces_cancel = run->options.forces_cancel};
    int code = 0;
    if (alter.target_count > 0) {
        code = klamm_alter_reassignments(run->session->client, &alter, &results, &err);
    }
    int exit_code = CLI_EXIT_OK;
    if (code != 0) {
        exit_code = cli_reassign_error(run, &err);
    } else if (run->options.is_json) {
        print_cancel_json(run, results == NULL ? &empty : results, &counts);
    } else {
        print_cancelled(run, results == NULL ? &empty : results, &counts);
    }
    if (code == 0 && (counts.idle > 0 || counts.unknown > 0)) {
        buf_putf(&run->terminal->err,
                 "%" PRId32 " cancelled, %" PRId32 " %s not moving, %" PRId32 " unknown\n",
                 counts.cancelled, counts.idle, counts.idle == 1 ? "was" : "were", counts.unknown);
    }
    if (code == 0 && counts.failed == 0 && !run->options.is_json) {
        /* Kafka's tool ends its list of directory moves without a line end. */
        buf_put_str(&run->terminal->out, "None of the specified partition moves are active.");
    }
    klamm_partition_results_free(results);
    free(targets);
    return counts.failed > 0 ? CLI_EXIT_FAILED : exit_code;
}

int cli_reassign_cancel(struct cli_reassign *run, struct cli_plan *plan, struct cli_faults *faults)
{
    struct klamm_error err = {0};
    struct klamm_topics *topics = NULL;
    if (cli_reassign_describe(run, plan, &topics, &err) != 0) {
        return cli_reassign_error(run, &err);
    }
    int exit_code =
        warns_only(run, plan, faults, topics) ? cancel_moves(run, plan, topics) : CLI_EXIT_FAILED;
    if (exit_code == CLI_EXIT_OK) {
        exit_code = cli_reassign_clear_throttles(run, plan, topics);
    }
    klamm_topics_free(topics);
    return exit_code;
}

/* ---- list ---- */

static void print_move(struct buf *out, const struct klamm_reassignment *move)
{
    buf_putf(out, "%s-%" PRId32 ": replicas: ", move->topic, move->partition);
    cli_text_put_ids(out, move->replicas);
    buf_put_str(out, ".");
    if (move->adding.count > 0) {
        buf_put_str(out, " adding: ");
        cli_text_put_ids(out, move->adding);
        buf_put_str(out, ".");
    }
    if (move->removing.count > 0) {
        buf_put_str(out, " removing: ");
        cli_text_put_ids(out, move->removing);
        buf_put_str(out, ".");
    }
    buf_put_str(out, "\n");
}

static void print_move_json(struct buf *out, const struct klamm_reassignment *move)
{
    buf_put_str(out, "{\"topic\":");
    cli_text_put_json(out, move->topic);
    buf_putf(out, ",\"partition\":%" PRId32 ",\"replicas\":", move->partition);
    cli_text_put_json_ids(out, move->replicas);
    buf_put_str(out, ",\"adding\":");
    cli_text_put_json_ids(out, move->adding);
    buf_put_str(out, ",\"removing\":");
    cli_text_put_json_ids(out, move->removing);
    buf_put_str(out, "}");
}

int cli_reassign_list(struct cli_reassign *run)
{
    struct buf *out = &run->terminal->out;
    const struct klamm_reassignments *running = run->running;
    if (run->options.is_json) {
        buf_put_str(out, "{\"reassignments\":[");
        for (int32_t i = 0; i < running->count; i++) {
            buf_put_str(out, i == 0 ? "" : ",");
            print_move_json(out, &running->list[i]);
        }
        buf_put_str(out, "]}\n");
    } else if (running->count == 0) {
        buf_put_str(out, "No partition reassignments found.\n");
    } else {
        buf_put_str(out, "Current partition reassignments:\n");
        for (int32_t i = 0; i < running->count; i++) {
            print_move(out, &running->list[i]);
        }
    }
    if (run->options.watches && running->count > 0) {
        cli_terminal_flush(run->terminal);
        return cli_watch_running(run);
    }
    return CLI_EXIT_OK;
}
