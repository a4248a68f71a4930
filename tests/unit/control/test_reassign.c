/*
 * Rows of docs/spec/reassignment.md section 15 and its worked traces 6.7, on the core alone. Epochs
 * count the writes of decision 13: B4 and U3 remove all their replicas in one write, so trace 1 ends
 * three above its start, and the B6 that would write what is stored already is left out.
 */
#include "unit/control/harness.h"

#include <stdio.h>

/* Asks for several entries at once; lists as in world_alter. The errors as "39 39 0". */
struct wish {
    const char *topic;
    int32_t partition;
    const char *list; /* NULL: cancel; "": the empty list */
};

static const char *alter_all(struct world *w, const struct wish *wishes, int32_t count)
{
    static char text[256];
    struct control_alter_entry entries[16];
    int32_t replicas[16][WORLD_BROKERS];
    for (int32_t i = 0; i < count; i++) {
        entries[i] = (struct control_alter_entry){.topic = slice_str(wishes[i].topic),
                                                  .partition = wishes[i].partition,
                                                  .is_cancel = wishes[i].list == NULL};
        if (wishes[i].list != NULL) {
            entries[i].replicas = replicas[i];
            entries[i].replica_count = list_parse(wishes[i].list, replicas[i]);
        }
    }
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = entries, .count = count}};
    world_request(w, &request);
    world_run(w);
    assert_true(w->reply.is_there);
    assert_int_equal(w->reply.error, 0);
    assert_int_equal(w->reply.count, count);
    struct buf b;
    buf_init(&b);
    const char *at = buf_text(&w->reply.text);
    for (int32_t i = 0; i < count; i++) {
        const char *end = strchr(at, '\n');
        const char *blank = end;
        while (*blank != ' ') {
            blank--;
        }
        buf_putf(&b, "%s%.*s", i == 0 ? "" : " ", (int)(end - blank - 1), blank + 1);
        at = end + 1;
    }
    memcpy(text, buf_text(&b), b.len + 1);
    buf_deinit(&b);
    return text;
}

static int32_t node_writes(struct world *w)
{
    return world_topic(w, "t")->node_writes;
}

/* Topic t with partitions 0..count-1 on the lists; the brokers are up. */
static void world_many(struct world *w, int32_t brokers, const char *const *lists)
{
    world_init(w, brokers, 1);
    world_elect(w);
    world_run(w);
    assert_int_equal(world_create(w, "t", lists), 0);
    buf_clear(&w->sent);
}

/* The names of the steps written since the last call. */
static const char *steps_taken(struct world *w)
{
    static const char *const names[CONTROL_STEP_COUNT] = {
        [CONTROL_STEP_ASSIGN] = "U1",     [CONTROL_STEP_OVERRIDE] = "override",
        [CONTROL_STEP_CANCEL] = "cancel", [CONTROL_STEP_HAND_OVER] = "hand-over",
        [CONTROL_STEP_DROP] = "drop",     [CONTROL_STEP_RAISE] = "A1",
        [CONTROL_STEP_LEAD] = "B3",       [CONTROL_STEP_SHRINK] = "B4",
        [CONTROL_STEP_STORE] = "B6",      [CONTROL_STEP_LEGACY] = "B7",
    };
    static char text[128];
    size_t used = 0;
    text[0] = '\0';
    for (int32_t i = 0; i < CONTROL_STEP_COUNT; i++) {
        if ((w->steps >> i & 1) != 0) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s;", names[i]);
        }
    }
    w->steps = 0;
    return text;
}

/* ---- 15.1 algebra and validation ---- */

static void row_01_every_target_starts_from_the_origin(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 9, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    assert_text(world_list(&w), "t-0 RS[4,5,6,1,2,3] AR[4,5,6] RR[1,2,3]\n");
    assert_int_equal(world_alter(&w, "t", 0, "7,8,9"), 0);
    assert_text(world_list(&w), "t-0 RS[7,8,9,1,2,3] AR[7,8,9] RR[1,2,3]\n");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,3"), 0);
    assert_text(world_list(&w), "");
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 3");
    world_deinit(&w);
}

static void row_02_kept_replicas_keep_the_wanted_order(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 5, "1,2,3,4");
    assert_int_equal(world_alter(&w, "t", 0, "4,2,5,3"), 0);
    assert_text(world_list(&w), "t-0 RS[4,2,5,3,1] AR[5] RR[1]\n");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4,5"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,2,5,3] leader 4 isr [2,3,4,5] epoch 3");
    world_deinit(&w);
}

static void row_03_21_a_new_order_is_stored_at_once(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "3,1,2"), 0);
    assert_text(world_list(&w), "");
    assert_string_equal(world_text(&w, "t", 0), "RS[3,1,2] leader 1 isr [1,2,3] epoch 1");
    assert_int_equal(world_elect_leader(&w, "t", 0, false), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[3,1,2] leader 3 isr [1,2,3] epoch 2");
    world_deinit(&w);
}

static void row_04_each_entry_is_judged_alone(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1,2", "1,2", "1,2", "1,2", "1,2", NULL});
    const struct wish wishes[] = {
        {"t", 0, ""}, {"t", 1, "1,1"}, {"t", 2, "1,-1"}, {"t", 3, "1,99"}, {"t", 4, "1,3"}};
    assert_string_equal(alter_all(&w, wishes, 5), "39 39 39 39 0");
    assert_text(world_list(&w), "t-4 RS[1,3,2] AR[3] RR[2]\n");
    assert_int_equal(node_writes(&w), 1);
    world_deinit(&w);
}

static void row_05_an_absent_topic(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 2, 1);
    world_elect(&w);
    world_run(&w);
    assert_int_equal(world_alter(&w, "absent", 0, "1,2"), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(world_alter(&w, "absent", 0, NULL), KERR_NO_REASSIGNMENT_IN_PROGRESS);
    assert_int_equal(world_alter(&w, "absent", 0, "1,9"), KERR_INVALID_REPLICA_ASSIGNMENT);
    world_deinit(&w);
}

