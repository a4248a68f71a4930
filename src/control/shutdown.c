/*
 * Controlled shutdown: a broker asks to leave (docs/spec/zookeeper-mode.md section 10). It stops being
 * a choice for leadership at once; its leaderships move and it leaves every ISR, as far as others can
 * take over. The answer names what it still leads.
 */
#include "control/core.h"

#include <string.h>

void control_shutdown_start(struct control *c, struct core_request *r)
{
    const struct control_shutdown *body = &r->body.shutdown;
    struct core_broker *b = control_broker_find(c, body->broker);
    if (b == NULL || !b->is_registered) {
        control_request_fail(c, r, KERR_BROKER_NOT_AVAILABLE, NULL);
        return;
    }
    if (body->broker_epoch >= 0 && body->broker_epoch < b->model.epoch) {
        control_request_fail(c, r, KERR_STALE_BROKER_EPOCH, NULL);
        return;
    }
    b->is_shutting_down = true;
    r->is_expanding = true;
    r->remaining = 1;
    control_sweep_start(c, SWEEP_SHUTDOWN, body->broker, r);
}

void control_shutdown_visit(struct control *c, struct core_request *r, struct core_partition *p)
{
    const struct ids *replicas = control_partition_replicas(p);
    int32_t broker = r->body.shutdown.broker;
    if (!p->has_state || p->is_lost || replicas->count < 2 || !ids_has(replicas, broker) ||
        p->topic->deletion != DELETION_NONE) {
        return;
    }
    struct core_op *op = control_op_new(r, 0);
    op->partition = p;
    r->remaining++;
    list_push_back(&p->ops, &op->link);
    control_partition_ready(c, p);
}

static void remaining_add(struct core_request *r, const struct core_partition *p)
{
    if (r->reply.count == r->remaining_cap) {
        int32_t cap = r->remaining_cap == 0 ? 16 : r->remaining_cap * 2;
        struct control_tp *list = arena_array(&r->arena, (size_t)cap, sizeof *list);
        CHECK(list != NULL);
        if (r->reply.count > 0) {
            memcpy(list, r->remaining_partitions, (size_t)r->reply.count * sizeof *list);
        }
        r->remaining_partitions = list;
        r->remaining_cap = cap;
        r->reply.remaining = list;
    }
    const char *name = arena_str(&r->arena, slice_str(p->topic->name));
    CHECK(name != NULL);
    r->remaining_partitions[r->reply.count++] =
        (struct control_tp){.topic = slice_str(name), .partition = p->index};
}

void control_shutdown_done(struct control *c, struct core_op *op)
{
    struct core_partition *p = op->partition;
    int32_t broker = op->request->body.shutdown.broker;
    if (p->state.leader == broker) {
        remaining_add(op->request, p);
    } else {
        control_tell_stop(c, p, broker, false);
    }
    control_request_done(c, op->request);
}

bool control_shutdown_run(struct control *c, struct core_op *op)
{
    struct core_partition *p = op->partition;
    struct model_partition_state next = {0};
    model_partition_state_copy(&next, &p->state);
    bool is_needed = control_elect_shutdown(c, p, op->request->body.shutdown.broker, &next);
    if (is_needed && control_partition_may_drop(c, p, &next)) {
        control_partition_write(c, p, WHY_OP, &next);
    }
    ids_deinit(&next.isr);
    if (is_needed) {
        return true;
    }
    (void)list_pop(&p->ops);
    control_shutdown_done(c, op);
    return false;
}
