/*
 * The list of reasons and the choice among them. Invariant: both tables and the order of weight have
 * an entry for every reason.
 */
#include "moves/reason.h"

#include "base/check.h"

#include <stddef.h>

static const char *const texts[] = {
    [MOVES_REASON_NONE] = "advancing",
    [MOVES_REASON_SLOT] = "waiting for a slot",
    [MOVES_REASON_TARGET_DOWN] = "target down",
    [MOVES_REASON_DISK_FULL] = "target disk full",
    [MOVES_REASON_DIR_OFFLINE] = "target log dir offline",
    [MOVES_REASON_NO_LEADER] = "leader unknown",
    [MOVES_REASON_FETCH_ERROR] = "fetch error",
    [MOVES_REASON_THROTTLED] = "throttled below the write rate",
    [MOVES_REASON_MIN_ISR] = "below min ISR",
    [MOVES_REASON_OLD_REPLICAS] = "waiting for old replicas to stop",
    [MOVES_REASON_PAUSED] = "paused",
    [MOVES_REASON_STAYING] = "waiting for a replica that stays",
};

static const char *const helps[] = {
    [MOVES_REASON_NONE] = "",
    [MOVES_REASON_SLOT] =
        "Wait, let more run: `klamm moves limits --in-per-broker N`, or let it go "
        "first: `klamm moves set --job NAME --priority repair`.",
    [MOVES_REASON_TARGET_DOWN] = "Start the broker: the copy goes on where it was. Or give up: "
                                 "`klamm moves cancel --broker ID`.",
    [MOVES_REASON_DISK_FULL] = "Make room on the target and restart its broker. Or choose another: "
                               "`klamm moves cancel --broker ID`.",
    [MOVES_REASON_DIR_OFFLINE] = "Repair the directory and restart its broker. Or choose another: "
                                 "`klamm moves cancel --broker ID`.",
    [MOVES_REASON_NO_LEADER] =
        "Start a broker of the in-sync set: `klamm topics describe NAME` names it.",
    [MOVES_REASON_FETCH_ERROR] = "The log of the target's broker tells more. If it stays: "
                                 "`klamm moves cancel --partition NAME-N`.",
    [MOVES_REASON_THROTTLED] =
        "Raise the rate: `klamm moves set --job NAME --throttle RATE`; one that Kafka's tool set: "
        "`klamm reassign --execute --additional --throttle RATE`.",
    [MOVES_REASON_MIN_ISR] = "Bring the replicas that stay back in sync: "
                             "`klamm topics describe NAME` names who is.",
    [MOVES_REASON_OLD_REPLICAS] =
        "Wait: it ends when the new leader answers. Should that one have to "
        "be restarted: `klamm topics describe NAME` names it.",
    [MOVES_REASON_PAUSED] = "`klamm moves resume` lets it go on where it was.",
    [MOVES_REASON_STAYING] =
        "Wait until it has caught up: `klamm topics describe NAME` names who is in "
        "sync. If it stays: the log of its broker tells more.",
};

/* Higher = to be looked at first. */
static const int8_t weights[] = {
    [MOVES_REASON_NONE] = 0,         [MOVES_REASON_SLOT] = 1,        [MOVES_REASON_MIN_ISR] = 2,
    [MOVES_REASON_THROTTLED] = 3,    [MOVES_REASON_FETCH_ERROR] = 4, [MOVES_REASON_NO_LEADER] = 5,
    [MOVES_REASON_DIR_OFFLINE] = 6,  [MOVES_REASON_DISK_FULL] = 7,   [MOVES_REASON_TARGET_DOWN] = 8,
    [MOVES_REASON_OLD_REPLICAS] = 9, [MOVES_REASON_PAUSED] = 10,     [MOVES_REASON_STAYING] = 1,
};

_Static_assert(ARRAY_LEN(texts) == MOVES_REASON_COUNT, "a text for each reason");
_Static_assert(ARRAY_LEN(helps) == MOVES_REASON_COUNT, "a help for each reason");
_Static_assert(ARRAY_LEN(weights) == MOVES_REASON_COUNT, "a weight for each reason");

const char *moves_reason_text(int32_t reason)
{
    return reason >= 0 && reason < MOVES_REASON_COUNT ? texts[reason] : "unknown reason";
}

const char *moves_reason_help(int32_t reason)
{
    return reason >= 0 && reason < MOVES_REASON_COUNT ? helps[reason] : "";
}

void moves_wait_note(struct moves_wait *wait, struct moves_wait now, int64_t now_ms)
{
    if (now.since_ms == 0) {
        bool is_same =
            wait->since_ms != 0 && wait->reason == now.reason && wait->error == now.error;
        now.since_ms = is_same ? wait->since_ms : now_ms;
    }
    *wait = now;
}

struct moves_wait moves_wait_worse(struct moves_wait a, struct moves_wait b)
{
    if (weights[a.reason] != weights[b.reason]) {
        return weights[a.reason] > weights[b.reason] ? a : b;
    }
    return a.since_ms <= b.since_ms ? a : b;
}

/* The limit lets no more pass than is written: the copy never ends. */
static bool is_below_writes(const struct moves_reason_facts *f)
{
    int64_t passes = f->throttle_rate > 0 ? f->throttle_rate : f->copy_rate;
    return f->is_throttled && f->write_rate > 0 && passes >= 0 && f->write_rate >= passes;
}

struct moves_wait moves_reason_of(const struct moves_reason_facts *f)
{
    if (f->is_in_sync) {
        return (struct moves_wait){MOVES_REASON_NONE, 0, 0};
    }
    if (f->is_paused) {
        return (struct moves_wait){MOVES_REASON_PAUSED, 0, 0};
    }
    if (!f->is_alive) {
        return (struct moves_wait){MOVES_REASON_TARGET_DOWN, 0, f->down_since_ms};
    }
    if (f->is_disk_full) {
        return (struct moves_wait){MOVES_REASON_DISK_FULL, 0, 0};
    }
    if (f->is_dir_offline) {
        return (struct moves_wait){MOVES_REASON_DIR_OFFLINE, 0, 0};
    }
    if (!f->has_leader) {
        return (struct moves_wait){MOVES_REASON_NO_LEADER, 0, 0};
    }
    if (f->fetch_error != 0) {
        return (struct moves_wait){MOVES_REASON_FETCH_ERROR, f->fetch_error, 0};
    }
    if (is_below_writes(f)) {
        return (struct moves_wait){MOVES_REASON_THROTTLED, 0, 0};
    }
    return (struct moves_wait){MOVES_REASON_NONE, 0, 0};
}