static void row_06_a_cancel_of_nothing_writes_nothing(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    assert_int_equal(world_alter(&w, "t", 0, NULL), KERR_NO_REASSIGNMENT_IN_PROGRESS);
    assert_int_equal(node_writes(&w), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 0");
    world_deinit(&w);
}

static void row_07_dead_brokers_may_stay(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 4, (const char *const[]){"1,2,3", "1,2,3", "1,2,3", NULL});
    world_kill(&w, 3);
    world_run(&w);
    const struct wish wishes[] = {{"t", 0, "1,2"}, {"t", 1, "3,1"}, {"t", 2, "1,2,3,4"}};
    assert_string_equal(alter_all(&w, wishes, 3), "0 0 0");
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 2");
    assert_text(world_list(&w), "t-1 RS[3,1,2] AR[] RR[2]\nt-2 RS[1,2,3,4] AR[4] RR[]\n");
    world_deinit(&w);
}

static void row_08_a_broker_that_shuts_down_is_no_target(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    struct control_request request = {
        .kind = CONTROL_SHUTDOWN, .shutdown = {.broker = 3, .broker_epoch = w.brokers[3].epoch}};
    world_request(&w, &request);
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, "1,3"), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(node_writes(&w), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 0");
    world_deinit(&w);
}

static void row_09_without_the_role_everything_is_refused(void **state)
{
    struct world w;
    (void)state;
    world_init(&w, 1, 1);
    assert_int_equal(world_alter(&w, "t", 0, "1"), KERR_NOT_CONTROLLER);
    assert_int_equal(w.reply.count, 0);
    (void)world_list(&w);
    assert_int_equal(w.reply.error, KERR_NOT_CONTROLLER);
    assert_int_equal(w.reply.count, 0);
    world_deinit(&w);
}

static void row_12_list_shows_what_moves_and_is_asked_for(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1,2", "1,2", NULL});
    assert_int_equal(world_alter(&w, "t", 0, "1,3"), 0);
    assert_text(world_list(&w), "t-0 RS[1,3,2] AR[3] RR[2]\n");
    struct control_tp tps[] = {
        {slice_str("t"), 0}, {slice_str("t"), 1}, {slice_str("nope"), 0}, {slice_str("t"), 0}};
    struct control_request request = {.kind = CONTROL_LIST_REASSIGNMENTS,
                                      .list = {.entries = tps, .count = 4}};
    world_request(&w, &request);
    assert_int_equal(w.reply.error, 0);
    assert_text(&w.reply.text, "t-0 RS[1,3,2] AR[3] RR[2]\n");
    request.list.count = 0;
    world_request(&w, &request);
    assert_text(&w.reply.text, "");
    world_deinit(&w);
}

/* The only move, as the list has it now; borrowed until the next step. */
static const struct control_moving *listed(struct world *w)
{
    struct control_event event = {
        .kind = CONTROL_ON_REQUEST,
        .request = {.kind = CONTROL_LIST_REASSIGNMENTS, .list = {.wants_all = true}}};
    control_step(w->core, w->now_ms, &event, 1, &w->out);
    assert_int_equal(w->out.count, 1);
    assert_int_equal(w->out.list[0].kind, CONTROL_EFFECT_REPLY);
    assert_int_equal(w->out.list[0].reply.count, 1);
    return &w->out.list[0].reply.moving[0];
}

/* What its progress is judged by, over a failover too. */
static void list_tells_what_a_move_waits_for(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    assert_false(control_has_moves(w.core));
    w.now_ms += 5000;
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    const struct control_moving *m = listed(&w);
    assert_true(control_has_moves(w.core));
    assert_int_equal(m->leader, 1);
    assert_true(m->has_leader);
    assert_false(m->is_resumed);
    assert_false(m->is_stopping);
    assert_int_equal(m->isr.count, 2);
    assert_int_equal(m->original.count, 2);
    assert_int_equal(m->offline.count, 0);
    assert_int_equal(m->min_insync, 1);
    int64_t started_ms = m->started_ms;
    assert_in_range(started_ms, w.now_ms - 100, w.now_ms);
    w.now_ms += 1000;
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    assert_int_equal(listed(&w)->started_ms, started_ms);
    world_failover(&w);
    assert_true(listed(&w)->is_resumed);
    w.is_mute[2] = true; /* it is to lead, and does not answer */
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    world_run(&w);
    assert_true(listed(&w)->is_stopping);
    world_deinit(&w);
}

static void row_13_a_partition_named_twice_gets_42_twice(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1,2", "1,2", NULL});
    const struct wish wishes[] = {{"t", 0, "1,3"},  {"t", 1, "1,3"},  {"t", 0, NULL},
                                  {"none", 7, "1"}, {"none", 7, "1"}, {"none", 8, "1"}};
    assert_string_equal(alter_all(&w, wishes, 6), "42 0 42 42 42 3");
    assert_text(world_list(&w), "t-1 RS[1,3,2] AR[3] RR[2]\n");
    world_deinit(&w);
}

static void row_14_a_topic_that_is_being_deleted(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    world_kill(&w, 2); /* the deletion waits for it */
    world_run(&w);
    struct slice name = slice_str("t");
    world_event(&w, &(struct control_event){
                        .kind = CONTROL_ON_DELETE_TOPICS, .names = &name, .name_count = 1});
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, "1,3"), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(world_alter(&w, "t", 0, "1,9"), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(world_alter(&w, "t", 0, NULL), KERR_NO_REASSIGNMENT_IN_PROGRESS);
    world_deinit(&w);
}

