/*
 * Nothing is sent before everything that can be known has been checked. A submission whose answer is
 * lost is looked for by its job's name, which is always given: so it is neither repeated nor reported as
 * failed when it was accepted (S40).
 */
#include "cli/moves_start.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SAMPLE_MS      1000       /* between two looks at sizes, for the rate of writes */
#define REQUEST_BYTES  (16 << 20) /* of one request; a longer plan becomes several jobs */
#define STOCK_ENTRIES  1000       /* of one request to a controller that is not klamm's (S07) */
#define JOB_NAME_SIZE  64
#define JOB_NAME_MAX   48  /* as given; parts of a long plan get a number behind it */
#define FAILURES_MAX   100 /* told one by one */
#define CODE_TIMED_OUT 7
#define CODE_DUPLICATE 92
#define ENTRY_BYTES    16 /* of a request, besides the topic's name and the list */

void cli_moves_start_init(struct cli_moves_start *start, struct cli_moves *run, const char *file)
{
    *start = (struct cli_moves_start){.run = run, .file = file};
    start->alter.action = KLAMM_ACTION_SUBMIT;
    cli_faults_init(&start->faults);
    cli_disks_init(&start->disks);
    cli_disks_init(&start->earlier);
}

void cli_moves_start_deinit(struct cli_moves_start *start)
{
    cli_plan_free(start->plan);
    cli_faults_deinit(&start->faults);
    klamm_topics_free(start->topics);
    free((void *)(uintptr_t)start->running.list);
    free((void *)(uintptr_t)start->down.list);
    cli_disks_deinit(&start->disks);
    cli_disks_deinit(&start->earlier);
    cli_estimate_free(start->estimate);
    free(start->targets);
}

/* ---- checking ---- */

static bool is_up(const struct klamm_cluster *cluster, int32_t id)
{
    for (int32_t i = 0; i < cluster->broker_count; i++) {
        if (cluster->brokers[i].id == id) {
            return true;
        }
    }
    return false;
}

static bool has_absent_target(const struct cli_moves_start *start)
{
    for (int32_t i = 0; i < start->plan->count; i++) {
        const struct cli_plan_entry *entry = &start->plan->entries[i];
        for (int32_t k = 0; entry->has_valid_replicas && k < entry->replicas.count; k++) {
            if (!is_up(start->run->cluster, entry->replicas.list[k])) {
                return true;
            }
        }
    }
    return false;
}

static void add_down(struct cli_moves_start *start, int32_t *list, int32_t cap, int32_t id)
{
    bool is_new = !is_up(start->run->cluster, id) && !cli_text_ids_has(start->down, id);
    if (is_new && start->down.count < cap) {
        list[start->down.count++] = id;
    }
}

/* A broker that is not up is not in the cluster's list; replicas that it holds show that there is one. */
static int find_down(struct cli_moves_start *start, struct klamm_error *err)
{
    struct klamm_topics *all = NULL;
    int code = klamm_describe_topics(start->run->session->client, NULL, -1, &all, err);
    if (code != 0) {
        return code;
    }
    int32_t cap = 10000;
    int32_t *list = xalloc((size_t)cap * sizeof *list);
    start->down.list = list;
    for (int32_t t = 0; t < all->count; t++) {
        for (int32_t p = 0; p < all->list[t].partition_count; p++) {
            const struct klamm_ids *replicas = &all->list[t].partitions[p].replicas;
            for (int32_t i = 0; i < replicas->count; i++) {
                add_down(start, list, cap, replicas->list[i]);
            }
        }
    }
    klamm_topics_free(all);
    return 0;
}

static void copy_running(struct cli_moves_start *start)
{
    const struct klamm_moves *moves = start->run->moves;
    struct klamm_reassignment *list = xalloc((size_t)MAX(moves->count, 1) * sizeof *list);
    for (int32_t i = 0; i < moves->count; i++) {
        list[i] = (struct klamm_reassignment){.topic = moves->list[i].topic,
                                              .partition = moves->list[i].partition,
                                              .replicas = moves->list[i].replicas,
                                              .adding = moves->list[i].adding,
                                              .removing = moves->list[i].removing};
    }
    start->running = (struct klamm_reassignments){.count = moves->count, .list = list};
}

