/*
 * See metrics_moves.h. A gauge that is not known has no series: no number would be right.
 */
#include "broker/metrics_moves.h"

#include "base/check.h"
#include "metric/metric.h"
#include "metric/text.h"
#include "moves/reason.h"

#include <stdio.h>

#define LABELS_SIZE (MODEL_TOPIC_NAME_MAX + 128)

typedef struct controller_move_figures figures_of_move;

/* Nothing in a topic's name, and in the text of a reason, needs escapes. */
static void labels_put(char text[static LABELS_SIZE], const figures_of_move *m)
{
    (void)snprintf(text, LABELS_SIZE, "topic=\"%s\",partition=\"%d\"", m->topic, m->partition);
}

static int64_t age_of(const figures_of_move *m)
{
    return m->age_ms;
}

static int64_t to_copy_of(const figures_of_move *m)
{
    return m->to_copy;
}

static int64_t copied_of(const figures_of_move *m)
{
    return m->copied;
}

static int64_t rate_of(const figures_of_move *m)
{
    return m->rate;
}

static int64_t eta_of(const figures_of_move *m)
{
    return m->eta_ms;
}

static const struct {
    const char *name;
    int64_t (*get)(const figures_of_move *m); /* -1 = not known */
    bool is_time;                             /* ms, told as seconds */
    const char *help;
} rows[] = {
    {"klamm_move_age_seconds", age_of, true, "How long ago a move began."},
    {"klamm_move_bytes_to_copy", to_copy_of, false,
     "What a move has to copy, over all arriving replicas."},
    {"klamm_move_bytes_copied", copied_of, false, "What of it is copied."},
    {"klamm_move_rate_bytes_per_second", rate_of, false, "Rate of the last ten seconds."},
    {"klamm_move_eta_seconds", eta_of, true,
     "Time left; no series while there is none to be told."},
};

static void write_rows(const struct controller_figures *f, struct buf *out)
{
    char labels[LABELS_SIZE];
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        metric_text_family(out, METRIC_GAUGE, rows[i].name, rows[i].help);
        for (int32_t k = 0; k < f->move_count; k++) {
            int64_t value = rows[i].get(&f->moves[k]);
            labels_put(labels, &f->moves[k]);
            if (value >= 0 && rows[i].is_time) {
                metric_text_thousandths(out, rows[i].name, labels, value);
            } else if (value >= 0) {
                metric_text_value(out, rows[i].name, labels, value);
            }
        }
    }
}

static void write_lags(const struct controller_figures *f, struct buf *out)
{
    static const char name[] = "klamm_move_lag_bytes";
    char labels[LABELS_SIZE];
    metric_text_family(out, METRIC_GAUGE, name,
                       "How far an arriving replica is behind its leader.");
    for (int32_t k = 0; k < f->move_count; k++) {
        const figures_of_move *m = &f->moves[k];
        for (int32_t i = 0; i < m->replica_count; i++) {
            (void)snprintf(labels, sizeof labels, "topic=\"%s\",partition=\"%d\",broker=\"%d\"",
                           m->topic, m->partition, m->replicas[i].broker);
            if (m->replicas[i].lag_bytes >= 0) {
                metric_text_value(out, name, labels, m->replicas[i].lag_bytes);
            }
        }
    }
}

static void write_reasons(const struct controller_figures *f, struct buf *out)
{
    static const char of_one[] = "klamm_move_reason_seconds";
    static const char of_all[] = "klamm_moves_by_reason";
    char labels[LABELS_SIZE];
    metric_text_family(out, METRIC_GAUGE, of_one,
                       "Since when the reason holds for which a move does not advance.");
    for (int32_t k = 0; k < f->move_count; k++) {
        const figures_of_move *m = &f->moves[k];
        (void)snprintf(labels, sizeof labels, "topic=\"%s\",partition=\"%d\",reason=\"%s\"",
                       m->topic, m->partition, moves_reason_text((int32_t)m->reason));
        metric_text_thousandths(out, of_one, labels, m->reason_age_ms);
    }
    metric_text_family(out, METRIC_GAUGE, of_all,
                       "Moves that run or wait in the queue, by why they do not advance.");
    for (int32_t i = 0; i < MOVES_REASON_COUNT; i++) {
        (void)snprintf(labels, sizeof labels, "reason=\"%s\"", moves_reason_text(i));
        metric_text_value(out, of_all, labels, (int64_t)f->by_reason[i] + f->queued_by_reason[i]);
    }
}

void broker_metrics_moves_write(const struct controller_figures *figures, struct buf *out)
{
    write_rows(figures, out);
    write_lags(figures, out);
    write_reasons(figures, out);
}