static void an_endless_replica_list_is_refused_at_once(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1,2");
    int32_t *list = xalloc(1000000 * sizeof *list);
    for (int32_t i = 0; i < 1000000; i++) {
        list[i] = i;
    }
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = list, .replica_count = 1000000};
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry, .count = 1}};
    world_request(&w, &request);
    assert_text(&w.reply.text, "t-0 39\n");
    free(list);
    world_deinit(&w);
}

static void a_factor_change_can_be_forbidden(void **state)
{
    struct world w;
    (void)state;
    const struct control_alter fixed = {.forbids_factor_change = true};
    world_with(&w, 5, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,4,5"), 0);
    assert_int_equal(world_alter_with(&w, "t", 0, "1,4", fixed), KERR_INVALID_REPLICATION_FACTOR);
    assert_int_equal(world_alter_with(&w, "t", 0, "1,5,4", fixed), 0);
    assert_int_equal(world_alter_with(&w, "t", 0, NULL, fixed), 0);
    world_deinit(&w);
}

/* ---- 15.2 normal course ---- */

/* The lines of sent for one broker, without metadata. */
static const char *sent_to(struct world *w, int32_t broker)
{
    static char text[1024];
    struct buf b;
    buf_init(&b);
    char *prefix = xasprintf("%d ", broker);
    for (const char *at = buf_text(&w->sent); *at != 0; at = strchr(at, '\n') + 1) {
        size_t len = (size_t)(strchr(at, '\n') - at);
        if (strncmp(at, prefix, strlen(prefix)) == 0 && strstr(at, "metadata") != at + 2) {
            buf_putf(&b, "%.*s; ", (int)(len - strlen(prefix)), at + strlen(prefix));
        }
    }
    CHECK(b.len < sizeof text);
    memcpy(text, buf_text(&b), b.len + 1);
    free(prefix);
    buf_deinit(&b);
    return text;
}

static void row_16_trace_2_factor_one(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,1] AR[2] RR[1] leader 1 isr [1] epoch 1");
    buf_clear(&w.sent);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[2] leader 2 isr [2] epoch 3");
    assert_string_equal(sent_to(&w, 1), "stop t-0 epoch 3; stop-delete t-0 epoch 3; ");
    assert_int_equal(node_writes(&w), 2);
    assert_int_equal(control_writes_pending(w.core), 0);
    world_deinit(&w);
}

static void row_17_trace_1_requests_leave_in_order(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    assert_string_equal(sent_to(&w, 1), "state t-0 leader 1 epoch 1 RS[4,5,6,1,2,3] AR[4,5,6] "
                                        "RR[1,2,3]; ");
    assert_string_equal(sent_to(&w, 4), "new t-0 leader 1 epoch 1 RS[4,5,6,1,2,3] AR[4,5,6] "
                                        "RR[1,2,3]; ");
    buf_clear(&w.sent);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4,5,6"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,5,6] leader 4 isr [4,5,6] epoch 3");
    for (int32_t id = 1; id <= 3; id++) {
        assert_string_equal(sent_to(&w, id), "stop t-0 epoch 3; stop-delete t-0 epoch 3; ");
    }
    for (int32_t id = 4; id <= 6; id++) {
        assert_string_equal(sent_to(&w, id), "state t-0 leader 4 epoch 2 RS[4,5,6]; "
                                             "state t-0 leader 4 epoch 3 RS[4,5,6]; ");
    }
    const char *end = strstr(buf_text(&w.sent), "stop-delete");
    for (int32_t id = 1; id <= 6; id++) {
        char *line = xasprintf("%d metadata t-0 leader 4 epoch 3 RS[4,5,6]\n", id);
        assert_non_null(strstr(end, line));
        free(line);
    }
    world_deinit(&w);
}

static void row_18_trace_4_growth_stops_nobody(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,3"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] AR[3] RR[] leader 1 isr [1,2] epoch 1");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 2");
    assert_null(strstr(buf_text(&w.sent), "stop"));
    world_deinit(&w);
}

static void row_19_20_traces_5_6_7_removal_ends_within_the_call(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1,2,3", "1,2,3", "1,2,3", NULL});
    assert_int_equal(world_alter(&w, "t", 0, "1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 2");
    assert_string_equal(sent_to(&w, 3), "stop t-0 epoch 2; stop-delete t-0 epoch 2; ");
    assert_int_equal(world_isr(&w, "t", 1, "1,2"), 0);
    assert_int_equal(world_alter(&w, "t", 1, "1,2"), 0);
    assert_string_equal(world_text(&w, "t", 1), "RS[1,2] leader 1 isr [1,2] epoch 1");
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 2, "2,3"), 0);
    assert_string_equal(world_text(&w, "t", 2), "RS[2,3] leader 2 isr [2,3] epoch 2");
    assert_string_equal(sent_to(&w, 1), "stop t-2 epoch 2; stop-delete t-2 epoch 2; ");
    world_deinit(&w);
}

static void row_22_traces_8_9_the_same_list_raises_the_epoch(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,3"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 1");
    assert_int_equal(node_writes(&w), 0);
    assert_int_equal(world_alter(&w, "t", 0, "3,1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[3,1,2] leader 1 isr [1,2,3] epoch 2");
    assert_int_equal(node_writes(&w), 1);
    assert_text(world_list(&w), "");
    world_deinit(&w);
}

static void row_23_partitions_of_one_topic_do_not_disturb_each_other(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 5, (const char *const[]){"1,2", "1,2", "1,2", NULL});
    struct uuid id = world_topic(&w, "t")->node.id;
    assert_false(uuid_is_zero(id));
    assert_int_equal(world_alter(&w, "t", 0, "3,4"), 0);
    assert_int_equal(world_alter(&w, "t", 1, "1,2,5"), 0);
    assert_int_equal(world_alter(&w, "t", 2, "2"), 0);
    assert_text(world_list(&w), "t-0 RS[3,4,1,2] AR[3,4] RR[1,2]\nt-1 RS[1,2,5] AR[5] RR[]\n");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_text(world_list(&w), "t-1 RS[1,2,5] AR[5] RR[]\n");
    assert_string_equal(world_text(&w, "t", 2), "RS[2] leader 2 isr [2] epoch 2");
    assert_true(uuid_equal(world_topic(&w, "t")->node.id, id));
    world_deinit(&w);
}