/* What the plan says of log directories is not carried out: it must not be passed over. */
static void check_log_dirs(struct cli_moves_start *start, const struct cli_plan_rules *rules)
{
    for (int32_t i = 0; i < start->plan->count; i++) {
        const struct cli_plan_entry *entry = &start->plan->entries[i];
        if (entry->asks_log_dirs) {
            char subject[CLI_PLAN_SUBJECT_SIZE];
            snprintf(subject, sizeof subject, "%s-%" PRId32, entry->topic, entry->partition);
            struct cli_fault fault = cli_plan_fault(rules, CLI_FAULT_LOG_DIRS, entry->at, subject);
            cli_faults_add(&start->faults, &fault,
                           "moves between log directories are not available yet");
        }
    }
}

/* Takes out the entries whose partition is no more; a warning has told each. */
static void drop_gone(struct cli_moves_start *start)
{
    struct cli_plan *plan = start->plan;
    int32_t kept = 0;
    for (int32_t i = 0; i < plan->count; i++) {
        const struct cli_plan_entry *entry = &plan->entries[i];
        if (cli_topics_find_partition(start->topics, entry->topic, entry->partition) != NULL) {
            plan->entries[kept++] = *entry;
        }
    }
    start->gone_count = plan->count - kept;
    plan->count = kept;
}

static struct cli_plan_rules rules_of(const struct cli_moves_start *start)
{
    const struct cli_moves_options *options = &start->run->options;
    return (struct cli_plan_rules){.is_strict = true,
                                   .purpose = start->purpose,
                                   .refuses_unknown_keys = options->is_strict,
                                   .allows_factor_change = options->allows_factor_change,
                                   .allows_down_targets = options->allows_down_targets};
}

static int set_error(struct klamm_error *err, const char *message)
{
    *err = (struct klamm_error){.code = KLAMM_ERR_ARGUMENT};
    snprintf(err->message, sizeof err->message, "%s", message);
    return err->code;
}

/* Against the cluster. Returns the library's code. */
static int check_with_cluster(struct cli_moves_start *start, const struct cli_plan_rules *rules,
                              struct klamm_error *err)
{
    int code = cli_moves_open(start->run, err);
    if (code != 0) {
        return code;
    }
    int32_t count = 0;
    const char *const *names = cli_plan_topics(start->plan, &count);
    code = klamm_describe_topics(start->run->session->client, names, count, &start->topics, err);
    if (code == 0 && has_absent_target(start)) {
        code = find_down(start, err);
    }
    if (code != 0) {
        return code;
    }
    if (start->run->options.job != NULL &&
        cli_moves_job(start->run, start->run->options.job) != NULL) {
        return set_error(err, "there is a job of this name already");
    }
    copy_running(start);
    struct cli_plan_view view = {.cluster = start->run->cluster,
                                 .topics = start->topics,
                                 .running = &start->running,
                                 .down = start->down};
    cli_plan_check(start->plan, rules, &view, &start->faults);
    check_log_dirs(start, rules);
    if (rules->purpose == CLI_PLAN_UNDO && start->faults.error_count == 0) {
        drop_gone(start);
    }
    return 0;
}

