/*
 * The driver of the queue's core outside a controller. Effects are carried out in their order: writes go to
 * the journal and are synced once a step, before what rests on them is told to the core.
 *
 * Invariant: `pending` holds the events that answer effects, oldest first; nothing else is told to the core
 * before they are.
 */
#include "cli/moves_local.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "cli/job_text.h"
#include "cli/journal.h"
#include "cli/moves.h"
#include "cli/moves_facts.h"
#include "cli/text.h"
#include "model/kerr.h"
#include "moves/moves.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define JOB_PREFIX   "job/"
#define PIECE_PREFIX "piece/"
#define PLAN_NAME    "plan"
#define CLIENT_ID    "klamm"
#define STEPS_MAX    1000000 /* of the core in one go: more means that it does not come to rest */
#define TOKEN        1

/* An event that answers an effect; owns what it points to. */
struct answer {
    struct moves_event event;
    char *topic;
    struct moves_altered *altered;
    char *message;
};

struct cli_moves_local {
    struct cli_moves *run;
    struct cli_moves_start *start;
    struct moves *core;
    struct cli_journal *journal;
    char *journal_path;
    struct cli_moves_facts facts;
    struct moves_effects effects;
    struct answer *pending;
    int32_t pending_count;
    int32_t pending_cap;
    int64_t *stored; /* ids of writes that wait for a sync */
    int32_t stored_count;
    int32_t stored_cap;
    struct klamm_queued *queued; /* what waits, as run->moves shows it */
    int32_t queued_count;
    int32_t queued_cap;
    struct ids live;  /* brokers that are up */
    int32_t accepted; /* of the submission */
    int32_t refused;  /* of the submission */
    bool has_reply;
    bool is_interrupted;
    char trouble[256]; /* what the journal or the cluster refused; "" = nothing */
};

/* ---- facts ---- */

static bool look_up(void *arg, struct slice topic, int32_t partition, struct moves_partition *ret)
{
    struct cli_moves_local *l = arg;
    const struct cli_moves_fact *fact = cli_moves_facts_find(&l->facts, topic, partition);
    if (fact == NULL || !fact->exists) {
        return false;
    }
    *ret = (struct moves_partition){
        .assignment = &fact->assignment, .leader = fact->leader, .bytes = fact->bytes};
    return true;
}

static bool is_live(void *arg, int32_t broker)
{
    const struct cli_moves_local *l = arg;
    return ids_has(&l->live, broker);
}

/* ---- answers ---- */

static void pend(struct cli_moves_local *l, const struct answer *answer)
{
    if (l->pending_count == l->pending_cap) {
        l->pending_cap = MAX(l->pending_cap * 2, 16);
        l->pending = xrealloc(l->pending, (size_t)l->pending_cap * sizeof *l->pending);
    }
    l->pending[l->pending_count++] = *answer;
}

static void pend_partition(struct cli_moves_local *l, const struct cli_moves_fact *fact)
{
    struct answer answer = {.topic = xstrdup(fact->topic)};
    answer.event.kind = MOVES_ON_PARTITION;
    answer.event.topic = slice_str(answer.topic);
    answer.event.partition = fact->partition;
    pend(l, &answer);
}

static void pend_stored(struct cli_moves_local *l, uint64_t id, const char *message)
{
    struct answer answer = {.message = message == NULL ? NULL : xstrdup(message)};
    answer.event.kind = MOVES_ON_STORED;
    answer.event.store_id = id;
    answer.event.message = answer.message;
    pend(l, &answer);
}

static void answer_deinit(struct answer *answer)
{
    free(answer->topic);
    free(answer->altered);
    free(answer->message);
}

/* ---- writes ---- */

static int put_value(struct cli_moves_local *l, const struct moves_store *store, struct errmsg *em)
{
    struct buf text;
    buf_init(&text);
    bool is_piece = store->kind == MOVES_STORE_PIECE || store->kind == MOVES_REMOVE_PIECE;
    bool is_removal = store->kind == MOVES_REMOVE_JOB || store->kind == MOVES_REMOVE_PIECE;
    char *name = is_piece
                     ? xasprintf(PIECE_PREFIX "%.*s/%" PRId32, SLICE_ARG(store->job), store->piece)
                     : xasprintf(JOB_PREFIX "%.*s", SLICE_ARG(store->job));
    if (store->kind == MOVES_STORE_JOB) {
        cli_job_text_put(store->node, &text);
    } else if (store->kind == MOVES_STORE_PIECE) {
        cli_job_text_put_piece(store->contents, &text);
    }
    int err = cli_journal_put(l->journal, name, is_removal ? SLICE_NULL : buf_slice(&text), em);
    free(name);
    buf_deinit(&text);
    return err;
}

