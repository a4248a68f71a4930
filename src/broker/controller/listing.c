/*
 * The answer to a list of moves. To those who ask for more it tells also what waits in the queue: that is gathered
 * first, in pieces: topics by name, each with its partitions as they wait when its turn comes. Then the request goes
 * to the core, whose pieces of what runs are passed on as they come. So a move that starts in between is told in
 * both places rather than in none.
 * Invariant: a request is in controller.listings while the queue is gone through; what was gathered belongs to it
 * until it is answered. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include "broker/controller/report.h"

#include <stdlib.h>

#define PIECE_ROWS 1000

typedef struct wire_list_partition_reassignments_response_queued queued_topic;
typedef struct wire_list_partition_reassignments_response_queued_partitions queued_row;

struct controller_listing {
    struct list_node link;
    struct controller_request_item *item;
    struct controller_report *report; /* in arena */
    struct arena *arena;              /* the request's */
    struct slice *topics;
    int32_t topic_count;
    int32_t topic_at;
    int32_t *partitions; /* of topics[topic_at]; heap, NULL: not looked up yet */
    int32_t partition_count;
    int32_t partition_at;
    queued_row *rows; /* for them */
    bool failed;      /* the memory is full */
};

/* ---- gathering ---- */

static void topic_count(void *arg, struct slice name)
{
    (void)name;
    ((struct controller_listing *)arg)->topic_count++;
}

static void topic_take(void *arg, struct slice name)
{
    struct controller_listing *l = arg;
    char *copy = arena_str(l->arena, name);
    l->failed = l->failed || copy == NULL;
    l->topics[l->topic_count++] = slice_of(copy, name.len);
}

static int name_compare(const void *a, const void *b)
{
    return slice_compare(*(const struct slice *)a, *(const struct slice *)b);
}

static void topics_collect(struct controller_listing *l, const struct moves *queue)
{
    moves_each_topic(queue, topic_count, l);
    size_t count = (size_t)l->topic_count;
    l->topics = arena_array(l->arena, count + 1, sizeof *l->topics);
    l->report->queued = arena_array(l->arena, count + 1, sizeof *l->report->queued);
    l->topic_count = 0;
    l->failed = l->topics == NULL || l->report->queued == NULL;
    if (!l->failed) {
        moves_each_topic(queue, topic_take, l);
    }
    if (!l->failed) {
        qsort(l->topics, count, sizeof *l->topics, name_compare);
    }
}

static void topic_enter(struct controller_listing *l, const struct moves *queue)
{
    l->partition_count = moves_topic_queued(queue, l->topics[l->topic_at], &l->partitions);
    l->partition_at = 0;
    l->rows = arena_array(l->arena, (size_t)l->partition_count + 1, sizeof *l->rows);
    l->failed = l->rows == NULL;
}

static void topic_leave(struct controller_listing *l)
{
    free(l->partitions);
    l->partitions = NULL;
    l->topic_at++;
}

static void row_take(struct controller_listing *l, const struct moves_view *view)
{
    struct controller_report *report = l->report;
    queued_topic *topic = &report->queued[report->queued_count];
    if (topic->partitions_count == 0) {
        topic->topic = l->topics[l->topic_at];
        topic->partitions = l->rows;
    }
    l->failed = !controller_report_row(view, &l->rows[topic->partitions_count++], l->arena);
}

/* True: all is gathered, or the memory is full. */
static bool piece_take(struct controller_listing *l, const struct moves *queue)
{
    int32_t left = PIECE_ROWS;
    while (l->topic_at < l->topic_count && !l->failed) {
        if (l->partitions == NULL) {
            topic_enter(l, queue);
        }
        for (; l->partition_at < l->partition_count && !l->failed; l->partition_at++, left--) {
            struct moves_view view;
            if (left == 0) {
                return false;
            }
            if (moves_find_queued(queue, l->topics[l->topic_at], l->partitions[l->partition_at],
                                  &view)) {
                row_take(l, &view);
            }
        }
        if (!l->failed && l->report->queued[l->report->queued_count].partitions_count > 0) {
            l->report->queued_count++;
        }
        topic_leave(l);
    }
    return true;
}

/* ---- the way of a request ---- */

bool controller_list_take(struct controller *c, struct controller_request_item *item)
{
    const struct control_list *list = &item->request->list;
    const struct moves *queue = controller_moves_core(c);
    if (item->request->kind != CONTROL_LIST_REASSIGNMENTS || list->memory == NULL ||
        queue == NULL || c->role != ROLE_ACTIVE) {
        return false;
    }
    struct controller_listing *l = xalloc(sizeof *l);
    *l = (struct controller_listing){.item = item, .arena = list->memory};
    item->listing = l;
    l->report = arena_alloc(l->arena, sizeof *l->report);
    l->failed = l->report == NULL;
    if (l->failed) {
        return false;
    }
    if (!list->wants_all) {
        l->failed = !controller_report_named(c, list, l->report);
        return false;
    }
    topics_collect(l, queue);
    if (piece_take(l, queue)) {
        return false;
    }
    list_push_back(&c->listings, &l->link);
    if (!env_timer_is_active(&c->listing_timer)) {
        env_timer_start(&c->listing_timer, 0);
    }
    return true;
}

/* A piece of the first one. */
static void listing_go_on(void *arg)
{
    struct controller *c = arg;
    struct list_node *n = list_first(&c->listings);
    if (n == NULL) {
        return;
    }
    struct controller_listing *l = CONTAINER_OF(n, struct controller_listing, link);
    env_timer_start(&c->listing_timer, 0);
    if (piece_take(l, controller_moves_core(c))) {
        list_remove(&c->listings, n);
        controller_request_pass(c, l->item);
    }
}

/* What belongs to a piece that the core gave; NULL: nothing was asked for, or the memory is full. */
static struct controller_report *report_of(struct controller *c,
                                           const struct controller_request_item *item,
                                           const struct control_reply *reply)
{
    const struct control_list *list = &item->request->list;
    const struct controller_listing *l = item->listing;
    struct controller_report *report =
        list->memory == NULL ? NULL : controller_report_make(c, reply, list);
    if (report == NULL || l == NULL || reply->has_more) {
        return report;
    }
    if (l->failed || !controller_report_jobs(c, report, list->memory)) {
        return NULL;
    }
    report->queued = l->report->queued;
    report->queued_count = l->report->queued_count;
    return report;
}

void controller_list_answer(struct controller *c, struct controller_request_item *item,
                            const struct control_reply *reply)
{
    struct control_reply told = *reply;
    told.report = report_of(c, item, reply);
    if (told.has_more) {
        item->done(item->arg, &told);
    } else {
        controller_request_answer(c, item, &told);
    }
}

/* ---- life ---- */

void controller_listing_free(struct controller *c, struct controller_listing *l)
{
    if (l != NULL) {
        list_remove(&c->listings, &l->link);
        free(l->partitions);
        free(l);
    }
}

void controller_listings_init(struct controller *c)
{
    list_init(&c->listings);
    env_timer_init(&c->listing_timer, c->env, listing_go_on, c);
}

void controller_listings_end(struct controller *c)
{
    struct list_node *n = NULL;
    env_timer_stop(&c->listing_timer);
    while ((n = list_first(&c->listings)) != NULL) {
        struct controller_request_item *item =
            CONTAINER_OF(n, struct controller_listing, link)->item;
        struct control_reply told = {
            .token = item->token, .kind = CONTROL_LIST_REASSIGNMENTS, .error = KERR_NOT_CONTROLLER};
        controller_request_answer(c, item, &told); /* frees it */
    }
}
