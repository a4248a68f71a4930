/*
 * Whether a stored state can be true beside the list of replicas in the topic znode. Where a controller
 * died between the two (Kafka's or ours, docs/spec/reassignment.md 6.11), the leader and members of the
 * ISR may be outside the list: it stored a cancel or an override (U1), and did not get to drop them. The
 * list is then newer than the state, or the state says so itself (has_outsiders). A state edited by hand,
 * or from an old backup, may name anybody, and whoever follows its leader loses what that one lacks.
 * Rules: a leader is in its ISR; one outside the list is believed only as above; members outside the list
 * are dropped, and may lead meanwhile only as above.
 */
#include "control/core.h"

#include "base/buf.h"

#include <stdlib.h>

void control_members_outside(const struct core_partition *p, struct ids *ret)
{
    ids_minus(ret, &p->state.isr, &p->stored.replicas);
    if (p->has_state && p->state.leader >= 0 && !ids_has(&p->stored.replicas, p->state.leader) &&
        !ids_has(ret, p->state.leader)) {
        ids_add(ret, p->state.leader);
    }
}

/* In the list, or on its way in or out. */
static bool is_known(const struct core_partition *p, int32_t id)
{
    const struct core_move *m = p->move;
    return ids_has(&p->stored.replicas, id) ||
           (m != NULL && ((ids_has(&m->dropped, id) && !m->is_sparing) ||
                          (m->has_next && ids_has(&m->next.replicas, id))));
}

static int32_t known_count(const struct core_partition *p, const struct ids *list)
{
    int32_t count = 0;
    for (int32_t i = 0; i < list->count; i++) {
        count += is_known(p, list->list[i]) ? 1 : 0;
    }
    return count;
}

static void ids_put(struct buf *b, const struct ids *ids)
{
    buf_put_str(b, "[");
    for (int32_t i = 0; i < ids->count; i++) {
        buf_putf(b, i > 0 ? ",%d" : "%d", ids->list[i]);
    }
    buf_put_str(b, "]");
}

/* What is wrong with it, behind its path. Heap. */
static char *wrong_text(const struct core_partition *p, const struct model_partition_state *state)
{
    struct buf text;
    buf_init(&text);
    buf_putf(&text, "names leader %d and the in-sync set ", state->leader);
    ids_put(&text, &state->isr);
    buf_putf(&text, " under epoch %d, but the replicas are ", state->leader_epoch);
    ids_put(&text, &p->stored.replicas);
    char *copy = slice_dup(buf_slice(&text));
    buf_deinit(&text);
    return copy;
}

static bool can_be_true(const struct core_partition *p, const struct model_partition_state *state,
                        bool is_vouched)
{
    return state->leader < 0 ||
           (ids_has(&state->isr, state->leader) && (is_vouched || is_known(p, state->leader)));
}

static void refuse(struct control *c, struct core_partition *p,
                   const struct model_partition_state *state)
{
    char *why = wrong_text(p, state);
    p->refused_version = state->version;
    control_partition_lose_for_now(c, p, why);
    free(why);
}

static void tell_none_known(struct control *c, const struct core_partition *p)
{
    char *why = wrong_text(p, &p->state);
    char *text = xasprintf("%s-%d has no replica in sync: its state "
                           "/brokers/topics/%s/partitions/%d/state %s",
                           p->topic->name, p->index, p->topic->name, p->index, why);
    control_log_add(c, CONTROL_WARNING, text);
    free(text);
    free(why);
}

bool control_members_take(struct control *c, struct core_partition *p,
                          const struct model_partition_state *state, bool is_list_newer)
{
    bool is_vouched = is_list_newer || state->has_outsiders;
    if (!can_be_true(p, state, is_vouched)) {
        refuse(c, p, state);
        return false;
    }
    int32_t known = known_count(p, &state->isr);
    model_partition_state_copy(&p->state, state);
    p->has_strangers = !is_vouched && known < state->isr.count;
    p->refused_version = -1;
    if (p->has_strangers && known == 0) {
        tell_none_known(c, p);
    }
    return true;
}

void control_members_note(const struct core_partition *p, struct model_partition_state *next)
{
    const struct core_move *m = p->move;
    next->has_outsiders = false;
    for (int32_t i = 0; i < next->isr.count && !p->has_strangers; i++) {
        /* A list that is on its way to the store counts, too: it may be there before the state. */
        next->has_outsiders |=
            !ids_has(&p->stored.replicas, next->isr.list[i]) ||
            (m != NULL && m->has_next && !ids_has(&m->next.replicas, next->isr.list[i]));
    }
}

void control_members_written(struct core_partition *p)
{
    p->has_strangers = p->has_strangers && known_count(p, &p->state.isr) < p->state.isr.count;
}
