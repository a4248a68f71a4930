/*
 * Partitions and topics are looked up in what moves and waits, and sent by name, so that each gets its
 * answer; jobs, brokers and "all" are selected by the controller. Whatever was asked for and is neither
 * moving nor waiting is told apart: it exists, or it does not (S04).
 */
#include "cli/moves_change.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/disks.h"
#include "cli/estimate.h"
#include "cli/moves.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>

#define CODE_UNKNOWN         3
#define CODE_NO_REASSIGNMENT 85
#define FAILURES_MAX         100 /* told one by one */
#define BROKERS_MAX          1000

/* What the options ask for. */
struct selection {
    struct cli_moves_asked asked;
    struct klamm_target *targets;
    int32_t target_count;
    int32_t *brokers;
    int32_t broker_count;
};

static void selection_deinit(struct selection *s)
{
    cli_moves_asked_deinit(&s->asked);
    free(s->targets);
    free(s->brokers);
}

void cli_moves_asked_deinit(struct cli_moves_asked *asked)
{
    for (int32_t i = 0; i < asked->count; i++) {
        free((void *)(uintptr_t)asked->list[i].topic);
    }
    free(asked->list);
    *asked = (struct cli_moves_asked){NULL, 0};
}

/* ---- reading the options ---- */

/* "foo-0": the number is behind the last dash, since names may have dashes. */
static int parse_partition(const char *text, struct klamm_partition_ref *ret, struct errmsg *em)
{
    const char *dash = strrchr(text, '-');
    const char *reason = "";
    int64_t number = 0;
    if (dash == NULL || !cli_text_parse_int(dash + 1, 0, INT32_MAX, &number)) {
        return errmsg_set(em, E_INVALID,
                          "\"%.100s\" is no partition: NAME-N is expected, as in orders-0", text);
    }
    struct slice name = slice_of(text, (size_t)(dash - text));
    if (!cli_text_is_topic_name(name, &reason)) {
        return errmsg_set(em, E_INVALID, "\"%.100s\": the topic name %s", text, reason);
    }
    *ret = (struct klamm_partition_ref){slice_dup(name), (int32_t)number};
    return 0;
}

int cli_moves_asked_parse(const struct cli_moves_options *options, struct cli_moves_asked *asked,
                          struct errmsg *em)
{
    int32_t cap = options->partitions.count + options->topics.count;
    *asked = (struct cli_moves_asked){.list = xalloc((size_t)MAX(cap, 1) * sizeof *asked->list)};
    for (int32_t i = 0; i < options->partitions.count; i++) {
        int err = parse_partition(options->partitions.list[i], &asked->list[asked->count], em);
        if (err < 0) {
            return err;
        }
        asked->count++;
    }
    for (int32_t i = 0; i < options->topics.count; i++) {
        const char *reason = "";
        const char *name = options->topics.list[i];
        if (!cli_text_is_topic_name(slice_str(name), &reason)) {
            return errmsg_set(em, E_INVALID, "\"%.100s\": the topic name %s", name, reason);
        }
        asked->list[asked->count++] = (struct klamm_partition_ref){xstrdup(name), -1};
    }
    return 0;
}

static int add_broker(struct selection *s, const char *word, struct errmsg *em)
{
    int64_t id = 0;
    if (!cli_text_parse_int(word, 0, INT32_MAX, &id)) {
        return errmsg_set(em, E_INVALID, "--broker: \"%.50s\" is no broker id", word);
    }
    struct klamm_ids have = {s->brokers, s->broker_count};
    if (cli_text_ids_has(have, (int32_t)id)) {
        return errmsg_set(em, E_INVALID, "--broker: %" PRId64 " is given twice", id);
    }
    if (s->broker_count == BROKERS_MAX) {
        return errmsg_set(em, E_TOO_LARGE, "--broker: more than %d ids", BROKERS_MAX);
    }
    s->brokers[s->broker_count++] = (int32_t)id;
    return 0;
}

/* "1, 2,3": blanks around numbers are fine, anything else is named (S38). */
static int parse_brokers(struct selection *s, const char *text, struct errmsg *em)
{
    char *copy = xstrdup(text);
    char *rest = copy;
    int err = 0;
    s->brokers = xalloc(BROKERS_MAX * sizeof *s->brokers);
    while (err == 0 && rest != NULL) {
        char *word = strsep(&rest, ",");
        word += strspn(word, " ");
        size_t len = strlen(word);
        while (len > 0 && word[len - 1] == ' ') {
            word[--len] = '\0';
        }
        err = add_broker(s, word, em);
    }
    free(copy);
    return err;
}