static void perform_store(struct cli_moves_local *l, const struct moves_store *store)
{
    struct errmsg em = {""};
    if (put_value(l, store, &em) < 0) {
        snprintf(l->trouble, sizeof l->trouble, "%s", em.text);
        pend_stored(l, store->id, em.text);
        return;
    }
    if (l->stored_count == l->stored_cap) {
        l->stored_cap = MAX(l->stored_cap * 2, 16);
        l->stored = xrealloc(l->stored, (size_t)l->stored_cap * sizeof *l->stored);
    }
    l->stored[l->stored_count++] = (int64_t)store->id;
}

static void sync_stored(struct cli_moves_local *l)
{
    struct errmsg em = {""};
    if (l->stored_count == 0) {
        return;
    }
    int err = cli_journal_sync(l->journal, &em);
    if (err < 0) {
        snprintf(l->trouble, sizeof l->trouble, "%s", em.text);
    }
    for (int32_t i = 0; i < l->stored_count; i++) {
        pend_stored(l, (uint64_t)l->stored[i], err < 0 ? em.text : NULL);
    }
    l->stored_count = 0;
}

/* ---- requests to the controller ---- */

/* Kafka judges nothing in advance; what can be known was checked with the plan. */
static void judge(struct cli_moves_local *l, const struct moves_alter *alter,
                  struct moves_altered *altered)
{
    for (int32_t i = 0; i < alter->count; i++) {
        const struct moves_entry *entry = &alter->entries[i];
        const struct cli_moves_fact *fact =
            cli_moves_facts_find(&l->facts, entry->topic, entry->partition);
        bool exists = fact != NULL && fact->exists;
        altered[i].error = exists ? KERR_NONE : KERR_UNKNOWN_TOPIC_OR_PARTITION;
    }
}

static void accept(struct cli_moves_local *l, const struct moves_entry *entry)
{
    struct cli_moves_fact *fact = cli_moves_facts_find(&l->facts, entry->topic, entry->partition);
    struct ids target = {0};
    if (fact == NULL) {
        return;
    }
    ids_set(&target, entry->replicas, entry->replica_count);
    cli_moves_fact_accept(fact, entry->is_cancel ? NULL : &target,
                          env_now_us(l->run->session->files) / 1000);
    ids_deinit(&target);
    pend_partition(l, fact);
}

static void send(struct cli_moves_local *l, const struct moves_alter *alter,
                 struct moves_altered *altered)
{
    struct klamm_error err = {0};
    struct klamm_partition_results *results = NULL;
    struct klamm_target *targets = xalloc((size_t)MAX(alter->count, 1) * sizeof *targets);
    for (int32_t i = 0; i < alter->count; i++) {
        const struct moves_entry *entry = &alter->entries[i];
        targets[i] = (struct klamm_target){.topic = slice_dup(entry->topic),
                                           .partition = entry->partition,
                                           .is_cancel = entry->is_cancel,
                                           .replicas = {entry->replicas, entry->replica_count}};
    }
    struct klamm_alter request = {.targets = targets, .target_count = alter->count};
    int code = klamm_alter_reassignments(l->run->session->client, &request, &results, &err);
    l->is_interrupted = l->is_interrupted || code == KLAMM_ERR_INTERRUPTED;
    if (code != 0) {
        snprintf(l->trouble, sizeof l->trouble, "%s", err.message);
    }
    for (int32_t i = 0; i < alter->count; i++) {
        /* Whatever the answer would have been: the queue tries again, and the list shows what is so. */
        altered[i].error = code == 0  ? results->list[i].code
                           : code > 0 ? (int16_t)code
                                      : (int16_t)KERR_REQUEST_TIMED_OUT;
        if (altered[i].error == KERR_NONE) {
            accept(l, &alter->entries[i]);
        }
        free((void *)(uintptr_t)targets[i].topic);
    }
    klamm_partition_results_free(results);
    free(targets);
}