/* Broker 1 leads t-0 and proposes this ISR; nothing has run yet. */
static void isr_propose(struct world *w, const char *list)
{
    const struct model_partition_state *s = world_state(w, "t", 0);
    int32_t isr[WORLD_BROKERS];
    struct control_isr_entry entry = {.topic_id = world_topic(w, "t")->node.id,
                                      .leader_epoch = s->leader_epoch,
                                      .partition_epoch = s->version,
                                      .isr = isr,
                                      .isr_count = list_parse(list, isr)};
    struct control_request request = {
        .kind = CONTROL_ALTER_PARTITION,
        .alter_partition = {
            .broker = 1, .broker_epoch = w->brokers[1].epoch, .entries = &entry, .count = 1}};
    world_request(w, &request);
}

static void row_27_28_only_the_last_member_completes(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    int32_t version = world_state(&w, "t", 0)->version;
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4,5"), 0);
    assert_int_equal(world_state(&w, "t", 0)->version, version + 2);
    assert_int_equal(world_state(&w, "t", 0)->leader_epoch, 1);
    assert_text(world_list(&w), "t-0 RS[4,5,6,1,2,3] AR[4,5,6] RR[1,2,3]\n");
    isr_propose(&w, "1,2,3,4,5,6");
    buf_clear(&w.sent);
    world_write_some(&w, 1);
    assert_text(&w.reply.text, "0 0 leader 1 epoch 1 isr [1,2,3,4,5,6] version 4\n");
    /* The leader is answered before anything of the completion is stored or sent. */
    assert_string_equal(world_text(&w, "t", 0),
                        "RS[4,5,6,1,2,3] AR[4,5,6] RR[1,2,3] leader 1 isr [1,2,3,4,5,6] epoch 1");
    assert_null(strstr(buf_text(&w.sent), "state"));
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,5,6] leader 4 isr [4,5,6] epoch 3");
    world_deinit(&w);
}

/* S17: a removal waits when what stays is not in sync. */
static void a_removal_waits_for_those_that_stay(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1,2,3");
    assert_int_equal(world_elect_leader(&w, "t", 0, false), KERR_ELECTION_NOT_NEEDED);
    world_kill(&w, 1);
    world_kill(&w, 2);
    world_run(&w);
    world_start(&w, 1);
    world_start(&w, 2);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 3 isr [3] epoch 2");
    assert_int_equal(world_alter(&w, "t", 0, "1,2"), 0);
    assert_text(world_list(&w), "t-0 RS[1,2,3] AR[] RR[3]\n");
    assert_int_equal(world_isr(&w, "t", 0, "3,1"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "3,1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 5");
    world_deinit(&w);
}

static void all_moves_of_a_request_share_one_write_a_topic(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1", "1", "1", "1", NULL});
    const struct wish wishes[] = {{"t", 0, "2"}, {"t", 1, "3"}, {"t", 2, "2"}, {"t", 3, "1,2"}};
    assert_string_equal(alter_all(&w, wishes, 4), "0 0 0 0");
    assert_int_equal(node_writes(&w), 1);
    world_deinit(&w);
}

/* ---- 15.3 override and cancel ---- */

static void row_29_an_override_stops_the_old_target(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 5, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, "4,5"), 0);
    assert_text(world_list(&w), "t-0 RS[4,5,1] AR[4,5] RR[1]\n");
    assert_string_equal(sent_to(&w, 2), "stop t-0 epoch 2; stop-delete t-0 epoch 2; ");
    assert_string_equal(sent_to(&w, 3), "stop t-0 epoch 2; stop-delete t-0 epoch 2; ");
    assert_int_equal(world_isr(&w, "t", 0, "1,4,5"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,5] leader 4 isr [4,5] epoch 4");
    world_deinit(&w);
}

/* A leader below 2.7-IV2 has written a replica of the old target into the ISR, unheard. It must have left
 * again before it is told to delete what it has: until then it may be the only one to lead. */
static void an_override_stops_nobody_who_joined_unheard(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2"), 0);
    buf_clear(&w.sent);
    struct model_partition_state *stored = &world_topic(&w, "t")->partitions[0].state;
    ids_add(&stored->isr, 2);
    stored->version++;
    assert_int_equal(world_alter(&w, "t", 0, "3"), 0);
    assert_string_equal(sent_to(&w, 2), "state t-0 leader 1 epoch 1 RS[3,1,2] AR[3] RR[1]; "
                                        "state t-0 leader 1 epoch 2 RS[3,1,2] AR[3] RR[1]; "
                                        "stop t-0 epoch 3; stop-delete t-0 epoch 3; ");
    assert_string_equal(world_text(&w, "t", 0), "RS[3,1] AR[3] RR[1] leader 1 isr [1] epoch 3");
    world_deinit(&w);
}

