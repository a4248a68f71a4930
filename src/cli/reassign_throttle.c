/*
 * The throttles of klamm reassign: set before the moves start, cleared by --verify and --cancel
 * (docs/spec/reassignment.md 14.5, 14.6, 14.8). Brokers that are not up are passed over with a note:
 * they neither send nor receive, and must not keep the others from their work.
 */
#include "cli/reassign.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"
#include "cli/throttle.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define CODE_UNKNOWN_TOPIC 3

#define RATE_LEADER   "leader.replication.throttled.rate"
#define RATE_FOLLOWER "follower.replication.throttled.rate"
#define RATE_LOG_DIRS "replica.alter.log.dirs.io.max.bytes.per.second"
#define LIST_LEADER   "leader.replication.throttled.replicas"
#define LIST_FOLLOWER "follower.replication.throttled.replicas"

/* Where Kafka's texts go: standard output, unless it holds JSON. */
static struct buf *text_of(const struct cli_reassign *run)
{
    return run->options.is_json ? &run->terminal->err : &run->terminal->out;
}

static bool is_live(const struct klamm_cluster *cluster, int32_t broker_id)
{
    int32_t low = 0;
    int32_t high = cluster->broker_count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (cluster->brokers[middle].id < broker_id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < cluster->broker_count && cluster->brokers[low].id == broker_id;
}

/* ---- sending ---- */

/* One alteration did not happen: a note where the rest can go on, else the error of the run. */
static int judge(struct cli_reassign *run, const struct klamm_alteration *alteration,
                 const struct klamm_alter_result *result)
{
    struct buf *err = &run->terminal->err;
    if (alteration->topic == NULL && result->code == KLAMM_ERR_CONNECT) {
        buf_putf(err, "Broker %" PRId32 " cannot be reached, its throttle stays as it is: %s\n",
                 alteration->broker_id, result->message);
        return CLI_EXIT_OK;
    }
    if (alteration->topic != NULL && result->code == CODE_UNKNOWN_TOPIC) {
        buf_putf(err, "Topic %s is gone.\n", alteration->topic);
        return CLI_EXIT_OK;
    }
    if (alteration->topic != NULL) {
        buf_putf(&run->terminal->out, "Error: topic %s: %s\n", alteration->topic, result->message);
    } else {
        buf_putf(&run->terminal->out, "Error: broker %" PRId32 ": %s\n", alteration->broker_id,
                 result->message);
    }
    return CLI_EXIT_FAILED;
}

static int alter(struct cli_reassign *run, const struct klamm_alteration *alterations,
                 int32_t count)
{
    struct klamm_error err = {0};
    struct klamm_alter_results *results = NULL;
    if (klamm_alter_settings(run->session->client, alterations, count, &results, &err) != 0) {
        return cli_reassign_error(run, &err);
    }
    int exit_code = CLI_EXIT_OK;
    for (int32_t i = 0; i < count && exit_code == CLI_EXIT_OK; i++) {
        if (results->list[i].code != 0) {
            exit_code = judge(run, &alterations[i], &results->list[i]);
        }
    }
    klamm_alter_results_free(results);
    return exit_code;
}

/* ---- setting ---- */

static int set_lists(struct cli_reassign *run, const struct cli_throttle *throttle)
{
    size_t count = (size_t)throttle->topic_count;
    struct klamm_alteration *alterations = xalloc(count * sizeof *alterations);
    struct klamm_setting_change(*changes)[2] = xalloc(count * sizeof *changes);
    for (size_t i = 0; i < count; i++) {
        changes[i][0] = (struct klamm_setting_change){LIST_LEADER, throttle->topics[i].leaders};
        changes[i][1] = (struct klamm_setting_change){LIST_FOLLOWER, throttle->topics[i].followers};
        alterations[i] = (struct klamm_alteration){
            .topic = throttle->topics[i].name, .changes = changes[i], .change_count = 2};
    }
    int exit_code = alter(run, alterations, throttle->topic_count);
    free(changes);
    free(alterations);
    return exit_code;
}

static int set_rates(struct cli_reassign *run, const struct cli_throttle *throttle)
{
    char rate[24];
    snprintf(rate, sizeof rate, "%" PRId64, run->options.throttle);
    struct klamm_setting_change changes[] = {{RATE_LEADER, rate}, {RATE_FOLLOWER, rate}};
    struct klamm_alteration *alterations =
        xalloc((size_t)throttle->broker_count * sizeof *alterations);
    int32_t count = 0;
    for (int32_t i = 0; i < throttle->broker_count; i++) {
        if (is_live(run->cluster, throttle->brokers[i])) {
            alterations[count++] = (struct klamm_alteration){
                .broker_id = throttle->brokers[i], .changes = changes, .change_count = 2};
        } else {
            buf_putf(&run->terminal->err,
                     "Broker %" PRId32 " is not up: no throttle is set there.\n",
                     throttle->brokers[i]);
        }
    }
    int exit_code = alter(run, alterations, count);
    free(alterations);
    return exit_code;
}

static int set_all(struct cli_reassign *run, const struct cli_throttle *throttle)
{
    buf_put_str(text_of(run), "Warning: You must run --verify periodically, until the "
                              "reassignment completes, to ensure the throttle is removed.\n");
    if (run->options.throttle == 0) {
        buf_put_str(&run->terminal->err,
                    "A throttle of 0 lets nothing pass: the moves wait until it is raised.\n");
    }
    int exit_code = set_lists(run, throttle);
    if (exit_code == CLI_EXIT_OK) {
        exit_code = set_rates(run, throttle);
    }
    if (exit_code == CLI_EXIT_OK) {
        buf_putf(text_of(run), "The inter-broker throttle limit was set to %" PRId64 " B/s\n",
                 run->options.throttle);
    }
    return exit_code;
}

int cli_reassign_set_throttle(struct cli_reassign *run, const struct cli_plan *plan,
                              const struct klamm_topics *topics)
{
    struct cli_throttle *throttle = cli_throttle_new(plan, topics, run->running);
    const struct cli_throttle_topic *too_long = cli_throttle_too_long(throttle);
    int exit_code = CLI_EXIT_OK;
    if (!throttle->copies) {
        buf_put_str(&run->terminal->err, "Nothing is copied: no throttle is set.\n");
    } else if (too_long != NULL) {
        buf_putf(&run->terminal->out,
                 "Error: topic %s: its list of throttled replicas is longer than the %d bytes that "
                 "a setting can have; move fewer of its partitions at a time\n",
                 too_long->name, CLI_THROTTLE_LIST_MAX);
        exit_code = CLI_EXIT_FAILED;
    } else {
        exit_code = set_all(run, throttle);
    }
    cli_throttle_free(throttle);
    return exit_code;
}

/* ---- clearing ---- */

/* The targets of the file where nothing can be cleared now. */
static void note_dead_targets(struct cli_reassign *run, const struct cli_plan *plan)
{
    size_t cap = 1;
    for (int32_t i = 0; i < plan->count; i++) {
        cap += (size_t)plan->entries[i].replicas.count;
    }
    int32_t *dead = xalloc(cap * sizeof *dead);
    int32_t count = 0;
    for (int32_t i = 0; i < plan->count; i++) {
        const struct cli_plan_entry *entry = &plan->entries[i];
        for (int32_t k = 0; entry->has_valid_replicas && k < entry->replicas.count; k++) {
            if (!is_live(run->cluster, entry->replicas.list[k])) {
                dead[count++] = entry->replicas.list[k];
            }
        }
    }
    count = cli_throttle_sort_ids(dead, count);
    for (int32_t i = 0; i < count; i++) {
        buf_putf(&run->terminal->err, "Broker %" PRId32 " is not up: a throttle there stays.\n",
                 dead[i]);
    }
    free(dead);
}

static int clear_rates(struct cli_reassign *run)
{
    static const struct klamm_setting_change changes[] = {
        {RATE_LEADER, NULL}, {RATE_FOLLOWER, NULL}, {RATE_LOG_DIRS, NULL}};
    int32_t count = run->cluster->broker_count;
    struct klamm_alteration *alterations = xalloc((size_t)MAX(count, 1) * sizeof *alterations);
    struct buf *out = text_of(run);
    buf_putf(out, "Clearing broker-level throttles on broker%s ", count == 1 ? "" : "s");
    for (int32_t i = 0; i < count; i++) {
        int32_t id = run->cluster->brokers[i].id;
        alterations[i] = (struct klamm_alteration){
            .broker_id = id, .changes = changes, .change_count = ARRAY_LEN(changes)};
        buf_putf(out, "%s%" PRId32, i == 0 ? "" : ",", id);
    }
    buf_put_str(out, "\n");
    int exit_code = alter(run, alterations, count);
    free(alterations);
    return exit_code;
}

static int clear_lists(struct cli_reassign *run, struct cli_plan *plan,
                       const struct klamm_topics *topics)
{
    static const struct klamm_setting_change changes[] = {{LIST_LEADER, NULL},
                                                          {LIST_FOLLOWER, NULL}};
    int32_t name_count = 0;
    const char *const *names = cli_plan_topics(plan, &name_count);
    struct klamm_alteration *alterations = xalloc((size_t)MAX(name_count, 1) * sizeof *alterations);
    int32_t count = 0;
    for (int32_t i = 0; i < name_count; i++) {
        const struct klamm_topic *topic = cli_topics_find(topics, names[i]);
        if (topic != NULL && topic->code == 0) {
            alterations[count++] = (struct klamm_alteration){
                .topic = names[i], .changes = changes, .change_count = ARRAY_LEN(changes)};
        }
    }
    struct buf *out = text_of(run);
    for (int32_t i = 0; i < count; i++) {
        buf_putf(out, "%s%s",
                 i > 0        ? ","
                 : count == 1 ? "Clearing topic-level throttles on topic "
                              : "Clearing topic-level throttles on topics ",
                 alterations[i].topic);
    }
    buf_put_str(out, count > 0 ? "\n" : "");
    int exit_code = alter(run, alterations, count);
    free(alterations);
    return exit_code;
}

int cli_reassign_clear_throttles(struct cli_reassign *run, struct cli_plan *plan,
                                 const struct klamm_topics *topics)
{
    if (run->options.preserves_throttles) {
        return CLI_EXIT_OK;
    }
    note_dead_targets(run, plan);
    int exit_code = clear_rates(run);
    return exit_code == CLI_EXIT_OK ? clear_lists(run, plan, topics) : exit_code;
}
