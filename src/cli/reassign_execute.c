/*
 * klamm reassign --execute. Order (docs/spec/reassignment.md 14.5): everything is checked before
 * anything is changed; throttles are set before the moves start.
 */
#include "cli/reassign.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"
#include "cli/text.h"
#include "cli/watch.h"

#include <inttypes.h>
#include <stdlib.h>

static bool asks_log_dirs(const struct cli_plan *plan)
{
    for (int32_t i = 0; i < plan->count; i++) {
        if (plan->entries[i].asks_log_dirs) {
            return true;
        }
    }
    return false;
}

/* What Kafka's tool would not mention, though it decides what the operator sees next. */
static void note_changes(struct cli_reassign *run, const struct cli_plan *plan)
{
    struct buf *err = &run->terminal->err;
    if (plan->unchanged_count == plan->count) {
        buf_put_str(err, "Nothing to do: the plan equals the present assignment.\n");
    } else if (plan->unchanged_count > 0) {
        buf_putf(err, "%" PRId32 " of %" PRId32 " partitions have their assignment already.\n",
                 plan->unchanged_count, plan->count);
    }
    if (plan->reordered_count > 0) {
        buf_putf(err,
                 "%" PRId32 " of %" PRId32 " partitions only change the order of their replicas: "
                 "nothing is copied, and leaders stay until an election (klamm leader-election).\n",
                 plan->reordered_count, plan->count);
    }
}

static struct cli_assignment *current_assignments(const struct cli_plan *plan,
                                                  const struct klamm_topics *topics)
{
    struct cli_assignment *list = xalloc((size_t)MAX(plan->count, 1) * sizeof *list);
    for (int32_t i = 0; i < plan->count; i++) {
        const struct cli_plan_entry *entry = &plan->entries[i];
        const struct klamm_partition *partition =
            cli_topics_find_partition(topics, entry->topic, entry->partition);
        CHECK(partition != NULL); /* the plan was checked against these topics */
        list[i] = (struct cli_assignment){entry->topic, entry->partition, partition->replicas};
    }
    return list;
}

static void print_rollback(struct cli_reassign *run, const struct cli_assignment *current,
                           int32_t count)
{
    struct buf *out = &run->terminal->out;
    buf_put_str(out, "Current partition replica assignment\n\n");
    cli_reassign_put_json(out, current, count);
    buf_put_str(out,
                "\n\nSave this to use as the --reassignment-json-file option during rollback\n");
    cli_terminal_flush(run->terminal); /* before the change, or an interruption would lose it */
}

static int print_started(struct cli_reassign *run, const struct cli_assignment *plan,
                         const struct klamm_partition_results *results)
{
    struct buf *out = &run->terminal->out;
    int32_t failed = 0;
    for (int32_t i = 0; i < results->count; i++) {
        const struct klamm_partition_result *result = &results->list[i];
        if (result->code != 0) {
            buf_putf(out, "%s%s-%" PRId32 ": %s\n",
                     failed++ == 0 ? "Error reassigning partition(s):\n" : "", result->topic,
                     result->partition, result->message);
        }
    }
    if (failed > 0) {
        return CLI_EXIT_FAILED;
    }
    buf_putf(out, "Successfully started partition reassignment%s for ",
             results->count == 1 ? "" : "s");
    cli_reassign_put_names(out, plan, results->count);
    buf_put_str(out, "\n");
    return CLI_EXIT_OK;
}