static void perform_alter(struct cli_moves_local *l, const struct moves_alter *alter)
{
    struct answer answer = {.altered =
                                xalloc((size_t)MAX(alter->count, 1) * sizeof *answer.altered)};
    if (alter->is_validate_only) {
        judge(l, alter, answer.altered);
    } else {
        send(l, alter, answer.altered);
    }
    answer.event.kind = MOVES_ON_ALTERED;
    answer.event.alter_id = alter->id;
    answer.event.altered = answer.altered;
    answer.event.altered_count = alter->count;
    pend(l, &answer);
}

/* ---- the core ---- */

static void take_reply(struct cli_moves_local *l, const struct moves_reply *reply)
{
    struct buf *err = &l->run->terminal->err;
    l->has_reply = true;
    if (reply->error != 0) {
        snprintf(l->trouble, sizeof l->trouble, "%s",
                 reply->message == NULL ? kerr_name(reply->error) : reply->message);
    }
    for (int32_t i = 0; i < reply->count; i++) {
        const struct moves_result *result = &reply->results[i];
        l->accepted += result->error == 0;
        l->refused += result->error != 0;
        if (result->error != 0) {
            buf_putf(err, "klamm: %.*s-%" PRId32 ": %s\n", SLICE_ARG(result->topic),
                     result->partition,
                     result->message == NULL ? kerr_name(result->error) : result->message);
        }
    }
}

static void perform(struct cli_moves_local *l)
{
    for (int32_t i = 0; i < l->effects.count; i++) {
        const struct moves_effect *effect = &l->effects.list[i];
        switch (effect->kind) {
        case MOVES_EFFECT_ALTER:
            sync_stored(l);
            perform_alter(l, &effect->alter);
            break;
        case MOVES_EFFECT_STORE:
            perform_store(l, &effect->store);
            break;
        case MOVES_EFFECT_REPLY:
            take_reply(l, &effect->reply);
            break;
        case MOVES_EFFECT_LIMITS: /* needs brokers that know them: refused with the options */
        case MOVES_EFFECT_LOG:
            break;
        }
    }
    sync_stored(l);
}

static void step_once(struct cli_moves_local *l, const struct moves_event *event)
{
    const struct env *env = l->run->session->files;
    moves_step(l->core, env_now_us(env) / 1000, env_wall_ms(env), event, &l->effects);
    perform(l);
}

/* Tells the event, then what it brought about, until the core rests. */
static void tell(struct cli_moves_local *l, const struct moves_event *event)
{
    static const struct moves_event tick = {.kind = MOVES_ON_TICK};
    step_once(l, event);
    for (int32_t steps = 0; l->pending_count > 0 || l->effects.has_more; steps++) {
        CHECK(steps < STEPS_MAX);
        if (l->pending_count == 0) {
            step_once(l, &tick);
            continue;
        }
        struct answer answer = l->pending[0];
        l->pending_count--;
        memmove(l->pending, l->pending + 1, (size_t)l->pending_count * sizeof *l->pending);
        step_once(l, &answer.event);
        answer_deinit(&answer);
    }
}

/* ---- beginning ---- */

static int load_job(void *arg, const char *name, struct slice text, struct errmsg *em)
{
    struct cli_moves_local *l = arg;
    struct cli_job_text *memory = NULL;
    struct model_job job;
    int err = cli_job_text_read(text, slice_str(name + strlen(JOB_PREFIX)), &job, &memory, em);
    if (err == 0) {
        tell(l, &(struct moves_event){.kind = MOVES_ON_JOB, .job = &job});
    } else {
        errmsg_prefix(em, "%s: %s", l->journal_path, name);
    }
    cli_job_text_free(memory);
    return err;
}

/* "piece/JOB/N" -> JOB and N. */
static bool parse_piece_name(const char *name, struct slice *ret_job, int32_t *ret_piece)
{
    const char *job = name + strlen(PIECE_PREFIX);
    const char *slash = strrchr(job, '/');
    int64_t piece = 0;
    if (slash == NULL || slash == job || !cli_text_parse_int(slash + 1, 0, INT16_MAX, &piece)) {
        return false;
    }
    *ret_job = slice_of(job, (size_t)(slash - job));
    *ret_piece = (int32_t)piece;
    return true;
}

