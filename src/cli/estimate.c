/*
 * One pass over the plan. A new replica costs what its source has and it has not yet; the leader is said
 * to send it. Sums saturate: sizes come from outside.
 */
#include "cli/estimate.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/moves.h"
#include "cli/table.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>

#define WARNINGS_MAX 50

/* ---- small parts ---- */

struct klamm_ids cli_estimate_origin(struct klamm_ids members, struct klamm_ids arriving)
{
    int32_t *list = xalloc((size_t)MAX(members.count, 1) * sizeof *list);
    int32_t count = 0;
    for (int32_t i = 0; i < members.count; i++) {
        if (!cli_text_ids_has(arriving, members.list[i])) {
            list[count++] = members.list[i];
        }
    }
    return (struct klamm_ids){list, count};
}

static void ids_free(struct klamm_ids ids)
{
    free((void *)(uintptr_t)ids.list);
}

static int64_t sum(int64_t a, int64_t b)
{
    int64_t result = 0;
    return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}

static void warn(struct cli_estimate *e, struct buf *text)
{
    if (e->warning_count < WARNINGS_MAX) {
        size_t count = (size_t)e->warning_count + 1;
        e->warnings = xrealloc(e->warnings, count * sizeof *e->warnings);
        e->warnings[e->warning_count] = slice_dup(buf_slice(text));
    } else if (e->warning_count == WARNINGS_MAX) {
        free(e->warnings[WARNINGS_MAX - 1]);
        e->warnings[WARNINGS_MAX - 1] = xstrdup("there are further warnings");
    }
    e->warning_count = MIN(e->warning_count + 1, WARNINGS_MAX);
    buf_deinit(text);
}

static bool is_up(const struct klamm_cluster *cluster, int32_t id)
{
    for (int32_t i = 0; i < cluster->broker_count; i++) {
        if (cluster->brokers[i].id == id) {
            return true;
        }
    }
    return false;
}

static struct cli_estimate_broker *broker_of(struct cli_estimate *e, int32_t id,
                                             const struct cli_estimate_input *in)
{
    for (int32_t i = 0; i < e->broker_count; i++) {
        if (e->brokers[i].id == id) {
            return &e->brokers[i];
        }
    }
    size_t count = (size_t)e->broker_count + 1;
    e->brokers = xrealloc(e->brokers, count * sizeof *e->brokers);
    const struct cli_disks_broker *disk = cli_disks_find(in->disks, id);
    struct cli_estimate_broker *broker = &e->brokers[e->broker_count++];
    *broker = (struct cli_estimate_broker){.id = id,
                                           .is_up = is_up(in->cluster, id),
                                           .usable_bytes = disk == NULL ? -1 : disk->usable_bytes};
    return broker;
}

/* ---- one partition ---- */

/* A partition of the plan as it is and as it will be. */
struct change {
    struct klamm_partition_ref ref;
    const struct klamm_partition *now;
    struct klamm_ids origin; /* without what a running move brings; owned */
    struct klamm_ids wanted;
    int64_t source_size;
};

static int64_t size_on(const struct cli_estimate_input *in, const struct change *c, int32_t id)
{
    return MAX(cli_disks_size(in->disks, &c->ref, id), 0);
}

static int64_t source_size(const struct cli_estimate_input *in, const struct change *c)
{
    int64_t size = 0;
    for (int32_t i = 0; i < c->origin.count; i++) {
        size = MAX(size, size_on(in, c, c->origin.list[i]));
    }
    return size;
}

/* Bytes a second that producers write; -1 = unknown. */
static int64_t write_rate(const struct cli_estimate_input *in, const struct change *c)
{
    int64_t told = cli_disks_write_rate(in->disks, &c->ref);
    if (told >= 0) {
        return told;
    }
    if (in->earlier == NULL || in->elapsed_ms <= 0 || c->now->leader_id < 0) {
        return -1;
    }
    int64_t before = cli_disks_size(in->earlier, &c->ref, c->now->leader_id);
    int64_t after = cli_disks_size(in->disks, &c->ref, c->now->leader_id);
    bool is_known = before >= 0 && after >= before && after - before < INT64_MAX / 1000;
    return is_known ? (after - before) * 1000 / in->elapsed_ms : -1;
}

