/*
 * ElectLeaders: an operator asks for preferred or unclean elections (reassignment.md 7.4, 7.5).
 */
#include "control/core.h"

static void entry_start(struct control *c, struct core_op *op, struct core_partition *p)
{
    if (p == NULL) {
        control_result_set(c, op, KERR_UNKNOWN_TOPIC_OR_PARTITION, "there is no such partition");
    } else if (p->topic->deletion != DELETION_NONE) {
        control_result_set(c, op, KERR_INVALID_TOPIC_EXCEPTION, "the topic is being deleted");
    } else {
        op->partition = p;
        list_push_back(&p->ops, &op->link);
        control_partition_ready(c, p);
    }
}

/* With Topics null those that need no election are left out of the answer. */
static bool is_wanted(const struct control *c, const struct core_partition *p, bool is_unclean)
{
    if (p->stored.replicas.count == 0 || p->topic->deletion != DELETION_NONE) {
        return false;
    }
    return is_unclean ? p->state.leader < 0 || !control_replica_is_alive(c, p, p->state.leader)
                      : p->state.leader != control_partition_replicas(p)->list[0];
}

/* Calls for every partition that is to be elected; counts them when r has no results yet. */
static int32_t all_visit(struct control *c, struct core_request *r)
{
    int32_t count = 0;
    struct list_node *n = NULL;
    list_foreach (n, &c->topic_list) {
        struct core_topic *t = CONTAINER_OF(n, struct core_topic, link);
        for (int32_t i = 0; !t->is_creating && i < t->partition_count; i++) {
            struct core_partition *p = t->partitions[i];
            if (!is_wanted(c, p, r->body.elect.is_unclean)) {
                continue;
            }
            if (r->results != NULL) {
                r->results[count].topic = slice_str(arena_str(&r->arena, slice_str(t->name)));
                r->results[count].partition = i;
                entry_start(c, control_op_new(r, count), p);
            }
            count++;
        }
    }
    return count;
}

void control_elect_start(struct control *c, struct core_request *r)
{
    const struct control_elect *body = &r->body.elect;
    if (body->wants_all) {
        control_request_expect(r, all_visit(c, r));
        (void)all_visit(c, r);
    }
    for (int32_t i = 0; !body->wants_all && i < body->count; i++) {
        entry_start(c, control_op_new(r, i),
                    control_partition_find(c, body->entries[i].topic, body->entries[i].partition));
    }
    r->is_expanding = false;
    control_request_done(c, r);
}

static const char *refusal(enum kerr error)
{
    switch ((int)error) {
    case KERR_ELECTION_NOT_NEEDED:
        return "the partition has that leader already";
    case KERR_PREFERRED_LEADER_NOT_AVAILABLE:
        return "the preferred leader is not alive or not in sync";
    default:
        return "no replica is alive";
    }
}

bool control_elect_run(struct control *c, struct core_op *op)
{
    struct core_partition *p = op->partition;
    struct model_partition_state next = {0};
    model_partition_state_copy(&next, &p->state);
    enum kerr error = control_elect_asked(c, p, op->request->body.elect.is_unclean, &next);
    if (error == KERR_NONE) {
        control_partition_write(c, p, WHY_OP, &next);
        return true;
    }
    ids_deinit(&next.isr);
    (void)list_pop(&p->ops);
    control_result_set(c, op, error, refusal(error));
    return false;
}