static void row_30_the_last_of_three_overrides_wins(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 7, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    assert_int_equal(world_alter(&w, "t", 0, "4,5"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,4"), 0);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, "5,6"), 0);
    assert_string_equal(sent_to(&w, 4), "state t-0 leader 1 epoch 3 RS[5,6,1,4] AR[5,6] RR[1]; "
                                        "stop t-0 epoch 4; stop-delete t-0 epoch 4; ");
    assert_string_equal(world_text(&w, "t", 0), "RS[5,6,1] AR[5,6] RR[1] leader 1 isr [1] epoch 4");
    assert_int_equal(world_isr(&w, "t", 0, "1,5,6"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[5,6] leader 5 isr [5,6] epoch 6");
    world_deinit(&w);
}

static void row_31_trace_10_cancel_before_it_joined(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 2");
    assert_string_equal(sent_to(&w, 4), "stop t-0 epoch 2; stop-delete t-0 epoch 2; ");
    assert_text(world_list(&w), "");
    assert_int_equal(world_alter(&w, "t", 0, NULL), KERR_NO_REASSIGNMENT_IN_PROGRESS);
    world_deinit(&w);
}

static void row_32_trace_11_cancel_after_it_joined(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 5, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,4,5"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 3");
    assert_string_equal(sent_to(&w, 4), "state t-0 leader 1 epoch 2 RS[1,2,3,4,5]; "
                                        "stop t-0 epoch 3; stop-delete t-0 epoch 3; ");
    assert_non_null(strstr(sent_to(&w, 5), "stop t-0 epoch 3; stop-delete t-0 epoch 3; "));
    world_deinit(&w);
}

static void writes_say_which_steps_they_are(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    assert_string_equal(steps_taken(&w), "");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_string_equal(steps_taken(&w), "U1;A1;");
    assert_int_equal(world_alter(&w, "t", 0, "1,5,6"), 0);
    assert_string_equal(steps_taken(&w), "override;A1;");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,5"), 0);
    assert_string_equal(steps_taken(&w), "");
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(steps_taken(&w), "cancel;hand-over;drop;");
    assert_int_equal(world_alter(&w, "t", 0, "4,2,3"), 0);
    assert_string_equal(steps_taken(&w), "U1;A1;");
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_string_equal(steps_taken(&w), "B3;B4;B6;");
    world_deinit(&w);
}

/* Decision 1: the order comes back, too. */
static void row_33_34_cancel_restores_the_list_exactly(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "3,4,2"), 0);
    assert_int_equal(world_alter(&w, "t", 0, "5,3,6"), 0);
    world_failover(&w);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 4");
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1,2,3] epoch 6");
    assert_int_equal(world_node(&w, "t", 0)->original.count, 0);
    world_deinit(&w);
}

static void a_permuted_target_keeps_the_order_asked_for(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "4,2,3"), 0);
    assert_int_equal(world_alter(&w, "t", 0, "3,2,1"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[3,2,1] leader 1 isr [1,2,3] epoch 2");
    world_deinit(&w);
}

static void row_35_cancel_and_target_in_one_request(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 5, (const char *const[]){"1,2", "1,2", NULL});
    const struct wish start[] = {{"t", 0, "1,3"}, {"t", 1, "1,3"}};
    assert_string_equal(alter_all(&w, start, 2), "0 0");
    const struct wish next[] = {{"t", 0, NULL}, {"t", 1, "4,5"}};
    assert_string_equal(alter_all(&w, next, 2), "0 0");
    assert_text(world_list(&w), "t-1 RS[4,5,1,2] AR[4,5] RR[1,2]\n");
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 2");
    world_deinit(&w);
}

static void row_36_a_dropped_leader_hands_over_before_it_stops(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 5, "1,2");
    assert_int_equal(world_alter(&w, "t", 0, "4,5"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(world_elect_leader(&w, "t", 0, false), 0);
    assert_int_equal(world_state(&w, "t", 0)->leader, 4);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2] leader 1 isr [1,2] epoch 4");
    assert_string_equal(sent_to(&w, 4), "state t-0 leader 1 epoch 3 RS[1,2,4,5]; "
                                        "stop t-0 epoch 4; stop-delete t-0 epoch 4; ");
    world_deinit(&w);
}

static void row_37_s03_the_same_target_again(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(node_writes(&w), 1);
    buf_clear(&w.sent);
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(node_writes(&w), 1);
    assert_text(world_list(&w), "t-0 RS[1,2,4,3] AR[4] RR[3]\n");
    assert_int_equal(world_state(&w, "t", 0)->leader_epoch, 2);
    assert_null(strstr(buf_text(&w.sent), "stop"));
    world_deinit(&w);
}

static void row_38_an_adding_replica_counts_as_new_again(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    world_kill(&w, 4);
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_text(world_list(&w), "t-0 RS[1,2,4,3] AR[4] RR[3]\n");
    world_deinit(&w);
}

static void s04_mixed_cancels(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 4, (const char *const[]){"1,2,3", "1,2,3", NULL});
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    const struct wish wishes[] = {
        {"t", 0, NULL}, {"t", 1, NULL}, {"t", 9, NULL}, {"ghost", 0, NULL}};
    assert_string_equal(alter_all(&w, wishes, 4), "0 85 85 85");
    world_deinit(&w);
}

/* Decision 2: ISR and original list have nothing in common. */
static void a_cancel_that_would_strand_is_refused(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2,3"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    world_kill(&w, 1);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,3,1] AR[2,3] RR[1] leader 2 isr [2] epoch 2");
    assert_int_equal(world_alter(&w, "t", 0, NULL), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(world_alter(&w, "t", 0, "1"), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,3,1] AR[2,3] RR[1] leader 2 isr [2] epoch 2");
    world_start(&w, 1);
    world_run(&w);
    assert_int_equal(
        world_alter_with(&w, "t", 0, NULL, (struct control_alter){.is_cancel_forced = true}), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1] leader 1 isr [1] epoch 3");
    assert_int_equal(world_state(&w, "t", 0)->recovery, MODEL_RECOVERING);
    world_deinit(&w);
}

/* Decision 2: fewer than min.insync.replicas would remain, and fewer than now. */
static void a_cancel_below_min_isr_is_refused_unless_harmless(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_TOPIC_CONFIG,
                                            .name = slice_str("t"),
                                            .min_insync_replicas = 2});
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,4"), 0);
    assert_int_equal(world_alter(&w, "t", 0, NULL), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(world_isr(&w, "t", 0, "1"), 0);
    assert_int_equal(world_alter(&w, "t", 0, NULL), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,3] leader 1 isr [1] epoch 2");
    world_deinit(&w);
}