static int parse_selection(struct selection *s, const struct cli_moves_options *options,
                           struct errmsg *em)
{
    bool has_names = options->partitions.count + options->topics.count > 0;
    bool has_others = options->job != NULL || options->brokers != NULL;
    if (has_names + has_others + options->is_all != 1) {
        return errmsg_set(
            em, E_INVALID,
            "say whom it concerns: --partition and --topic, or --job and --broker, or "
            "--all");
    }
    if (options->brokers != NULL) {
        return parse_brokers(s, options->brokers, em);
    }
    return cli_moves_asked_parse(options, &s->asked, em);
}

/* ---- against the cluster ---- */

/* Whether it holds a replica, as one does that is down and shall be left: a queued move tells only where
 * it leads to. Asks for all topics. */
static bool holds_replica(struct cli_moves *run, int32_t id)
{
    struct klamm_error err = {0};
    struct klamm_topics *all = NULL;
    bool is_found = false;
    if (klamm_describe_topics(run->session->client, NULL, -1, &all, &err) != 0) {
        return true; /* the controller will say what it thinks of it */
    }
    for (int32_t t = 0; !is_found && t < all->count; t++) {
        for (int32_t p = 0; !is_found && p < all->list[t].partition_count; p++) {
            is_found = cli_text_ids_has(all->list[t].partitions[p].replicas, id);
        }
    }
    klamm_topics_free(all);
    return is_found;
}

/* A broker may be down; then it shows in what goes to it or from it. */
static bool is_known_broker(struct cli_moves *run, int32_t id)
{
    bool is_known = false;
    for (int32_t i = 0; i < run->cluster->broker_count; i++) {
        is_known = is_known || run->cluster->brokers[i].id == id;
    }
    for (int32_t i = 0; !is_known && i < run->moves->count; i++) {
        is_known = cli_text_ids_has(run->moves->list[i].replicas, id);
    }
    for (int32_t i = 0; !is_known && i < run->moves->queued_count; i++) {
        is_known = cli_text_ids_has(run->moves->queued[i].target, id);
    }
    return is_known || (run->moves->queued_count > 0 && holds_replica(run, id));
}

static bool is_open(const struct klamm_job *job)
{
    return job->state != KLAMM_JOB_DONE && job->state != KLAMM_JOB_CANCELLED;
}

static int check_known(struct cli_moves *run, const struct selection *s)
{
    for (int32_t i = 0; i < s->broker_count; i++) {
        if (!is_known_broker(run, s->brokers[i])) {
            return cli_moves_fail(run, "broker %" PRId32 " is unknown; nothing was changed",
                                  s->brokers[i]);
        }
    }
    const struct klamm_job *job =
        run->options.job == NULL ? NULL : cli_moves_job(run, run->options.job);
    if (run->options.job != NULL && job == NULL) {
        return cli_moves_fail(run, "there is no job \"%.100s\"", run->options.job);
    }
    if (job != NULL && !is_open(job)) {
        return cli_moves_fail(run, "job %s has ended", job->id);
    }
    return CLI_EXIT_OK;
}

static bool is_asked(const struct klamm_partition_ref *asked, const char *topic, int32_t partition)
{
    return (asked->partition < 0 || asked->partition == partition) &&
           strcmp(asked->topic, topic) == 0;
}

/* Adds the move when an option asks for it; marks those options in found. */
static void add_target(struct selection *s, const char *topic, int32_t partition, bool *found)
{
    bool is_wanted = false;
    for (int32_t i = 0; i < s->asked.count; i++) {
        if (is_asked(&s->asked.list[i], topic, partition)) {
            found[i] = true;
            is_wanted = true;
        }
    }
    if (is_wanted) {
        s->targets[s->target_count++] =
            (struct klamm_target){.topic = topic, .partition = partition};
    }
}

/* What was asked for and neither moves nor waits. */
static int count_others(struct cli_moves *run, const struct selection *s, const bool *found,
                        struct cli_moves_counts *counts, struct klamm_error *err)
{
    const char **names = xalloc((size_t)MAX(s->asked.count, 1) * sizeof *names);
    int32_t count = 0;
    for (int32_t i = 0; i < s->asked.count; i++) {
        bool is_known = false;
        for (int32_t k = 0; k < count; k++) {
            is_known = is_known || strcmp(names[k], s->asked.list[i].topic) == 0;
        }
        if (!found[i] && !is_known) {
            names[count++] = s->asked.list[i].topic;
        }
    }
    struct klamm_topics *topics = NULL;
    int code =
        count == 0 ? 0 : klamm_describe_topics(run->session->client, names, count, &topics, err);
    for (int32_t i = 0; code == 0 && i < s->asked.count; i++) {
        const struct klamm_topic *topic = cli_topics_find(topics, s->asked.list[i].topic);
        bool exists = topic != NULL && topic->code == 0 &&
                      s->asked.list[i].partition < topic->partition_count;
        counts->idle += !found[i] && exists;
        counts->unknown += !found[i] && !exists;
    }
    klamm_topics_free(topics);
    free(names);
    return code;
}