bool cli_estimate_put_slow(struct buf *text, const struct klamm_partition_ref *ref, int64_t written,
                           int64_t copies, int64_t rate)
{
    if (rate < 0 || copies == 0 || written <= 0 || written <= rate / copies) {
        return false;
    }
    buf_putf(text, "%s-%" PRId32 " will not converge: incoming ", ref->topic, ref->partition);
    cli_text_put_bytes(text, written);
    buf_put_str(text, "/s");
    if (copies > 1) {
        buf_putf(text, " for each of %" PRId64 " new replicas", copies);
    }
    buf_put_str(text, " over limit ");
    cli_text_put_bytes(text, rate);
    buf_put_str(text, "/s; the rate can be raised while it moves");
    return true;
}

static void warn_of_rate(struct cli_estimate *e, const struct cli_estimate_input *in,
                         const struct change *c, int32_t copies)
{
    struct buf text;
    buf_init(&text);
    if (cli_estimate_put_slow(&text, &c->ref, write_rate(in, c), in->is_one_at_a_time ? 1 : copies,
                              in->rate)) {
        warn(e, &text);
    } else {
        buf_deinit(&text);
    }
}

/* It has answered, and is of another software. */
static bool is_foreign(const struct cli_estimate_input *in, int32_t id)
{
    const struct cli_disks_broker *disk = cli_disks_find(in->disks, id);
    return disk != NULL && disk->has_answered && !disk->is_klamm;
}

/* Limits hold where one end of a copy is a klamm broker. */
static void warn_of_ignored_limits(struct cli_estimate *e, const struct cli_estimate_input *in,
                                   const struct change *c)
{
    struct buf text;
    const char *separator = "";
    int32_t leader = c->now->leader_id;
    if (!in->has_limits || leader < 0 || !is_foreign(in, leader)) {
        return;
    }
    buf_init(&text);
    buf_putf(&text, "%s-%" PRId32 ": no throttle or pause holds for its copy to broker ",
             c->ref.topic, c->ref.partition);
    for (int32_t i = 0; i < c->wanted.count; i++) {
        int32_t id = c->wanted.list[i];
        if (!cli_text_ids_has(c->origin, id) && is_foreign(in, id)) {
            buf_putf(&text, "%s%" PRId32, separator, id);
            separator = ",";
        }
    }
    buf_putf(&text, ": like its leader, broker %" PRId32 ", that is an Apache Kafka broker",
             leader);
    if (separator[0] == '\0') {
        buf_deinit(&text);
    } else {
        warn(e, &text);
    }
}

static void add_leader(struct cli_estimate *e, const struct cli_estimate_input *in,
                       const struct change *c)
{
    int32_t leader = c->now->leader_id;
    e->preferred_change_count += c->origin.count > 0 && c->origin.list[0] != c->wanted.list[0];
    if (leader < 0) {
        struct buf text;
        buf_init(&text);
        buf_putf(&text, "%s-%" PRId32 " has no leader: its move waits until it has one",
                 c->ref.topic, c->ref.partition);
        warn(e, &text);
    } else if (!cli_text_ids_has(c->wanted, leader)) {
        e->leader_change_count++;
        broker_of(e, leader, in)->leaders_out++;
        broker_of(e, c->wanted.list[0], in)->leaders_in++;
    }
}

static void add_copies(struct cli_estimate *e, const struct cli_estimate_input *in,
                       const struct change *c)
{
    int32_t copies = 0;
    for (int32_t i = 0; i < c->wanted.count; i++) {
        int32_t id = c->wanted.list[i];
        if (cli_text_ids_has(c->origin, id)) {
            continue;
        }
        /* What an earlier attempt has brought over is not copied again. */
        int64_t bytes = MAX(c->source_size - size_on(in, c, id), 0);
        struct cli_estimate_broker *target = broker_of(e, id, in);
        target->replicas_in++;
        target->bytes_in = sum(target->bytes_in, bytes);
        e->bytes_to_copy = sum(e->bytes_to_copy, bytes);
        copies++;
        if (c->now->leader_id >= 0) {
            struct cli_estimate_broker *source = broker_of(e, c->now->leader_id, in);
            source->bytes_out = sum(source->bytes_out, bytes);
        }
    }
    e->copy_count += copies;
    warn_of_rate(e, in, c, copies);
    warn_of_ignored_limits(e, in, c);
}