/* ---- 15.4 failures and failover ---- */

static void row_41_a_target_that_dies_is_waited_for(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    world_kill(&w, 4);
    world_run(&w);
    assert_text(world_list(&w), "t-0 RS[1,2,4,3] AR[4] RR[3]\n");
    assert_int_equal(world_state(&w, "t", 0)->leader_epoch, 1);
    world_start(&w, 4);
    world_run(&w);
    assert_int_equal(world_state(&w, "t", 0)->leader_epoch, 2);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,4] leader 1 isr [1,2,4] epoch 4");
    world_deinit(&w);
}

static void row_42_the_leader_dies_while_copying(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 6, "1,2,3");
    assert_int_equal(world_alter(&w, "t", 0, "4,5,6"), 0);
    world_kill(&w, 1);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0),
                        "RS[4,5,6,1,2,3] AR[4,5,6] RR[1,2,3] leader 2 isr [2,3] epoch 2");
    assert_int_equal(world_isr(&w, "t", 0, "2,3,4,5,6"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[4,5,6] leader 4 isr [4,5,6] epoch 4");
    world_deinit(&w);
}

static void row_43_a_removed_replica_that_is_down_is_not_told(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    world_kill(&w, 3);
    world_run(&w);
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,4"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,4] leader 1 isr [1,2,4] epoch 3");
    buf_clear(&w.sent);
    world_start(&w, 3);
    world_run(&w);
    assert_string_equal(sent_to(&w, 3), "brokers 4; ");
    world_deinit(&w);
}

static void row_44_a_controller_that_dies_after_u1(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){1, 2, 4}, .replica_count = 3};
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry, .count = 1}};
    world_request(&w, &request);
    struct control_event done;
    struct control_topic_read read;
    world_write_carry(&w, &done, &read);
    world_resign(&w);
    assert_int_equal(w.reply.error, KERR_NOT_CONTROLLER);
    buf_clear(&w.sent);
    world_elect(&w);
    world_run(&w);
    assert_text(world_list(&w), "t-0 RS[1,2,4,3] AR[4] RR[3]\n");
    assert_non_null(strstr(sent_to(&w, 4), "new t-0 leader 1 epoch 1"));
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[1,2,4] leader 1 isr [1,2,4] epoch 3");
    world_deinit(&w);
}

/* A controller dies after each number of writes of a move; the next one always ends it. */
static void row_45_a_controller_that_dies_anywhere(void **state)
{
    (void)state;
    for (int32_t writes = 0; writes < 5; writes++) {
        struct world w;
        world_with(&w, 4, "1,2,3");
        assert_int_equal(world_alter(&w, "t", 0, "4,2"), 0);
        struct control_event done = {0};
        struct control_topic_read read;
        int32_t left = writes;
        isr_propose(&w, "1,2,3,4");
        while (left-- > 0 && !list_is_empty(&w.writes)) {
            world_write_carry(&w, &done, &read);
            if (left > 0) {
                world_event(&w, &done); /* the last one is written, and nobody hears of it */
            }
        }
        world_failover(&w);
        if (writes == 0) {
            assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
        }
        assert_text(world_list(&w), "");
        assert_true(ids_equal(&world_node(&w, "t", 0)->replicas,
                              &(struct ids){.count = 2, .list = (int32_t[]){4, 2}}));
        assert_int_equal(world_state(&w, "t", 0)->leader, writes == 0 ? 4 : 2 + 2);
        assert_int_equal(world_state(&w, "t", 0)->isr.count, 2);
        world_deinit(&w);
    }
}

static void row_47_a_fenced_write_ends_the_role(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){1, 2, 4}, .replica_count = 3};
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry, .count = 1}};
    world_request(&w, &request);
    struct world_write *k = CONTAINER_OF(list_pop(&w.writes), struct world_write, link);
    world_event(&w, &(struct control_event){.kind = CONTROL_ON_WRITE_DONE,
                                            .write_id = k->body.id,
                                            .outcome = CONTROL_FENCED});
    world_write_free(k);
    assert_true(w.is_resigned);
    assert_false(w.reply.is_there);
    world_resign(&w);
    assert_int_equal(w.reply.error, KERR_NOT_CONTROLLER);
    assert_false(assignment_is_reassigning(world_node(&w, "t", 0)));
    world_deinit(&w);
}

static void row_48_a_conflicting_isr_change_is_not_lost(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    struct model_partition_state *s = world_state(&w, "t", 0);
    ids_remove(&s->isr, 3); /* written by somebody else */
    s->version++;
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_string_equal(world_text(&w, "t", 0),
                        "RS[1,2,4,3] AR[4] RR[3] leader 1 isr [1,2] epoch 1");
    world_deinit(&w);
}

static void a_failed_directory_at_the_target_keeps_it_waiting(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 4, "1,2,3");
    w.has_bad_dir[4] = true;
    assert_int_equal(world_alter(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3"), 0);
    assert_text(world_list(&w), "t-0 RS[1,2,4,3] AR[4] RR[3]\n");
    w.has_bad_dir[4] = false;
    world_start(&w, 4);
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,3,4"), 0);
    assert_text(world_list(&w), "");
    world_deinit(&w);
}

/* Decision 5: all of the target is in sync, and cannot lead. */
static void row_51_no_old_replica_goes_before_a_new_one_leads(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 3, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2"), 0);
    struct control_request request = {
        .kind = CONTROL_SHUTDOWN, .shutdown = {.broker = 2, .broker_epoch = w.brokers[2].epoch}};
    isr_propose(&w, "1,2");
    struct control_event done;
    struct control_topic_read read;
    world_write_carry(&w, &done, &read); /* the ISR is {1,2}; before the core hears, 2 dies */
    w.is_registered[2] = false;
    world_brokers_tell(&w);
    world_event(&w, &done);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,1] AR[2] RR[1] leader 1 isr [1] epoch 2");
    assert_null(strstr(buf_text(&w.sent), "stop"));
    world_start(&w, 2);
    world_run(&w);
    world_request(&w, &request);
    world_run(&w);
    assert_text(world_list(&w), "t-0 RS[2,1] AR[2] RR[1]\n");
    world_deinit(&w);
}