static int load_piece(void *arg, const char *name, struct slice text, struct errmsg *em)
{
    struct cli_moves_local *l = arg;
    struct cli_job_text *memory = NULL;
    struct model_job_piece contents;
    struct moves_event event = {.kind = MOVES_ON_PIECE};
    if (!parse_piece_name(name, &event.job_id, &event.piece)) {
        return errmsg_set(em, E_CORRUPT, "%s: %s is no name of a piece", l->journal_path, name);
    }
    int err = cli_job_text_read_piece(text, &contents, &memory, em);
    if (err == 0) {
        event.contents = &contents;
        tell(l, &event);
    } else {
        errmsg_prefix(em, "%s: %s", l->journal_path, name);
    }
    cli_job_text_free(memory);
    return err;
}

static void set_live(struct cli_moves_local *l)
{
    ids_clear(&l->live);
    for (int32_t i = 0; i < l->run->cluster->broker_count; i++) {
        ids_add(&l->live, l->run->cluster->brokers[i].id);
    }
}

static int64_t now_ms(const struct cli_moves_local *l)
{
    return env_now_us(l->run->session->files) / 1000;
}

/* The plan's partitions, with what the start has asked for. */
static void begin_facts(struct cli_moves_local *l)
{
    const struct cli_moves_start *start = l->start;
    for (int32_t i = 0; i < start->plan->count; i++) {
        struct klamm_partition_ref ref = {start->plan->entries[i].topic,
                                          start->plan->entries[i].partition};
        cli_moves_facts_add(&l->facts, &ref);
    }
    cli_moves_facts_sort(&l->facts);
    cli_moves_facts_update(&l->facts, l->run->moves, start->topics, now_ms(l));
    for (int32_t i = 0; i < l->facts.count; i++) {
        struct cli_moves_fact *fact = &l->facts.list[i];
        struct klamm_partition_ref ref = {fact->topic, fact->partition};
        for (int32_t k = 0; k < fact->assignment.replicas.count; k++) {
            fact->bytes = MAX(fact->bytes, cli_disks_size(&start->disks, &ref,
                                                          fact->assignment.replicas.list[k]));
        }
    }
}

/* What makes a plan this one: its targets. */
static char *plan_mark(const struct cli_plan *plan)
{
    uint32_t crc = 0;
    for (int32_t i = 0; i < plan->count; i++) {
        const struct cli_plan_entry *entry = &plan->entries[i];
        crc = crc32c(crc, entry->topic, strlen(entry->topic) + 1);
        crc = crc32c(crc, &entry->partition, sizeof entry->partition);
        crc = crc32c(crc, entry->replicas.list,
                     (size_t)entry->replicas.count * sizeof *entry->replicas.list);
    }
    return xasprintf("%08" PRIx32 "-%" PRId32, crc, plan->count);
}

static int compare_mark(void *arg, const char *name, struct slice text, struct errmsg *em)
{
    (void)name; /* the only one with that prefix */
    return slice_equal_str(text, arg)
               ? 0
               : errmsg_set(
                     em, E_EXISTS,
                     "the journal is of another plan, whose moves have not all ended: submit "
                     "that one again, or name another file with --journal");
}

/* Notes whether there is a job that has not ended. */
static int look_for_open(void *arg, const char *name, struct slice text, struct errmsg *em)
{
    bool *is_open = arg;
    struct cli_job_text *memory = NULL;
    struct model_job job;
    int err = cli_job_text_read(text, slice_str(name + strlen(JOB_PREFIX)), &job, &memory, em);
    if (err == 0 && (job.fate == MODEL_JOB_OPEN || job.fate == MODEL_JOB_WRITING)) {
        *is_open = true;
    }
    cli_job_text_free(memory);
    return err;
}