int cli_moves_start_check(struct cli_moves_start *start)
{
    struct cli_moves *run = start->run;
    struct klamm_error err = {0};
    struct errmsg em = {""};
    int exit_code = cli_moves_settings(run, &start->alter);
    if (exit_code != CLI_EXIT_OK) {
        return exit_code;
    }
    if (run->options.job != NULL && strlen(run->options.job) > JOB_NAME_MAX) {
        return cli_session_usage(
            run->session, run->command,
            "the name of a job has up to 48 characters: parts of a long plan get a "
            "number behind it");
    }
    start->alter.is_one_at_a_time = run->options.is_one_at_a_time;
    struct env *files = cli_session_files(run->session, &em);
    if (files == NULL) {
        return cli_moves_fail(run, "%s", em.text);
    }
    struct cli_plan_rules rules = rules_of(start);
    start->plan = cli_plan_read(files, start->file, &rules, &start->faults);
    bool is_hopeless = start->faults.error_count > 0 && start->plan->count == 0;
    int code = is_hopeless ? 0 : check_with_cluster(start, &rules, &err);
    /* What the file alone shows is told also when the cluster cannot be asked. */
    cli_faults_sort(&start->faults);
    cli_faults_print(&start->faults, start->file, &run->terminal->err);
    if (code != 0 && start->faults.error_count == 0) {
        return cli_session_fail(run->session, &err);
    }
    if (cli_faults_has(&start->faults, CLI_FAULT_LIST_EMPTY)) {
        buf_put_str(&run->terminal->err, "Nothing to do.\n");
    }
    if (cli_faults_has(&start->faults, CLI_FAULT_FACTOR_CHANGE) &&
        !run->options.allows_factor_change) {
        buf_put_str(&run->terminal->err,
                    "The plan changes how many replicas there are: --allow-factor-change accepts "
                    "that.\n");
    }
    return start->faults.error_count > 0 ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

/* ---- choosing ---- */

/* Whether nothing has to be sent for this entry. */
static bool is_settled(const struct cli_moves_start *start, const struct cli_plan_entry *entry)
{
    struct klamm_partition_ref ref = {entry->topic, entry->partition};
    const struct klamm_queued *queued = cli_moves_waiting(start->run, &ref);
    if (queued != NULL) {
        return cli_text_ids_equal(queued->target, entry->replicas);
    }
    const struct klamm_reassignment *move =
        cli_moves_find(&start->running, entry->topic, entry->partition);
    if (move != NULL) {
        struct klamm_ids target = cli_moves_target(move);
        bool is_same = cli_text_ids_equal(target, entry->replicas);
        free((void *)(uintptr_t)target.list);
        return is_same;
    }
    const struct klamm_partition *now =
        cli_topics_find_partition(start->topics, entry->topic, entry->partition);
    return now != NULL && cli_text_ids_equal(now->replicas, entry->replicas);
}

void cli_moves_start_choose(struct cli_moves_start *start)
{
    start->targets = xalloc((size_t)MAX(start->plan->count, 1) * sizeof *start->targets);
    for (int32_t i = 0; i < start->plan->count; i++) {
        const struct cli_plan_entry *entry = &start->plan->entries[i];
        if (!is_settled(start, entry)) {
            start->targets[start->target_count++] = (struct klamm_target){
                .topic = entry->topic, .partition = entry->partition, .replicas = entry->replicas};
        }
    }
}

struct klamm_ids cli_moves_start_origin(const struct cli_moves_start *start,
                                        const struct cli_plan_entry *entry)
{
    struct klamm_partition_ref ref = {entry->topic, entry->partition};
    const struct klamm_move *move = cli_moves_running(start->run, &ref);
    const struct klamm_partition *now =
        cli_topics_find_partition(start->topics, entry->topic, entry->partition);
    CHECK(now != NULL); /* the plan was checked against these topics */
    struct klamm_ids none = {NULL, 0};
    if (move != NULL && move->original.count > 0) {
        return cli_estimate_origin(move->original, none);
    }
    const struct klamm_queued *queued = cli_moves_waiting(start->run, &ref);
    if (move == NULL && queued != NULL && queued->original.count > 0) {
        return cli_estimate_origin(queued->original, none);
    }
    return move == NULL ? cli_estimate_origin(now->replicas, none)
                        : cli_estimate_origin(move->replicas, move->adding);
}

/* ---- the cost ---- */

/* Whether a partition that is to move has a write rate that no broker tells. */
static bool lacks_write_rates(const struct cli_moves_start *start)
{
    for (int32_t i = 0; i < start->target_count; i++) {
        struct klamm_partition_ref ref = {start->targets[i].topic, start->targets[i].partition};
        if (cli_disks_write_rate(&start->disks, &ref) < 0) {
            return true;
        }
    }
    return false;
}

/* With a rate that has to be compared with what is written, sizes are read twice where brokers do not tell:
 * what grew in between was written. */
static int read_disks(struct cli_moves_start *start, int64_t *ret_elapsed_ms,
                      struct klamm_error *err)
{
    struct klamm_client *client = start->run->session->client;
    struct klamm_partition_ref *refs = xalloc((size_t)MAX(start->plan->count, 1) * sizeof *refs);
    for (int32_t i = 0; i < start->plan->count; i++) {
        refs[i] = (struct klamm_partition_ref){start->plan->entries[i].topic,
                                               start->plan->entries[i].partition};
    }
    struct klamm_partition_refs all = {refs, start->plan->count};
    const struct env *clock = start->run->session->files;
    int64_t began_ms = env_now_us(clock) / 1000;
    int code = cli_disks_read(client, start->run->cluster, &all, &start->disks, err);
    if (code == 0 && start->alter.rate > 0 && lacks_write_rates(start)) {
        start->earlier = start->disks;
        cli_disks_init(&start->disks);
        code = klamm_wait(client, SAMPLE_MS, err);
        *ret_elapsed_ms = env_now_us(clock) / 1000 - began_ms;
        if (code == 0) {
            code = cli_disks_read(client, start->run->cluster, &all, &start->disks, err);
        }
    }
    free(refs);
    return code;
}

int cli_moves_start_estimate(struct cli_moves_start *start)
{
    struct cli_moves *run = start->run;
    struct klamm_error err = {0};
    int64_t elapsed_ms = 0;
    if (read_disks(start, &elapsed_ms, &err) != 0) {
        return cli_session_fail(run->session, &err);
    }
    int64_t rate = start->alter.rate > 0 ? start->alter.rate : -1;
    struct cli_estimate_input input = {.plan = start->plan,
                                       .cluster = run->cluster,
                                       .topics = start->topics,
                                       .running = &start->running,
                                       .disks = &start->disks,
                                       .earlier =
                                           start->earlier.broker_count > 0 ? &start->earlier : NULL,
                                       .elapsed_ms = elapsed_ms,
                                       .rate = rate,
                                       .is_one_at_a_time = run->options.is_one_at_a_time,
                                       .has_limits = run->moves->is_klamm};
    start->estimate = cli_estimate_new(&input);
    if (!run->options.is_json) {
        cli_estimate_print(start->estimate, rate, run->terminal);
    }
    return CLI_EXIT_OK;
}

int cli_moves_start_agree(struct cli_moves_start *start, const char *question)
{
    struct cli_moves *run = start->run;
    struct klamm_error err = {0};
    if (run->options.is_agreed) {
        return CLI_EXIT_OK;
    }
    if (!run->terminal->has_reader) {
        return cli_session_usage(run->session, run->command,
                                 "nobody can be asked here: --yes starts, --dry-run only shows");
    }
    cli_terminal_ask(run->terminal, question);
    for (;;) {
        if (klamm_wait(run->session->client, 1, &err) != 0) {
            buf_put_str(&run->terminal->err, "\nInterrupted. Nothing was changed.\n");
            return CLI_EXIT_INTERRUPTED;
        }
        enum cli_answer answer = cli_terminal_read_answer(run->terminal);
        if (answer != CLI_ANSWER_NOT_YET) {
            buf_put_str(&run->terminal->err,
                        answer == CLI_ANSWER_YES ? "" : "Nothing was changed.\n");
            return answer == CLI_ANSWER_YES ? CLI_EXIT_OK : CLI_EXIT_FAILED;
        }
    }
}

/* ---- sending ---- */

/* "20261201-070311-a1b2c3d4": sorts by time, and nobody else has it. */
static void make_job_name(const struct cli_moves_start *start, char name[JOB_NAME_SIZE])
{
    struct env *env = start->run->session->files;
    time_t seconds = (time_t)(env_wall_ms(env) / 1000);
    struct tm utc = {0};
    (void)gmtime_r(&seconds, &utc); /* fails beyond the year 2^31 only */
    snprintf(name, JOB_NAME_SIZE, "%04d%02d%02d-%02d%02d%02d-%08" PRIx32, utc.tm_year + 1900,
             utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec,
             (uint32_t)env_random_u64(env));
}

/* The library has sent the submission again, as long as the time allowed, and the name makes sure that it is
 * one: whether there is a job of this name says whether it was accepted. */
static bool is_doubtful(int code)
{
    return code == KLAMM_ERR_TIMEOUT || code == KLAMM_ERR_CONNECT || code == CODE_TIMED_OUT ||
           code == CODE_DUPLICATE;
}

/* Nobody can say whether the submission was accepted. */
static int unknown_outcome(struct cli_moves_start *start, const char *job, const char *message)
{
    buf_putf(&start->run->terminal->err,
             "klamm: %s\nJob %s may have been accepted all the same: see klamm moves status. The "
             "rollback file stays.\n",
             message, job);
    start->is_doubtful = true;
    return CLI_EXIT_FAILED;
}

struct outcome {
    int32_t accepted;
    int32_t queued;
    int32_t failed;
};

static void print_results(struct cli_moves_start *start,
                          const struct klamm_partition_results *results, struct outcome *outcome)
{
    struct cli_terminal *terminal = start->run->terminal;
    for (int32_t i = 0; i < results->count; i++) {
        const struct klamm_partition_result *result = &results->list[i];
        if (start->run->options.is_json) {
            buf_putf(&terminal->out,
                     "%s{\"topic\":", outcome->accepted + outcome->failed == 0 ? "" : ",");
            cli_text_put_json(&terminal->out, result->topic);
            buf_putf(&terminal->out,
                     ",\"partition\":%" PRId32 ",\"code\":%d,\"is_queued\":%s,\"message\":",
                     result->partition, result->code,
                     result->note == KLAMM_NOTE_QUEUED ? "true" : "false");
            cli_text_put_json(&terminal->out, result->message);
            buf_put_str(&terminal->out, "}");
        }
        outcome->accepted += result->code == 0;
        outcome->queued += result->code == 0 && result->note == KLAMM_NOTE_QUEUED;
        outcome->failed += result->code != 0;
        if (result->code != 0 && outcome->failed <= FAILURES_MAX) {
            buf_putf(&terminal->err, "klamm: %s-%" PRId32 ": %s\n", result->topic,
                     result->partition, result->message);
        }
    }
}

/* The answer is lost; the list of jobs tells how many moves were accepted. */
static int settle_doubt(struct cli_moves_start *start, const char *job,
                        const struct klamm_error *err, struct outcome *outcome)
{
    struct cli_moves *run = start->run;
    struct klamm_error problem = {0};
    if (cli_moves_refresh(run, &problem) != 0) {
        return unknown_outcome(start, job, problem.message);
    }
    const struct klamm_job *found = cli_moves_job(run, job);
    if (found == NULL) {
        return unknown_outcome(start, job, err->message); /* it may still be on its way */
    }
    buf_put_str(&run->terminal->err,
                "The answer got lost, but the job is there: its moves were accepted.\n");
    outcome->accepted += found->moves_total;
    outcome->failed += MAX(start->alter.target_count - found->moves_total, 0);
    return CLI_EXIT_OK;
}

/* Sends a part of the targets as one job. */
static int send_part(struct cli_moves_start *start, const char *job, struct outcome *outcome)
{
    struct cli_moves *run = start->run;
    struct klamm_partition_results *results = NULL;
    struct klamm_error err = {0};
    int code = klamm_alter_reassignments(run->session->client, &start->alter, &results, &err);
    if (code == KLAMM_ERR_INTERRUPTED) {
        start->is_doubtful = true;
        buf_putf(&run->terminal->err,
                 "Interrupted. Job %s may have been accepted: see klamm moves status.\n", job);
        return CLI_EXIT_INTERRUPTED;
    }
    if (code != 0) {
        /* Without a queue the library repeats the request, which does no harm. */
        return is_doubtful(code) && run->moves->is_klamm ? settle_doubt(start, job, &err, outcome)
                                                         : cli_session_fail(run->session, &err);
    }
    print_results(start, results, outcome);
    klamm_partition_results_free(results);
    return CLI_EXIT_OK;
}

/* How many targets from `first` on fit into one request. */
static int32_t count_part(const struct cli_moves_start *start, int32_t first)
{
    size_t bytes = 0;
    int32_t count = 0;
    bool is_klamm = start->run->moves->is_klamm;
    while (first + count < start->target_count) {
        const struct klamm_target *target = &start->targets[first + count];
        bytes += ENTRY_BYTES + strlen(target->topic) + (size_t)target->replicas.count * 4;
        bool is_full = bytes > REQUEST_BYTES || count == (is_klamm ? INT32_MAX : STOCK_ENTRIES);
        if (is_full && count > 0) {
            break;
        }
        count++;
    }
    return count;
}

static void print_sent(struct cli_moves_start *start, const char *job,
                       const struct outcome *outcome)
{
    struct buf *out = &start->run->terminal->out;
    if (start->run->options.is_json) {
        buf_put_str(out, "],\"job\":");
        cli_text_put_json(out, job);
        return;
    }
    if (outcome->accepted > 0) {
        buf_putf(out, "%s%s%s%" PRId32 " move%s %s", job == NULL ? "" : "Job ",
                 job == NULL ? "" : job, job == NULL ? "" : ": ", outcome->accepted,
                 outcome->accepted == 1 ? "" : "s", job == NULL ? "started" : "accepted");
        if (outcome->queued > 0) {
            buf_putf(out, ", %" PRId32 " of them queued", outcome->queued);
        }
        buf_put_str(out, ".\n");
    }
    if (outcome->failed > 0) {
        buf_putf(&start->run->terminal->err, "%" PRId32 " move%s refused.\n", outcome->failed,
                 outcome->failed == 1 ? " was" : "s were");
    }
}

/* The name of a part of the plan; part 0 has the plan's own. */
static void name_part(const char *name, int32_t part, char ret[JOB_NAME_SIZE + 16])
{
    if (part == 0) {
        snprintf(ret, JOB_NAME_SIZE + 16, "%s", name);
    } else {
        snprintf(ret, JOB_NAME_SIZE + 16, "%s-%" PRId32, name, part + 1);
    }
}

int cli_moves_start_send(struct cli_moves_start *start, bool *ret_accepted)
{
    struct cli_moves *run = start->run;
    struct outcome outcome = {0};
    char name[JOB_NAME_SIZE];
    char part_name[JOB_NAME_SIZE + 16];
    bool is_klamm = run->moves->is_klamm;
    make_job_name(start, name);
    if (run->options.job != NULL) {
        snprintf(name, sizeof name, "%s", run->options.job);
    }
    buf_put_str(&run->terminal->out, run->options.is_json ? "\"results\":[" : "");
    start->alter.action = is_klamm ? KLAMM_ACTION_SUBMIT : KLAMM_ACTION_ALTER;
    int exit_code = CLI_EXIT_OK;
    int32_t parts = 0;
    for (int32_t first = 0; exit_code == CLI_EXIT_OK && first < start->target_count; parts++) {
        start->alter.targets = start->targets + first;
        start->alter.target_count = count_part(start, first);
        name_part(name, parts, part_name);
        start->alter.job = is_klamm ? part_name : NULL;
        first += start->alter.target_count;
        exit_code = send_part(start, part_name, &outcome);
    }
    start->alter.job = NULL;
    print_sent(start, is_klamm ? name : NULL, &outcome);
    *ret_accepted = outcome.accepted > 0 || start->is_doubtful;
    return exit_code == CLI_EXIT_OK && outcome.failed > 0 ? CLI_EXIT_FAILED : exit_code;
}