static void add_removals(struct cli_estimate *e, const struct cli_estimate_input *in,
                         const struct change *c)
{
    for (int32_t i = 0; i < c->now->replicas.count; i++) {
        int32_t id = c->now->replicas.list[i];
        if (!cli_text_ids_has(c->wanted, id)) {
            struct cli_estimate_broker *broker = broker_of(e, id, in);
            broker->replicas_out++;
            broker->bytes_freed = sum(broker->bytes_freed, size_on(in, c, id));
        }
    }
}

/* The running move leads there already. */
static bool is_target(const struct klamm_reassignment *move, struct klamm_ids wanted)
{
    struct klamm_ids target = cli_moves_target(move);
    bool is_same = cli_text_ids_equal(target, wanted);
    ids_free(target);
    return is_same;
}

static void add_entry(struct cli_estimate *e, const struct cli_estimate_input *in,
                      const struct cli_plan_entry *entry)
{
    struct change c = {.ref = {entry->topic, entry->partition}, .wanted = entry->replicas};
    const struct klamm_reassignment *move =
        cli_moves_find(in->running, entry->topic, entry->partition);
    c.now = cli_topics_find_partition(in->topics, entry->topic, entry->partition);
    CHECK(c.now != NULL); /* the plan was checked against these topics */
    e->moving_count += move != NULL;
    if (move == NULL ? cli_text_ids_equal(c.now->replicas, c.wanted) : is_target(move, c.wanted)) {
        return;
    }
    struct klamm_ids none = {NULL, 0};
    c.origin = move == NULL ? cli_estimate_origin(c.now->replicas, none)
                            : cli_estimate_origin(move->replicas, move->adding);
    c.source_size = source_size(in, &c);
    e->change_count++;
    e->reorder_count += cli_text_ids_same_set(c.origin, c.wanted);
    e->factor_change_count += c.origin.count != c.wanted.count;
    add_leader(e, in, &c);
    add_copies(e, in, &c);
    add_removals(e, in, &c);
    ids_free(c.origin);
}

/* ---- the whole ---- */

static int compare_brokers(const void *a, const void *b)
{
    const struct cli_estimate_broker *x = a;
    const struct cli_estimate_broker *y = b;
    return x->id < y->id ? -1 : x->id > y->id;
}

static void warn_of_broker(struct cli_estimate *e, const struct cli_estimate_input *in,
                           const struct cli_estimate_broker *broker)
{
    const struct cli_disks_broker *disk = cli_disks_find(in->disks, broker->id);
    struct buf text;
    buf_init(&text);
    if (!broker->is_up && broker->replicas_in > 0) {
        buf_putf(&text, "broker %" PRId32 " is down: what goes to it waits until it is back",
                 broker->id);
        warn(e, &text);
    } else if (broker->usable_bytes >= 0 && broker->bytes_in > broker->usable_bytes) {
        buf_putf(&text, "broker %" PRId32 " has not enough room: ", broker->id);
        cli_text_put_bytes(&text, broker->bytes_in);
        buf_put_str(&text, " come, ");
        cli_text_put_bytes(&text, broker->usable_bytes);
        buf_put_str(&text, " are free");
        warn(e, &text);
    } else if (disk != NULL && !disk->has_answered) {
        buf_putf(&text, "broker %" PRId32 " does not tell its sizes: %s", broker->id, disk->reason);
        warn(e, &text);
    } else if (disk != NULL && disk->offline_count > 0 && broker->replicas_in > 0) {
        buf_putf(&text, "broker %" PRId32 " has %" PRId32 " log director%s offline", broker->id,
                 disk->offline_count, disk->offline_count == 1 ? "y" : "ies");
        warn(e, &text);
    } else {
        buf_deinit(&text);
    }
}