/* A broker that lost power counts as alive and in sync until its session ends. Nothing is deleted on its
 * word: it has not answered. */
static void nothing_is_deleted_before_the_new_leader_answered(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 3, (const char *const[]){"1,2", "1,2", NULL});
    assert_int_equal(world_alter(&w, "t", 1, "1,3"), 0);
    assert_int_equal(world_isr(&w, "t", 1, "1,2,3"), 0); /* completes: [1,3] */
    w.is_mute[2] = true;
    buf_clear(&w.sent);
    struct control_alter_entry entry = {
        .topic = slice_str("t"), .replicas = (int32_t[]){2}, .replica_count = 1};
    struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                      .alter = {.entries = &entry, .count = 1}};
    world_request(&w, &request);
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,1] AR[] RR[1] leader 2 isr [1,2] epoch 1");
    assert_null(strstr(buf_text(&w.sent), "stop"));
    world_kill(&w, 2); /* the session ends */
    world_run(&w);
    assert_string_equal(world_text(&w, "t", 0), "RS[2,1] AR[] RR[1] leader 1 isr [1] epoch 2");
    assert_text(&w.reply.text, "t-0 0\n");
    w.is_mute[2] = false;
    world_start(&w, 2);
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_string_equal(world_text(&w, "t", 0), "RS[2] leader 2 isr [2] epoch 5");
    assert_non_null(strstr(buf_text(&w.sent), "1 stop-delete t-0"));
    world_deinit(&w);
}

/* Between B3 and B4 the only target replica dies: the old ones lead again, nothing is stopped. */
static void a_target_that_dies_after_b3_gives_the_lead_back(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 2, "1");
    assert_int_equal(world_alter(&w, "t", 0, "2"), 0);
    const struct model_partition_state *s = world_state(&w, "t", 0);
    isr_propose(&w, "1,2");
    world_write_some(&w, 1); /* the ISR */
    struct control_event done;
    struct control_topic_read read;
    world_write_carry(&w, &done, &read); /* B3 */
    assert_int_equal(s->leader, 2);
    w.is_registered[2] = false;
    world_brokers_tell(&w);
    world_event(&w, &done);
    world_run(&w);
    assert_int_equal(s->leader, 1);
    assert_text(world_list(&w), "t-0 RS[2,1] AR[2] RR[1]\n");
    assert_null(strstr(buf_text(&w.sent), "stop"));
    world_start(&w, 2);
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "1,2"), 0);
    assert_int_equal(s->leader, 2);
    assert_text(world_list(&w), "");
    world_deinit(&w);
}

static void s23_three_controllers_keep_the_list(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 4, (const char *const[]){"1,2", "2,1", "1,3", NULL});
    const struct wish wishes[] = {{"t", 0, "1,4"}, {"t", 1, "2,4"}, {"t", 2, "4,3"}};
    assert_string_equal(alter_all(&w, wishes, 3), "0 0 0");
    world_kill(&w, 4);
    world_run(&w);
    char *before = xstrdup(buf_text(world_list(&w)));
    for (int32_t i = 0; i < 3; i++) {
        world_failover(&w);
        assert_text(world_list(&w), before);
    }
    free(before);
    world_start(&w, 4);
    world_run(&w);
    assert_int_equal(world_isr(&w, "t", 0, "1,2,4"), 0);
    assert_int_equal(world_isr(&w, "t", 1, "2,1,4"), 0);
    assert_int_equal(world_isr(&w, "t", 2, "1,3,4"), 0);
    assert_text(world_list(&w), "");
    world_deinit(&w);
}

static void row_54_an_adding_replica_can_be_elected_once_in_sync(void **state)
{
    struct world w;
    (void)state;
    world_with(&w, 5, "1");
    assert_int_equal(world_alter(&w, "t", 0, "4,5"), 0);
    assert_int_equal(world_elect_leader(&w, "t", 0, false), KERR_PREFERRED_LEADER_NOT_AVAILABLE);
    assert_int_equal(world_isr(&w, "t", 0, "1,4"), 0);
    assert_int_equal(world_elect_leader(&w, "t", 0, false), 0);
    assert_int_equal(world_state(&w, "t", 0)->leader, 4);
    assert_text(world_list(&w), "t-0 RS[4,5,1] AR[4,5] RR[1]\n");
    world_deinit(&w);
}

/* ---- for the queue of moves ---- */

static void judging_changes_nothing(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 4, (const char *const[]){"1,2", NULL});
    struct control_alter judged = {.is_validate_only = true};
    assert_int_equal(world_alter_with(&w, "t", 0, "2,3", judged), KERR_NONE);
    assert_int_equal(world_alter_with(&w, "t", 0, "2,2", judged), KERR_INVALID_REPLICA_ASSIGNMENT);
    assert_int_equal(world_alter_with(&w, "t", 7, "2,3", judged), KERR_UNKNOWN_TOPIC_OR_PARTITION);
    assert_int_equal(world_alter_with(&w, "t", 0, NULL, judged), KERR_NO_REASSIGNMENT_IN_PROGRESS);
    assert_int_equal(node_writes(&w), 0);
    assert_int_equal(control_moving_count(w.core), 0);
    /* A dead target, even one that was never seen, is the queue's business. */
    assert_int_equal(world_alter_with(&w, "t", 0, "1,9", judged), KERR_INVALID_REPLICA_ASSIGNMENT);
    judged.allows_dead_targets = true;
    assert_int_equal(world_alter_with(&w, "t", 0, "1,9", judged), KERR_NONE);
    world_deinit(&w);
}