static int find_targets(struct cli_moves *run, struct selection *s, struct cli_moves_counts *counts,
                        struct klamm_error *err)
{
    const struct klamm_moves *moves = run->moves;
    bool *found = xalloc((size_t)MAX(s->asked.count, 1) * sizeof *found);
    int32_t cap = moves->count + moves->queued_count;
    s->targets = xalloc((size_t)MAX(cap, 1) * sizeof *s->targets);
    for (int32_t i = 0; i < moves->count; i++) {
        add_target(s, moves->list[i].topic, moves->list[i].partition, found);
    }
    for (int32_t i = 0; i < moves->queued_count; i++) {
        struct klamm_partition_ref ref = {moves->queued[i].topic, moves->queued[i].partition};
        if (cli_moves_running(run, &ref) != NULL) {
            continue; /* named already: it waits behind a move that runs */
        }
        add_target(s, moves->queued[i].topic, moves->queued[i].partition, found);
    }
    int code = count_others(run, s, found, counts, err);
    free(found);
    return code;
}

/* Where the controller selects nothing itself, what runs is named to it. */
static void name_selected(const struct cli_moves *run, struct selection *s)
{
    struct klamm_ids brokers = {s->brokers, s->broker_count};
    s->targets = xalloc((size_t)MAX(run->moves->count, 1) * sizeof *s->targets);
    for (int32_t i = 0; i < run->moves->count; i++) {
        const struct klamm_move *move = &run->moves->list[i];
        bool is_selected = brokers.count == 0;
        for (int32_t k = 0; k < brokers.count; k++) {
            is_selected = is_selected || cli_text_ids_has(move->adding, brokers.list[k]) ||
                          cli_text_ids_has(move->removing, brokers.list[k]);
        }
        if (is_selected) {
            s->targets[s->target_count++] =
                (struct klamm_target){.topic = move->topic, .partition = move->partition};
        }
    }
}

/* ---- sending ---- */

static void print_result(struct cli_moves *run, const struct klamm_partition_result *result,
                         bool is_first)
{
    struct buf *out = &run->terminal->out;
    buf_putf(out, "%s{\"topic\":", is_first ? "" : ",");
    cli_text_put_json(out, result->topic);
    buf_putf(out, ",\"partition\":%" PRId32 ",\"code\":%d,\"message\":", result->partition,
             result->code);
    cli_text_put_json(out, result->message);
    buf_put_str(out, "}");
}

static void count_result(struct cli_moves *run, const struct klamm_partition_result *result,
                         struct cli_moves_counts *counts)
{
    if (result->code == CODE_NO_REASSIGNMENT) {
        counts->idle++; /* it ended between the question and the request */
        return;
    }
    if (result->code == CODE_UNKNOWN) {
        counts->unknown++;
        return;
    }
    bool is_same = result->code == 0 && result->note == KLAMM_NOTE_SAME;
    counts->same += is_same;
    counts->done += result->code == 0 && !is_same;
    counts->failed += result->code != 0;
    if (result->code != 0 && counts->failed <= FAILURES_MAX) {
        buf_putf(&run->terminal->err, "klamm: %s-%" PRId32 ": %s\n", result->topic,
                 result->partition, result->message);
    }
    if (result->note == KLAMM_NOTE_DERIVED) {
        buf_putf(&run->terminal->err,
                 "%s-%" PRId32 ": the list from before the move was not kept; its members are "
                 "restored, their order may differ.\n",
                 result->topic, result->partition);
    }
}

static void print_counts(struct cli_moves *run, const struct cli_moves_counts *counts,
                         const char *done)
{
    struct buf *out = &run->terminal->out;
    if (run->options.is_json) {
        buf_putf(out,
                 "\"done\":%" PRId32 ",\"unchanged\":%" PRId32 ",\"not_moving\":%" PRId32
                 ",\"unknown\":%" PRId32 ",\"failed\":%" PRId32 "}",
                 counts->done, counts->same, counts->idle, counts->unknown, counts->failed);
        return;
    }
    buf_putf(out, "%" PRId32 " %s", counts->done, done);
    if (counts->same > 0) {
        buf_putf(out, ", %" PRId32 " already %s so", counts->same,
                 counts->same == 1 ? "was" : "were");
    }
    if (counts->idle > 0) {
        buf_putf(out, ", %" PRId32 " %s not moving", counts->idle,
                 counts->idle == 1 ? "was" : "were");
    }
    if (counts->unknown > 0) {
        buf_putf(out, ", %" PRId32 " unknown", counts->unknown);
    }
    if (counts->failed > 0) {
        buf_putf(out, ", %" PRId32 " failed", counts->failed);
    }
    buf_put_str(out, "\n");
}