/* An unfinished job must be of this plan; what else is left from before counts for nothing. */
static int check_journal(struct cli_moves_local *l, bool *ret_is_resumed, struct errmsg *em)
{
    bool is_open = false;
    char *mark = plan_mark(l->start->plan);
    int err = cli_journal_each(l->journal, JOB_PREFIX, look_for_open, &is_open, em);
    if (err == 0 && is_open) {
        err = cli_journal_each(l->journal, PLAN_NAME, compare_mark, mark, em);
    } else if (err == 0) {
        err = cli_journal_clear(l->journal, em);
        err = err == 0 ? cli_journal_put(l->journal, PLAN_NAME, slice_str(mark), em) : err;
    }
    free(mark);
    *ret_is_resumed = is_open;
    return err;
}

static int load(struct cli_moves_local *l, int32_t concurrency, struct errmsg *em)
{
    struct moves_event limits = {.kind = MOVES_ON_LIMITS};
    int32_t most = concurrency > 0 ? concurrency : MOVES_OFF;
    limits.limits = (struct moves_limits){most, most, most, MOVES_OFF};
    tell(l, &limits);
    int err = cli_journal_each(l->journal, JOB_PREFIX, load_job, l, em);
    if (err == 0) {
        err = cli_journal_each(l->journal, PIECE_PREFIX, load_piece, l, em);
    }
    if (err == 0) {
        tell(l, &(struct moves_event){.kind = MOVES_ON_LOADED});
    }
    return err;
}

int cli_moves_local_new(const struct cli_moves_local_config *config,
                        struct cli_moves_local **ret_local, bool *ret_is_resumed)
{
    struct errmsg em = {""};
    struct cli_moves *run = config->start->run;
    struct cli_moves_local *l = xalloc(sizeof *l);
    l->run = run;
    l->start = config->start;
    l->journal_path = xstrdup(config->journal);
    moves_effects_init(&l->effects);
    l->core = moves_new(&(struct moves_lookup){l, look_up, is_live});
    int err = cli_journal_open(run->session->files, config->journal, &l->journal, &em);
    if (err == 0) {
        set_live(l);
        begin_facts(l);
        err = check_journal(l, ret_is_resumed, &em);
        err = err == 0 ? load(l, config->concurrency, &em) : err;
    }
    if (err < 0) {
        cli_moves_local_free(l);
        return cli_moves_fail(run, "%s; nothing was changed", em.text);
    }
    *ret_local = l;
    return CLI_EXIT_OK;
}

void cli_moves_local_free(struct cli_moves_local *local)
{
    if (local == NULL) {
        return;
    }
    for (int32_t i = 0; i < local->pending_count; i++) {
        answer_deinit(&local->pending[i]);
    }
    free(local->pending);
    free(local->stored);
    free(local->queued);
    moves_free(local->core);
    moves_effects_deinit(&local->effects);
    cli_journal_close(local->journal);
    cli_moves_facts_deinit(&local->facts);
    ids_deinit(&local->live);
    free(local->journal_path);
    free(local);
}

/* ---- submitting ---- */

int cli_moves_local_submit(struct cli_moves_local *local, int32_t *ret_accepted)
{
    const struct cli_moves_start *start = local->start;
    struct moves_entry *entries = xalloc((size_t)MAX(start->target_count, 1) * sizeof *entries);
    for (int32_t i = 0; i < start->target_count; i++) {
        const struct klamm_target *target = &start->targets[i];
        entries[i] = (struct moves_entry){.topic = slice_str(target->topic),
                                          .partition = target->partition,
                                          .replicas = target->replicas.list,
                                          .replica_count = target->replicas.count};
    }
    struct moves_event event = {.kind = MOVES_ON_REQUEST};
    event.request = (struct moves_request){
        .token = TOKEN,
        .action = MOVES_ACTION_SUBMIT,
        .entries = entries,
        .count = start->target_count,
        .job = start->run->options.job == NULL ? SLICE_NULL : slice_str(start->run->options.job),
        .rate = MOVES_RATE_KEEP,
        .priority = MODEL_JOB_BALANCE,
        .is_one_at_a_time = start->run->options.is_one_at_a_time,
        .submitted_by = slice_str(""),
        .client_id = slice_str(CLIENT_ID)};
    tell(local, &event);
    free(entries);
    *ret_accepted = local->accepted;
    if (!local->has_reply || local->trouble[0] != '\0') {
        return cli_moves_fail(local->run, "%s",
                              local->has_reply ? local->trouble : "the queue has not answered");
    }
    return local->refused > 0 ? CLI_EXIT_FAILED : CLI_EXIT_OK;
}