static int print_started_json(struct cli_reassign *run, const struct cli_assignment *current,
                              const struct klamm_partition_results *results)
{
    struct buf *out = &run->terminal->out;
    int32_t failed = 0;
    buf_put_str(out, "{\"current\":");
    cli_reassign_put_json(out, current, results->count);
    buf_put_str(out, ",\"results\":[");
    for (int32_t i = 0; i < results->count; i++) {
        const struct klamm_partition_result *result = &results->list[i];
        failed += result->code != 0;
        buf_putf(out, "%s{\"topic\":", i == 0 ? "" : ",");
        cli_text_put_json(out, result->topic);
        buf_putf(out, ",\"partition\":%" PRId32 ",\"code\":%d,\"message\":", result->partition,
                 result->code);
        cli_text_put_json(out, result->message);
        buf_put_str(out, "}");
    }
    buf_put_str(out, "]}\n");
    return failed > 0 ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

static int send_targets(struct cli_reassign *run, const struct cli_plan *plan,
                        struct klamm_partition_results **ret_results, struct klamm_error *err)
{
    struct klamm_target *targets = xalloc((size_t)plan->count * sizeof *targets);
    for (int32_t i = 0; i < plan->count; i++) {
        targets[i] = (struct klamm_target){.topic = plan->entries[i].topic,
                                           .partition = plan->entries[i].partition,
                                           .replicas = plan->entries[i].replicas};
    }
    struct klamm_alter alter = {.targets = targets,
                                .target_count = plan->count,
                                .keeps_replication_factor = run->options.refuses_factor_change};
    int code = klamm_alter_reassignments(run->session->client, &alter, ret_results, err);
    if (code == KLAMM_ERR_TIMEOUT || code == KLAMM_ERR_CONNECT || code == KLAMM_ERR_INTERRUPTED) {
        buf_put_str(&run->terminal->err,
                    "The moves may have been accepted all the same: see --list.\n");
    }
    free(targets);
    return code;
}

static int start_moves(struct cli_reassign *run, const struct cli_plan *plan,
                       const struct klamm_topics *topics)
{
    struct klamm_error err = {0};
    struct klamm_partition_results *results = NULL;
    struct cli_assignment *current = current_assignments(plan, topics);
    if (!run->options.is_json) {
        print_rollback(run, current, plan->count);
    }
    int exit_code = CLI_EXIT_OK;
    if (run->options.throttle >= 0) {
        exit_code = cli_reassign_set_throttle(run, plan, topics);
    }
    if (exit_code != CLI_EXIT_OK) {
        buf_put_str(&run->terminal->err, "Nothing was started.\n");
    } else if (send_targets(run, plan, &results, &err) != 0) {
        exit_code = cli_reassign_error(run, &err);
    } else if (run->options.is_json) {
        exit_code = print_started_json(run, current, results);
    } else {
        exit_code = print_started(run, current, results);
    }
    if (exit_code == CLI_EXIT_OK && run->options.watches) {
        cli_terminal_flush(run->terminal);
        exit_code = cli_watch_plan(run, plan);
    }
    klamm_partition_results_free(results);
    free(current);
    return exit_code;
}

static int check_and_start(struct cli_reassign *run, struct cli_plan *plan,
                           struct cli_faults *faults, const struct klamm_topics *topics)
{
    struct cli_plan_rules rules = cli_reassign_rules(&run->options);
    struct cli_plan_view view = {
        .cluster = run->cluster, .topics = topics, .running = run->running};
    cli_plan_check(plan, &rules, &view, faults);
    if (cli_reassign_refuses(run, run->options.reassignment_file, faults)) {
        return CLI_EXIT_FAILED;
    }
    if (asks_log_dirs(plan)) {
        buf_put_str(&run->terminal->out, "Error: moves between log directories are not available "
                                         "yet; nothing was started.\n");
        return CLI_EXIT_FAILED;
    }
    note_changes(run, plan);
    return start_moves(run, plan, topics);
}

int cli_reassign_execute(struct cli_reassign *run, struct cli_plan *plan, struct cli_faults *faults)
{
    if (faults->error_count == 0 && run->running->count > 0 && !run->options.is_additional) {
        buf_put_str(
            &run->terminal->out,
            "Cannot execute because there is an existing partition assignment.  Use --additional "
            "to override this and create a new partition assignment in addition to the existing "
            "one. The --additional option can also be used to change the throttle by resubmitting "
            "the current reassignment.\n");
        return CLI_EXIT_FAILED;
    }
    struct klamm_error err = {0};
    struct klamm_topics *topics = NULL;
    if (cli_reassign_describe(run, plan, &topics, &err) != 0) {
        return cli_reassign_error(run, &err);
    }
    int exit_code = check_and_start(run, plan, faults, topics);
    klamm_topics_free(topics);
    return exit_code;
}