int cli_moves_change_send(struct cli_moves *run, const struct klamm_alter *alter, const char *done,
                          struct cli_moves_counts *counts)
{
    struct buf *out = &run->terminal->out;
    struct klamm_error err = {0};
    struct klamm_partition_results *results = NULL;
    if (klamm_alter_reassignments(run->session->client, alter, &results, &err) != 0) {
        buf_put_str(out, run->options.is_json ? "{}" : "");
        return cli_session_fail(run->session, &err);
    }
    buf_put_str(out, run->options.is_json ? "{\"results\":[" : "");
    for (int32_t i = 0; i < results->count; i++) {
        if (run->options.is_json) {
            print_result(run, &results->list[i], i == 0);
        }
        count_result(run, &results->list[i], counts);
    }
    buf_put_str(out, run->options.is_json ? "]," : "");
    print_counts(run, counts, done);
    klamm_partition_results_free(results);
    return counts->failed + counts->unknown > 0 ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

/* Nothing to send: what was asked for does not move. */
static int tell_idle(struct cli_moves *run, const char *done, const struct cli_moves_counts *counts)
{
    buf_put_str(&run->terminal->out, run->options.is_json ? "{\"results\":[]," : "");
    print_counts(run, counts, done);
    return counts->unknown > 0 ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

/* Fills in whom the request concerns. Returns the library's code. */
static int select_targets(struct cli_moves *run, struct selection *s, struct klamm_alter *alter,
                          struct cli_moves_counts *counts, struct klamm_error *err)
{
    int code = 0;
    if (s->asked.count > 0) {
        code = find_targets(run, s, counts, err);
    } else if (!run->moves->is_klamm) {
        name_selected(run, s);
    } else {
        alter->job = run->options.job;
        alter->brokers = (struct klamm_ids){s->brokers, s->broker_count};
    }
    alter->targets = s->targets;
    alter->target_count = s->target_count;
    return code;
}

static int change_selected(struct cli_moves *run, struct selection *s, struct klamm_alter *alter,
                           const char *done)
{
    struct klamm_error err = {0};
    struct cli_moves_counts counts = {0};
    if (cli_moves_open(run, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    bool needs_queue = alter->action != KLAMM_ACTION_CANCEL || run->options.job != NULL;
    if (needs_queue && cli_moves_lacks_queue(run, alter->action == KLAMM_ACTION_CANCEL
                                                      ? "it keeps no jobs"
                                                      : "moves cannot be paused there")) {
        return CLI_EXIT_FAILED;
    }
    int exit_code = check_known(run, s);
    if (exit_code != CLI_EXIT_OK) {
        return exit_code;
    }
    if (select_targets(run, s, alter, &counts, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    bool has_names = s->asked.count > 0 || !run->moves->is_klamm;
    exit_code = has_names && s->target_count == 0
                    ? tell_idle(run, done, &counts)
                    : cli_moves_change_send(run, alter, done, &counts);
    buf_put_str(&run->terminal->out, run->options.is_json ? "\n" : "");
    return exit_code;
}

static int change(struct cli_moves *run, enum klamm_action action, const char *done)
{
    struct selection s = {0};
    struct errmsg em = {""};
    struct klamm_alter alter = {.action = action, .forces_cancel = run->options.forces_cancel};
    int exit_code = parse_selection(&s, &run->options, &em) < 0
                        ? cli_session_usage(run->session, run->command, em.text)
                        : change_selected(run, &s, &alter, done);
    selection_deinit(&s);
    return exit_code;
}

int cli_moves_pause(struct cli_moves *run)
{
    return change(run, KLAMM_ACTION_PAUSE, "paused");
}

int cli_moves_resume(struct cli_moves *run)
{
    return change(run, KLAMM_ACTION_RESUME, "resumed");
}

int cli_moves_cancel(struct cli_moves *run)
{
    return change(run, KLAMM_ACTION_CANCEL, "cancelled");
}

/* One request a job: it says all settings of the job anew. */
static int set_job(struct cli_moves *run, struct klamm_alter *alter, const struct klamm_job *job)
{
    struct buf *out = &run->terminal->out;
    struct klamm_error err = {0};
    struct klamm_partition_results *results = NULL;
    alter->job = job->id;
    alter->is_one_at_a_time = job->is_one_at_a_time;
    int code = klamm_alter_reassignments(run->session->client, alter, &results, &err);
    if (run->options.is_json) {
        buf_put_str(out, "{\"id\":");
        cli_text_put_json(out, job->id);
        buf_putf(out, ",\"code\":%" PRId32 ",\"message\":", err.code);
        cli_text_put_json(out, code == 0 ? NULL : err.message);
        buf_put_str(out, "}");
    } else if (code == 0) {
        buf_putf(out, "Job %s is changed.\n", job->id);
    }
    klamm_partition_results_free(results);
    return code == 0 ? CLI_EXIT_OK : cli_session_fail(run->session, &err);
}

static int set_jobs(struct cli_moves *run, struct klamm_alter *alter)
{
    struct buf *out = &run->terminal->out;
    int exit_code = CLI_EXIT_OK;
    int32_t count = 0;
    buf_put_str(out, run->options.is_json ? "{\"jobs\":[" : "");
    for (int32_t i = 0; i < run->moves->job_count; i++) {
        const struct klamm_job *job = &run->moves->jobs[i];
        bool is_chosen = run->options.job == NULL || strcmp(job->id, run->options.job) == 0;
        if (is_open(job) && is_chosen) {
            buf_put_str(out, run->options.is_json && count > 0 ? "," : "");
            int sent = set_job(run, alter, job);
            exit_code = sent == CLI_EXIT_OK ? exit_code : sent;
            count++;
        }
    }
    buf_put_str(out, run->options.is_json ? "]}\n" : count == 0 ? "There is no job.\n" : "");
    return exit_code;
}

static void put_warning(struct cli_moves *run, struct buf *text)
{
    buf_putf(&run->terminal->err, "warning: %.*s\n", SLICE_ARG(buf_slice(text)));
    buf_deinit(text);
    buf_init(text);
}

/* What speaks against the new rate: as the dry run of a submission has it, of what runs now. */
static void warn_of_rate(struct cli_moves *run, int64_t rate)
{
    const struct klamm_moves *moves = run->moves;
    struct klamm_error err = {0};
    struct cli_disks disks;
    struct klamm_partition_ref *refs = xalloc((size_t)MAX(moves->count, 1) * sizeof *refs);
    struct klamm_partition_refs all = {refs, 0};
    struct buf text;
    buf_init(&text);
    if (cli_estimate_put_low(&text, rate)) {
        put_warning(run, &text);
    }
    for (int32_t i = 0; i < moves->count; i++) {
        refs[i] = (struct klamm_partition_ref){moves->list[i].topic, moves->list[i].partition};
    }
    all.count = moves->count;
    int code = cli_disks_read(run->session->client, run->cluster, &all, &disks, &err);
    for (int32_t i = 0; code == 0 && i < moves->count; i++) {
        const struct klamm_move *move = &moves->list[i];
        bool is_chosen = run->options.job == NULL ? move->job[0] != '\0'
                                                  : strcmp(move->job, run->options.job) == 0;
        if (is_chosen &&
            cli_estimate_put_slow(&text, &refs[i], cli_disks_write_rate(&disks, &refs[i]),
                                  move->arrival_count, rate)) {
            put_warning(run, &text);
        }
    }
    cli_disks_deinit(&disks);
    buf_deinit(&text);
    free(refs);
}

int cli_moves_set(struct cli_moves *run)
{
    struct klamm_error err = {0};
    struct selection none = {0};
    struct klamm_alter alter = {.action = KLAMM_ACTION_SET};
    const struct cli_moves_options *options = &run->options;
    if ((options->job != NULL) == options->is_all) {
        return cli_session_usage(run->session, run->command, "either --job or --all is expected");
    }
    if (options->throttle == NULL && options->priority == NULL) {
        return cli_session_usage(run->session, run->command,
                                 "nothing to change: --throttle or --priority is expected");
    }
    int exit_code = cli_moves_settings(run, &alter);
    if (exit_code != CLI_EXIT_OK) {
        return exit_code;
    }
    if (cli_moves_open(run, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    if (cli_moves_lacks_queue(run, "it keeps no jobs that could be changed")) {
        return CLI_EXIT_FAILED;
    }
    exit_code = check_known(run, &none);
    if (exit_code == CLI_EXIT_OK) {
        exit_code = set_jobs(run, &alter);
    }
    if (exit_code == CLI_EXIT_OK && options->throttle != NULL && alter.rate > 0) {
        warn_of_rate(run, alter.rate);
    }
    return exit_code;
}