/* ---- going on ---- */

static void add_queued(void *arg, const struct moves_view *view)
{
    struct cli_moves_local *l = arg;
    const struct cli_moves_fact *fact =
        cli_moves_facts_find(&l->facts, view->topic, view->partition);
    if (fact == NULL) {
        return;
    }
    if (l->queued_count == l->queued_cap) {
        l->queued_cap = MAX(l->queued_cap * 2, 64);
        l->queued = xrealloc(l->queued, (size_t)l->queued_cap * sizeof *l->queued);
    }
    l->queued[l->queued_count++] =
        (struct klamm_queued){.topic = fact->topic,
                              .partition = fact->partition,
                              .target = {view->target->list, view->target->count},
                              .job = "",
                              .reason = view->reason,
                              .since_ms = MAX(view->since_ms, 0),
                              .bytes_to_copy = MAX(view->bytes_to_copy, 0)};
}

static int compare_queued(const void *a, const void *b)
{
    const struct klamm_queued *x = a;
    const struct klamm_queued *y = b;
    int order = strcmp(x->topic, y->topic);
    return order != 0 ? order : x->partition < y->partition ? -1 : x->partition > y->partition;
}

/* What waits becomes part of what is listed. */
static void show_queued(struct cli_moves_local *l)
{
    l->queued_count = 0;
    moves_each_queued(l->core, add_queued, l);
    if (l->queued_count > 1) {
        qsort(l->queued, (size_t)l->queued_count, sizeof *l->queued, compare_queued);
    }
    l->run->moves->queued = l->queued;
    l->run->moves->queued_count = l->queued_count;
}

static bool has_other_brokers(const struct cli_moves_local *l)
{
    const struct klamm_cluster *cluster = l->run->cluster;
    bool is_other = cluster->broker_count != l->live.count;
    for (int32_t i = 0; !is_other && i < cluster->broker_count; i++) {
        is_other = !ids_has(&l->live, cluster->brokers[i].id);
    }
    return is_other;
}

int cli_moves_local_step(struct cli_moves_local *local, struct klamm_error *err)
{
    struct klamm_topics *topics = NULL;
    int32_t count = 0;
    const char *const *names = cli_plan_topics(local->start->plan, &count);
    int code = klamm_describe_topics(local->run->session->client, names, count, &topics, err);
    if (code != 0) {
        return code;
    }
    local->trouble[0] = '\0';
    cli_moves_facts_update(&local->facts, local->run->moves, topics, now_ms(local));
    klamm_topics_free(topics);
    for (int32_t i = 0; i < local->facts.count; i++) {
        if (local->facts.list[i].is_changed) {
            pend_partition(local, &local->facts.list[i]);
        }
    }
    if (has_other_brokers(local)) {
        set_live(local);
        tell(local, &(struct moves_event){.kind = MOVES_ON_BROKERS});
    }
    tell(local, &(struct moves_event){.kind = MOVES_ON_TICK});
    show_queued(local);
    if (local->is_interrupted || local->trouble[0] != '\0') {
        *err = (struct klamm_error){.code = local->is_interrupted ? KLAMM_ERR_INTERRUPTED
                                                                  : KLAMM_ERR_CONNECT};
        snprintf(err->message, sizeof err->message, "%s", local->trouble);
        return err->code;
    }
    return 0;
}

/* ---- the end ---- */

static void note_open(void *arg, const struct moves_job_view *view)
{
    bool *is_open = arg;
    *is_open = *is_open || (view->state != MOVES_DONE && view->state != MOVES_CANCELLED);
}

void cli_moves_local_finish(struct cli_moves_local *local)
{
    bool is_open = false;
    struct buf *err = &local->run->terminal->err;
    moves_each_job(local->core, note_open, &is_open);
    if (!is_open) {
        if (env_unlink(local->run->session->files, local->journal_path) < 0) {
            buf_putf(err, "All has ended; the journal %s can be removed.\n", local->journal_path);
        }
        return;
    }
    buf_putf(err,
             "%" PRId32 " moves wait in the journal %s: submit the same plan again to go on.\n",
             moves_queued_count(local->core), local->journal_path);
}
