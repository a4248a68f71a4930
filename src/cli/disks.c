/*
 * The answers of several brokers as one sorted list of replicas.
 * Invariant: the logs' topic names live in the brokers' answers, which are kept.
 */
#include "cli/disks.h"

#include "base/alloc.h"
#include "base/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_disks_init(struct cli_disks *disks)
{
    *disks = (struct cli_disks){0};
}

void cli_disks_deinit(struct cli_disks *disks)
{
    for (int32_t i = 0; i < disks->broker_count; i++) {
        klamm_log_dirs_free(disks->brokers[i].dirs);
    }
    free(disks->brokers);
    free(disks->logs);
    cli_disks_init(disks);
}

static struct cli_disks_broker *add_broker(struct cli_disks *disks, int32_t broker_id)
{
    size_t count = (size_t)disks->broker_count + 1;
    disks->brokers = xrealloc(disks->brokers, count * sizeof *disks->brokers);
    struct cli_disks_broker *broker = &disks->brokers[disks->broker_count++];
    *broker = (struct cli_disks_broker){.id = broker_id, .total_bytes = -1, .usable_bytes = -1};
    return broker;
}

static void add_log(struct cli_disks *disks, int32_t broker_id, const struct klamm_log *log)
{
    if (disks->log_count == disks->log_cap) {
        disks->log_cap = MAX(disks->log_cap * 2, 64);
        disks->logs = xrealloc(disks->logs, (size_t)disks->log_cap * sizeof *disks->logs);
    }
    disks->logs[disks->log_count++] = (struct cli_disks_log){.topic = log->topic,
                                                             .partition = log->partition,
                                                             .broker_id = broker_id,
                                                             .size = MAX(log->size, 0),
                                                             .write_rate = log->write_rate,
                                                             .throttle_rate = log->throttle_rate};
}

/* Sums of what is known; unknown stays unknown. */
static int64_t add_bytes(int64_t sum, int64_t bytes)
{
    int64_t result = 0;
    bool is_large = __builtin_add_overflow(MAX(sum, 0), bytes, &result);
    return bytes < 0 ? sum : is_large ? INT64_MAX : result;
}

/* One before it is on the same disk, whose room must not count twice. */
static bool shares_disk(const struct klamm_log_dirs *dirs, int32_t index)
{
    int64_t disk = dirs->list[index].disk;
    for (int32_t i = 0; disk != 0 && i < index; i++) {
        if (dirs->list[i].code == 0 && dirs->list[i].disk == disk) {
            return true;
        }
    }
    return false;
}

void cli_disks_add(struct cli_disks *disks, int32_t broker_id, struct klamm_log_dirs *dirs)
{
    struct cli_disks_broker *broker = add_broker(disks, broker_id);
    broker->has_answered = true;
    broker->dirs = dirs;
    for (int32_t d = 0; d < dirs->count; d++) {
        const struct klamm_log_dir *dir = &dirs->list[d];
        broker->is_klamm |= dir->disk != 0;
        if (dir->code != 0) {
            broker->offline_count++;
            continue;
        }
        if (!shares_disk(dirs, d)) {
            broker->total_bytes = add_bytes(broker->total_bytes, dir->total_bytes);
            broker->usable_bytes = add_bytes(broker->usable_bytes, dir->usable_bytes);
        }
        for (int32_t i = 0; i < dir->log_count; i++) {
            if (!dir->logs[i].is_future) {
                add_log(disks, broker_id, &dir->logs[i]);
            }
        }
    }
}

void cli_disks_add_silent(struct cli_disks *disks, int32_t broker_id, const char *reason)
{
    struct cli_disks_broker *broker = add_broker(disks, broker_id);
    (void)snprintf(broker->reason, sizeof broker->reason, "%s", reason); /* cut if too long */
}

static int compare_logs(const void *a, const void *b)
{
    const struct cli_disks_log *x = a;
    const struct cli_disks_log *y = b;
    int order = strcmp(x->topic, y->topic);
    if (order != 0) {
        return order;
    }
    if (x->partition != y->partition) {
        return x->partition < y->partition ? -1 : 1;
    }
    return x->broker_id < y->broker_id ? -1 : x->broker_id > y->broker_id;
}

void cli_disks_finish(struct cli_disks *disks)
{
    if (disks->log_count > 1) {
        qsort(disks->logs, (size_t)disks->log_count, sizeof *disks->logs, compare_logs);
    }
}

int64_t cli_disks_size(const struct cli_disks *disks, const struct klamm_partition_ref *ref,
                       int32_t broker_id)
{
    struct cli_disks_log key = {
        .topic = ref->topic, .partition = ref->partition, .broker_id = broker_id};
    const struct cli_disks_log *log = disks->log_count == 0
                                          ? NULL
                                          : bsearch(&key, disks->logs, (size_t)disks->log_count,
                                                    sizeof *disks->logs, compare_logs);
    return log == NULL ? -1 : log->size;
}

/* The first replica of the partition; those of the others follow. NULL = there is none. */
static const struct cli_disks_log *first_log(const struct cli_disks *disks,
                                             const struct klamm_partition_ref *ref)
{
    int32_t low = 0;
    int32_t high = disks->log_count;
    struct cli_disks_log key = {.topic = ref->topic, .partition = ref->partition, .broker_id = -1};
    while (low < high) {
        int32_t mid = low + (high - low) / 2;
        if (compare_logs(&disks->logs[mid], &key) < 0) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < disks->log_count ? &disks->logs[low] : NULL;
}

static bool is_of(const struct cli_disks *disks, const struct cli_disks_log *log,
                  const struct klamm_partition_ref *ref)
{
    return log != NULL && log < disks->logs + disks->log_count &&
           log->partition == ref->partition && strcmp(log->topic, ref->topic) == 0;
}

int64_t cli_disks_write_rate(const struct cli_disks *disks, const struct klamm_partition_ref *ref)
{
    int64_t rate = -1;
    for (const struct cli_disks_log *log = first_log(disks, ref); is_of(disks, log, ref); log++) {
        rate = MAX(rate, log->write_rate);
    }
    return rate;
}

int64_t cli_disks_throttle_rate(const struct cli_disks *disks,
                                const struct klamm_partition_ref *ref)
{
    int64_t rate = -1;
    for (const struct cli_disks_log *log = first_log(disks, ref); is_of(disks, log, ref); log++) {
        if (log->throttle_rate >= 0) {
            rate = rate < 0 ? log->throttle_rate : MIN(rate, log->throttle_rate);
        }
    }
    return rate;
}

const struct cli_disks_broker *cli_disks_find(const struct cli_disks *disks, int32_t broker_id)
{
    for (int32_t i = 0; i < disks->broker_count; i++) {
        if (disks->brokers[i].id == broker_id) {
            return &disks->brokers[i];
        }
    }
    return NULL;
}

int cli_disks_read(struct klamm_client *client, const struct klamm_cluster *cluster,
                   const struct klamm_partition_refs *refs, struct cli_disks *disks,
                   struct klamm_error *err)
{
    cli_disks_init(disks);
    for (int32_t i = 0; i < cluster->broker_count; i++) {
        int32_t id = cluster->brokers[i].id;
        struct klamm_log_dirs *dirs = NULL;
        int code = klamm_describe_log_dirs(client, id, refs, &dirs, err);
        if (code == KLAMM_ERR_INTERRUPTED) {
            return code;
        }
        if (code == 0) {
            cli_disks_add(disks, id, dirs);
        } else {
            cli_disks_add_silent(disks, id, err->message);
        }
    }
    cli_disks_finish(disks);
    return 0;
}