bool cli_estimate_put_low(struct buf *text, int64_t rate)
{
    bool is_low = rate >= 0 && rate < CLI_ESTIMATE_RATE_LOW;
    if (is_low) {
        buf_putf(text, "the rate is only %" PRId64 " bytes a second; 50MB means 50000000", rate);
    }
    return is_low;
}

static void warn_of_low_rate(struct cli_estimate *e, int64_t rate)
{
    struct buf text;
    buf_init(&text);
    if (cli_estimate_put_low(&text, rate)) {
        warn(e, &text);
    } else {
        buf_deinit(&text);
    }
}

struct cli_estimate *cli_estimate_new(const struct cli_estimate_input *input)
{
    struct cli_estimate *e = xalloc(sizeof *e);
    e->entry_count = input->plan->count;
    e->seconds = -1;
    warn_of_low_rate(e, input->rate);
    for (int32_t i = 0; i < input->plan->count; i++) {
        add_entry(e, input, &input->plan->entries[i]);
    }
    if (e->broker_count > 1) {
        qsort(e->brokers, (size_t)e->broker_count, sizeof *e->brokers, compare_brokers);
    }
    int64_t most = 0;
    for (int32_t i = 0; i < e->broker_count; i++) {
        warn_of_broker(e, input, &e->brokers[i]);
        most = MAX(most, MAX(e->brokers[i].bytes_in, e->brokers[i].bytes_out));
    }
    if (input->rate > 0) {
        e->seconds = most / input->rate + (most % input->rate != 0);
    }
    return e;
}

void cli_estimate_free(struct cli_estimate *estimate)
{
    if (estimate != NULL) {
        for (int32_t i = 0; i < estimate->warning_count; i++) {
            free(estimate->warnings[i]);
        }
        free(estimate->warnings);
        free(estimate->brokers);
        free(estimate);
    }
}

/* ---- showing ---- */

static void put_bytes_cell(struct cli_table *table, enum cli_style style, int64_t bytes)
{
    struct buf text;
    buf_init(&text);
    cli_text_put_bytes(&text, bytes);
    cli_table_put(table, style, "%.*s", SLICE_ARG(buf_slice(&text)));
    buf_deinit(&text);
}

static void print_brokers(const struct cli_estimate *e, struct cli_terminal *terminal)
{
    static const char *const titles[] = {"BROKER",  "IN",       "OUT",      "REPLICAS",
                                         "LEADERS", "FREE NOW", "FREE THEN"};
    struct cli_table table;
    cli_table_init(&table, titles, ARRAY_LEN(titles), 0x7f);
    for (int32_t i = 0; i < e->broker_count; i++) {
        const struct cli_estimate_broker *b = &e->brokers[i];
        cli_table_put(&table, b->is_up ? CLI_STYLE_PLAIN : CLI_STYLE_BAD, "%" PRId32, b->id);
        put_bytes_cell(&table, CLI_STYLE_PLAIN, b->bytes_in);
        put_bytes_cell(&table, CLI_STYLE_PLAIN, b->bytes_out);
        cli_table_put(&table, CLI_STYLE_PLAIN, "+%" PRId32 " -%" PRId32, b->replicas_in,
                      b->replicas_out);
        cli_table_put(&table, CLI_STYLE_PLAIN, "+%" PRId32 " -%" PRId32, b->leaders_in,
                      b->leaders_out);
        if (b->usable_bytes < 0) {
            cli_table_put(&table, CLI_STYLE_PLAIN, "?");
            cli_table_put(&table, CLI_STYLE_PLAIN, "?");
            continue;
        }
        bool is_tight = b->bytes_in > b->usable_bytes;
        put_bytes_cell(&table, CLI_STYLE_PLAIN, b->usable_bytes);
        put_bytes_cell(&table, is_tight ? CLI_STYLE_BAD : CLI_STYLE_PLAIN,
                       MAX(sum(b->usable_bytes, b->bytes_freed) - b->bytes_in, 0));
    }
    cli_table_print(&table, terminal);
    cli_table_deinit(&table);
}

