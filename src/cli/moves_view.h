/*
 * What moves and what waits, as rows to be shown: from what a klamm controller tells, or, where it has no
 * queue, from the sizes of logs. Pure.
 */
#pragma once

#include "base/buf.h"
#include "cli/disks.h"
#include "klamm/klamm.h"

enum cli_moves_state {
    CLI_MOVES_COPYING,
    CLI_MOVES_WAITING, /* it runs, and does not advance */
    CLI_MOVES_PAUSED,
    CLI_MOVES_QUEUED,
};

struct cli_moves_row {
    const char *topic; /* borrowed, as all names */
    int32_t partition;
    enum cli_moves_state state;
    bool is_running;         /* else it waits for its start */
    const char *job;         /* NULL or "" = none */
    struct klamm_ids target; /* owned */
    int64_t copied;          /* bytes; 0 when it has not begun */
    int64_t total;           /* bytes; -1 = unknown */
    int64_t rate;            /* bytes a second; -1 = unknown */
    int64_t eta_ms;          /* -1 = none */
    int8_t reason;           /* moves/reason.h */
    int16_t reason_code;
    int64_t since_ms;       /* since 1970; 0 = unknown */
    struct klamm_ids waits; /* the brokers that the reason is about; owned */
    int64_t
        write_rate; /* bytes a second that are written, where it does not converge; -1 = unknown */
    int64_t limit;  /* bytes a second that the limit lets pass, ditto */
    /* Of an arriving replica at least: neither a throttle nor a pause holds it. */
    bool ignores_limits;
};

struct cli_moves_view {
    struct cli_moves_row
        *rows; /* by topic (bytes), partition; one that runs before one that waits */
    int32_t count;
    int32_t running_count;
    int32_t queued_count;
    int32_t paused_count; /* of both */
};

/* Which rows are wanted; nothing given = all. */
struct cli_moves_filter {
    const struct klamm_partition_ref *refs; /* partition -1 = the whole topic */
    int32_t ref_count;
    const char *job; /* NULL = any */
};

struct cli_moves_view_input {
    const struct klamm_moves *moves;
    const struct klamm_cluster *cluster;
    const struct cli_disks *disks;        /* without a klamm controller; else NULL */
    const struct cli_moves_view *earlier; /* the same some time before, for rates; NULL = none */
    int64_t elapsed_ms;                   /* since then */
    struct cli_moves_filter filter;
};

void cli_moves_view_init(struct cli_moves_view *view, const struct cli_moves_view_input *input);
/* Completes the rows that do not converge with the numbers that brokers tell. */
void cli_moves_view_add_rates(struct cli_moves_view *view, const struct cli_disks *disks);
/* Whether a row does not converge. */
bool cli_moves_view_lacks_rates(const struct cli_moves_view *view);
void cli_moves_view_deinit(struct cli_moves_view *view);
bool cli_moves_filter_has(const struct cli_moves_filter *filter, const char *topic,
                          int32_t partition, const char *job);
/* 0..99 of a row that is not over; 0 when nothing is known. */
int32_t cli_moves_row_percent(const struct cli_moves_row *row);
/* "copying", "waiting", "paused", "queued" */
const char *cli_moves_state_name(enum cli_moves_state state);
/* Why it does not advance and since when: "waiting for broker 3, down since 2026-12-01 07:03:11 UTC"; ""
 * when it advances. */
void cli_moves_row_put_reason(const struct cli_moves_row *row, struct buf *out);
/* The same, and that limits do not hold, where they do not. */
void cli_moves_row_put_remarks(const struct cli_moves_row *row, struct buf *out);
#define CLI_MOVES_IGNORES_LIMITS "no throttle or pause holds"