/* Whoever chose a step from one list does not make it from another. */
static void a_stale_alter_is_refused(void **state)
{
    struct world w;
    (void)state;
    world_many(&w, 4, (const char *const[]){"1,2", NULL});
    int32_t lists[2][2] = {{1, 2}, {2, 1}};
    int32_t wanted[] = {2, 3};
    int32_t codes[] = {KERR_NONE, KERR_INVALID_UPDATE_VERSION};
    for (int32_t i = 1; i >= 0; i--) {
        struct ids from = {.count = 2, .list = lists[i]};
        struct control_alter_entry entry = {
            .topic = slice_str("t"), .replicas = wanted, .replica_count = 2, .from = &from};
        struct control_request request = {.kind = CONTROL_ALTER_REASSIGNMENTS,
                                          .alter = {.entries = &entry, .count = 1}};
        world_request(&w, &request);
        world_run(&w);
        assert_int_equal(strtol(strrchr(buf_text(&w.reply.text), ' '), NULL, 10), codes[i]);
    }
    struct control_view view;
    assert_true(control_view(w.core, slice_str("t"), 0, &view));
    assert_true(assignment_is_reassigning(view.assignment));
    assert_int_equal(view.leader, 1);
    assert_false(control_view(w.core, slice_str("t"), 1, &view));
    assert_true(control_has_live(w.core, 4));
    assert_false(control_has_live(w.core, 5));
    world_deinit(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(judging_changes_nothing),
        cmocka_unit_test(a_stale_alter_is_refused),
        cmocka_unit_test(row_01_every_target_starts_from_the_origin),
        cmocka_unit_test(row_02_kept_replicas_keep_the_wanted_order),
        cmocka_unit_test(row_03_21_a_new_order_is_stored_at_once),
        cmocka_unit_test(row_04_each_entry_is_judged_alone),
        cmocka_unit_test(row_05_an_absent_topic),
        cmocka_unit_test(row_06_a_cancel_of_nothing_writes_nothing),
        cmocka_unit_test(row_07_dead_brokers_may_stay),
        cmocka_unit_test(row_08_a_broker_that_shuts_down_is_no_target),
        cmocka_unit_test(row_09_without_the_role_everything_is_refused),
        cmocka_unit_test(row_12_list_shows_what_moves_and_is_asked_for),
        cmocka_unit_test(list_tells_what_a_move_waits_for),
        cmocka_unit_test(row_13_a_partition_named_twice_gets_42_twice),
        cmocka_unit_test(row_14_a_topic_that_is_being_deleted),
        cmocka_unit_test(an_endless_replica_list_is_refused_at_once),
        cmocka_unit_test(a_factor_change_can_be_forbidden),
        cmocka_unit_test(row_16_trace_2_factor_one),
        cmocka_unit_test(row_17_trace_1_requests_leave_in_order),
        cmocka_unit_test(row_18_trace_4_growth_stops_nobody),
        cmocka_unit_test(row_19_20_traces_5_6_7_removal_ends_within_the_call),
        cmocka_unit_test(row_22_traces_8_9_the_same_list_raises_the_epoch),
        cmocka_unit_test(row_23_partitions_of_one_topic_do_not_disturb_each_other),
        cmocka_unit_test(row_27_28_only_the_last_member_completes),
        cmocka_unit_test(a_removal_waits_for_those_that_stay),
        cmocka_unit_test(all_moves_of_a_request_share_one_write_a_topic),
        cmocka_unit_test(row_29_an_override_stops_the_old_target),
        cmocka_unit_test(an_override_stops_nobody_who_joined_unheard),
        cmocka_unit_test(row_30_the_last_of_three_overrides_wins),
        cmocka_unit_test(row_31_trace_10_cancel_before_it_joined),
        cmocka_unit_test(row_32_trace_11_cancel_after_it_joined),
        cmocka_unit_test(writes_say_which_steps_they_are),
        cmocka_unit_test(row_33_34_cancel_restores_the_list_exactly),
        cmocka_unit_test(a_permuted_target_keeps_the_order_asked_for),
        cmocka_unit_test(row_35_cancel_and_target_in_one_request),
        cmocka_unit_test(row_36_a_dropped_leader_hands_over_before_it_stops),
        cmocka_unit_test(row_37_s03_the_same_target_again),
        cmocka_unit_test(row_38_an_adding_replica_counts_as_new_again),
        cmocka_unit_test(s04_mixed_cancels),
        cmocka_unit_test(a_cancel_that_would_strand_is_refused),
        cmocka_unit_test(a_cancel_below_min_isr_is_refused_unless_harmless),
        cmocka_unit_test(row_41_a_target_that_dies_is_waited_for),
        cmocka_unit_test(row_42_the_leader_dies_while_copying),
        cmocka_unit_test(row_43_a_removed_replica_that_is_down_is_not_told),
        cmocka_unit_test(row_44_a_controller_that_dies_after_u1),
        cmocka_unit_test(row_45_a_controller_that_dies_anywhere),
        cmocka_unit_test(row_47_a_fenced_write_ends_the_role),
        cmocka_unit_test(row_48_a_conflicting_isr_change_is_not_lost),
        cmocka_unit_test(a_failed_directory_at_the_target_keeps_it_waiting),
        cmocka_unit_test(row_51_no_old_replica_goes_before_a_new_one_leads),
        cmocka_unit_test(nothing_is_deleted_before_the_new_leader_answered),
        cmocka_unit_test(a_target_that_dies_after_b3_gives_the_lead_back),
        cmocka_unit_test(s23_three_controllers_keep_the_list),
        cmocka_unit_test(row_54_an_adding_replica_can_be_elected_once_in_sync),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