static void print_time(const struct cli_estimate *e, int64_t rate, struct buf *out)
{
    if (e->seconds < 0) {
        buf_put_str(out,
                    "Time: not limited; --throttle bounds what each broker sends and receives\n");
        return;
    }
    buf_put_str(out, "Time: at least ");
    cli_text_put_duration(out, e->seconds);
    buf_put_str(out, " at ");
    cli_text_put_bytes(out, rate);
    buf_put_str(out, "/s for each broker and direction\n");
}

void cli_estimate_print(const struct cli_estimate *e, int64_t rate, struct cli_terminal *terminal)
{
    struct buf *out = &terminal->out;
    buf_putf(out, "Plan: %" PRId32 " partition%s, %" PRId32 " to change", e->entry_count,
             e->entry_count == 1 ? "" : "s", e->change_count);
    if (e->moving_count > 0) {
        buf_putf(out, ", %" PRId32 " moving now", e->moving_count);
    }
    buf_put_str(out, "\n\n");
    print_brokers(e, terminal);
    buf_put_str(out, "\nTo copy: ");
    cli_text_put_bytes(out, e->bytes_to_copy);
    buf_putf(out, " to %" PRId32 " new replica%s\n", e->copy_count, e->copy_count == 1 ? "" : "s");
    buf_putf(out, "Leader changes: %" PRId32 "; another preferred leader: %" PRId32 "\n",
             e->leader_change_count, e->preferred_change_count);
    buf_putf(out, "Factor changes: %" PRId32 "\n", e->factor_change_count);
    if (e->reorder_count > 0) {
        buf_putf(out,
                 "Only the order changes: %" PRId32
                 "; nothing is copied, and leaders stay until an "
                 "election (klamm leader-election)\n",
                 e->reorder_count);
    }
    print_time(e, rate, out);
    for (int32_t i = 0; i < e->warning_count; i++) {
        buf_putf(&terminal->err, "warning: %s\n", e->warnings[i]);
    }
}

static void put_json_broker(const struct cli_estimate_broker *b, struct buf *out)
{
    buf_putf(out,
             "{\"id\":%" PRId32 ",\"is_up\":%s,\"bytes_in\":%" PRId64 ",\"bytes_out\":%" PRId64
             ",\"bytes_freed\":%" PRId64 ",\"replicas_in\":%" PRId32 ",\"replicas_out\":%" PRId32
             ",\"leaders_in\":%" PRId32 ",\"leaders_out\":%" PRId32 ",\"usable_bytes\":%" PRId64
             "}",
             b->id, b->is_up ? "true" : "false", b->bytes_in, b->bytes_out, b->bytes_freed,
             b->replicas_in, b->replicas_out, b->leaders_in, b->leaders_out, b->usable_bytes);
}

void cli_estimate_put_json(const struct cli_estimate *e, struct buf *out)
{
    buf_putf(out,
             "{\"partitions\":%" PRId32 ",\"changes\":%" PRId32 ",\"reorders\":%" PRId32
             ",\"moving\":%" PRId32 ",\"new_replicas\":%" PRId32 ",\"bytes_to_copy\":%" PRId64
             ",\"leader_changes\":%" PRId32 ",\"preferred_leader_changes\":%" PRId32
             ",\"factor_changes\":%" PRId32 ",\"seconds\":%" PRId64 ",\"brokers\":[",
             e->entry_count, e->change_count, e->reorder_count, e->moving_count, e->copy_count,
             e->bytes_to_copy, e->leader_change_count, e->preferred_change_count,
             e->factor_change_count, e->seconds);
    for (int32_t i = 0; i < e->broker_count; i++) {
        buf_put_str(out, i == 0 ? "" : ",");
        put_json_broker(&e->brokers[i], out);
    }
    buf_put_str(out, "],\"warnings\":[");
    for (int32_t i = 0; i < e->warning_count; i++) {
        buf_put_str(out, i == 0 ? "" : ",");
        cli_text_put_json(out, e->warnings[i]);
    }
    buf_put_str(out, "]}");
}
