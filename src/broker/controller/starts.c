/*
 * When running moves began, kept in the metastore so that a change of the controller does not make them
 * young again: /klamm/moves/TOPIC:G holds those of partitions G*5000 to G*5000+4999, in the form of a
 * node below /config: the partition's number, and as text milliseconds since 1970, then for arriving replicas
 * BROKER:BYTES, what is copied, where the next controller may not be able to ask (the broker is down, or is the
 * controller's own), and BROKER@REASON.ERROR.SINCE, why it waits (without BROKER: the whole does), both as
 * BROKER:BYTES@..., and last who asked for it. A node is written again after the look that finds other moves in
 * it, other reasons, or much more copied to the controller's own broker, and removed when nothing of it moves.
 * Invariant: one write is out for each node; a write that failed is tried again after the next look.
 * Nothing waits for these writes, and nothing but what is shown depends on them. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

#define AHEAD_MAX_MS     ((int64_t)7 * 24 * 3600 * 1000) /* by the clock of an earlier controller */
#define GROUP_PARTITIONS 5000
#define BY               "by " /* principal, line end, client id */
#define TEXT_BYTES_MAX                                                                             \
    700000 /* of a group: beyond, only starts are kept; a node takes a megabyte */
#define OWN_BYTES_MIN 1000000 /* so much more copied to the own broker is worth a write, ... */
#define OWN_PER       64      /* ... or this part of the whole */

/* What was read of a move. */
struct found {
    int32_t partition;
    char *text;
};

struct controller_starts_group {
    struct controller_starts *starts;
    char *name;        /* "topic:group" */
    struct list moves; /* controller_start.link */
    struct found *found;
    int32_t found_count;
    bool exists; /* as far as we know */
    bool is_dirty;
    bool is_out;
    bool is_removing; /* the write that is out removes it */
    bool is_refused;  /* said so; it is not tried again */
    UT_hash_handle hh;
};

struct controller_starts {
    struct controller_starts_group *groups;
    int32_t dirty_count; /* of groups */
    int32_t reads_pending;
};

static int found_compare(const void *a, const void *b)
{
    const struct found *x = a;
    const struct found *y = b;
    return (x->partition > y->partition) - (x->partition < y->partition);
}

/* ---- groups ---- */

static struct controller_starts_group *group_get(struct controller *c, struct slice name)
{
    struct controller_starts_group *g = NULL;
    HASH_FIND(hh, c->starts->groups, name.ptr, name.len, g);
    if (g == NULL) {
        g = xalloc(sizeof *g);
        g->starts = c->starts;
        g->name = slice_dup(name);
        list_init(&g->moves);
        HASH_ADD_KEYPTR(hh, c->starts->groups, g->name, name.len, g);
    }
    return g;
}

static void dirty_set(struct controller_starts_group *g, bool is_dirty)
{
    bool is_counted = is_dirty && !g->is_refused;
    g->starts->dirty_count += is_counted - (g->is_dirty && !g->is_refused);
    g->is_dirty = is_dirty;
}

static void group_free(struct controller *c, struct controller_starts_group *g)
{
    dirty_set(g, false);
    HASH_DEL(c->starts->groups, g);
    for (int32_t i = 0; i < g->found_count; i++) {
        free(g->found[i].text);
    }
    free(g->found);
    free(g->name);
    free(g);
}

void controller_starts_reset(struct controller *c)
{
    struct controller_starts_group *g = NULL;
    struct controller_starts_group *next = NULL;
    if (c->starts == NULL) {
        return;
    }
    HASH_ITER(hh, c->starts->groups, g, next)
    {
        CHECK(list_is_empty(&g->moves));
        group_free(c, g);
    }
    free(c->starts);
    c->starts = NULL;
}

/* ---- moves ---- */

/* The number at the start of *text, which then begins behind it; -1 when there is none, or a huge one. */
static int64_t number_take(const char **text)
{
    int64_t number = 0;
    const char *start = *text;
    for (; **text >= '0' && **text <= '9'; (*text)++) {
        number = number > INT64_MAX / 100 ? number : number * 10 + (**text - '0');
    }
    return *text == start || number > INT64_MAX / 100 ? -1 : number;
}

/* "REASON.ERROR.SINCE" */
static bool wait_take(const char **text, struct moves_wait *ret)
{
    int64_t numbers[3];
    for (int i = 0; i < 3; i++) {
        if (i > 0 && **text != '.') {
            return false;
        }
        *text += i > 0;
        numbers[i] = number_take(text);
        if (numbers[i] < 0) {
            return false;
        }
    }
    *ret = (struct moves_wait){(enum moves_reason)MIN(numbers[0], INT8_MAX),
                               (int16_t)(uint16_t)numbers[1], numbers[2]};
    return numbers[0] < MOVES_REASON_COUNT && numbers[1] <= UINT16_MAX;
}

/* One word about an arriving replica, or about the whole; false: it cannot be read. */
static bool word_restore(struct controller *c, struct controller_start *start, const char **text)
{
    struct moves_wait wait;
    int64_t broker = **text == '@' ? -1 : number_take(text);
    if (broker > INT32_MAX || (broker < 0 && **text != '@')) {
        return false;
    }
    if (**text == ':') {
        (*text)++;
        moves_progress_restore(start->progress, (int32_t)broker, number_take(text));
    }
    if (**text == '@') {
        (*text)++;
        if (!wait_take(text, &wait) || wait.since_ms > env_wall_ms(c->env)) {
            return false;
        }
        if (wait.reason == MOVES_REASON_TARGET_DOWN && broker >= 0) {
            controller_log_dirs_was_down(c, (int32_t)broker, wait.since_ms);
        } else {
            moves_progress_restore_wait(start->progress, (int32_t)broker, &wait);
        }
    }
    return **text == ' ' || **text == '\0';
}

static void start_restore(struct controller *c, struct controller_start *start, const char *text)
{
    int64_t started_ms = number_take(&text);
    if (started_ms < 0 || started_ms > start->started_ms + AHEAD_MAX_MS) {
        return; /* no clock is that wrong */
    }
    start->started_ms = started_ms;
    while (*text == ' ') {
        text++;
        const char *line_end = strchr(text, '\n');
        if (strncmp(text, BY, strlen(BY)) == 0 && line_end != NULL) {
            text += strlen(BY);
            start->submitter = controller_submitter_new(slice_of(text, (size_t)(line_end - text)),
                                                        slice_str(line_end + 1));
            break;
        }
        if (!word_restore(c, start, &text)) {
            break;
        }
    }
}

void controller_starts_add(struct controller *c, struct controller_start *start,
                           const struct control_moving *moving)
{
    char *name =
        xasprintf("%.*s:%d", SLICE_ARG(moving->topic), moving->partition / GROUP_PARTITIONS);
    struct controller_starts_group *g = group_get(c, slice_str(name));
    free(name);
    start->partition = moving->partition;
    start->group = g;
    struct found key = {.partition = moving->partition};
    const struct found *found =
        moving->is_resumed && g->found_count > 0
            ? bsearch(&key, g->found, (size_t)g->found_count, sizeof key, found_compare)
            : NULL;
    if (found != NULL) {
        start_restore(c, start, found->text);
    }
    list_push_back(&g->moves, &start->link);
    dirty_set(g, true);
}

void controller_starts_look(struct controller *c, struct controller_start *start)
{
    const struct moves_progress *progress = start->progress;
    for (int32_t i = 0; i < progress->replica_count; i++) {
        const struct moves_replica *r = &progress->replicas[i];
        bool is_own = r->broker == c->config.broker_id;
        if (is_own &&
            r->copied - start->own_copied >= MAX(progress->to_copy / OWN_PER, OWN_BYTES_MIN)) {
            start->own_copied = r->copied;
            controller_starts_touch(start);
        }
    }
}

void controller_starts_touch(struct controller_start *start)
{
    dirty_set(start->group, true);
}

void controller_starts_remove(struct controller_start *start)
{
    list_remove(&start->group->moves, &start->link);
    dirty_set(start->group, true);
}

bool controller_starts_is_settled(const struct controller *c)
{
    return c->starts == NULL || c->starts->dirty_count == 0;
}

/* ---- writing ---- */

static void written(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    struct controller_starts_group *g = item;
    g->is_out = false;
    if (result->err == 0) {
        g->exists = !g->is_removing;
    } else if (result->err == -E_EXISTS || result->err == -E_NOT_FOUND) {
        g->exists = result->err == -E_EXISTS;
        dirty_set(g, !g->is_removing);
    } else if (result->err == -E_UNKNOWN_OUTCOME) {
        g->exists =
            true; /* it may: what is not there says so at the next write, or at its removal */
        dirty_set(g, true);
    } else if (result->err != -E_BAD_VERSION && result->err != -E_SESSION_EXPIRED) {
        char *text =
            xasprintf("the start of moves in %s is not kept: %s", g->name, error_name(result->err));
        controller_log(c, CONTROL_WARNING, text);
        free(text);
        dirty_set(g, false);
        g->is_refused = true;
    }
}

static void wait_encode(struct buf *text, const struct moves_wait *wait)
{
    buf_putf(text, "@%d.%d.%lld", (int)wait->reason, (int)(uint16_t)wait->error,
             (long long)wait->since_ms);
}

/* What the next controller cannot find out. */
static void words_encode(const struct controller *c, const struct controller_start *start,
                         struct buf *text)
{
    const struct moves_progress *progress = start->progress;
    bool is_told = false;
    for (int32_t i = 0; i < progress->replica_count; i++) {
        const struct moves_replica *r = &progress->replicas[i];
        bool waits = r->wait.reason != MOVES_REASON_NONE;
        bool is_silent =
            r->state == MOVES_REPLICA_DOWN || (r->broker == c->config.broker_id && r->copied > 0);
        is_told = is_told || waits;
        if (waits || is_silent) {
            buf_putf(text, " %d", r->broker);
        }
        if (is_silent) {
            buf_putf(text, ":%lld", (long long)r->copied);
        }
        if (waits) {
            wait_encode(text, &r->wait);
        }
    }
    if (!is_told && progress->wait.reason != MOVES_REASON_NONE) {
        buf_put_str(text, " ");
        wait_encode(text, &progress->wait);
    }
}

/* The moves of the group as the content of its node. */
static void group_encode(const struct controller *c, struct buf *b,
                         const struct controller_starts_group *g)
{
    struct model_setting *settings = xalloc((g->moves.count + 1) * sizeof *settings);
    struct buf text; /* all numbers one after the other */
    struct list_node *n = NULL;
    int32_t count = 0;
    buf_init(&text);
    list_foreach (n, &g->moves) {
        const struct controller_start *start = CONTAINER_OF(n, struct controller_start, link);
        size_t at = text.len;
        buf_putf(&text, "%d", start->partition);
        settings[count].key.len = text.len - at;
        at = text.len;
        buf_putf(&text, "%lld", (long long)start->started_ms);
        if (text.len < TEXT_BYTES_MAX) {
            words_encode(c, start, &text);
        }
        if (start->submitter != NULL) {
            buf_putf(&text, " " BY "%s\n%s", start->submitter->principal,
                     start->submitter->client_id);
        }
        settings[count++].value.len = text.len - at;
    }
    const uint8_t *ptr = text.ptr;
    for (int32_t i = 0; i < count; i++) {
        settings[i].key.ptr = ptr;
        settings[i].value.ptr = ptr + settings[i].key.len;
        ptr += settings[i].key.len + settings[i].value.len;
    }
    metastore_config_encode(b, settings, count);
    buf_deinit(&text);
    free(settings);
}

static void group_write(struct controller *c, struct controller_starts_group *g)
{
    struct metastore_path path;
    struct buf data;
    bool is_empty = list_is_empty(&g->moves);
    buf_init(&data);
    if (!is_empty) {
        group_encode(c, &data, g);
    }
    struct metastore_op ops[] = {
        {.kind = METASTORE_CHECK,
         .path = slice_str(METASTORE_CONTROLLER_EPOCH),
         .version = c->epoch_version},
        {.kind = is_empty    ? METASTORE_DELETE
                 : g->exists ? METASTORE_SET
                             : METASTORE_CREATE,
         .path = metastore_path_child(&path, METASTORE_MOVES, slice_str(g->name)),
         .data = buf_slice(&data),
         .version = -1},
    };
    dirty_set(g, false);
    g->is_out = true;
    g->is_removing = is_empty;
    metastore_multi(c->store, ops, 2, written, controller_pending_new(c, g));
    buf_deinit(&data);
}

bool controller_starts_flush(struct controller *c, int32_t moves_max)
{
    struct controller_starts_group *g = NULL;
    struct controller_starts_group *next = NULL;
    int64_t left = moves_max;
    HASH_ITER(hh, c->starts->groups, g, next)
    {
        bool is_empty = list_is_empty(&g->moves);
        if (g->is_out || (!g->is_dirty && !is_empty)) {
            continue;
        }
        if (left <= 0) {
            return true;
        }
        left -= 1 + (int64_t)g->moves.count;
        if (is_empty && (!g->exists || g->is_refused)) {
            group_free(c, g);
        } else if (g->is_dirty && !g->is_refused) {
            group_write(c, g);
        }
    }
    return false;
}

/* ---- loading ---- */

static void loaded_check(struct controller *c)
{
    if (c->starts->reads_pending == 0) {
        controller_moves_load(c);
    }
}

static void start_take(void *arg, struct slice key, struct slice value)
{
    struct controller_starts_group *g = arg;
    char *name = slice_dup(key);
    const char *end = name;
    int64_t partition = number_take(&end);
    if (partition >= 0 && partition <= INT32_MAX && *end == '\0' &&
        g->found_count < GROUP_PARTITIONS) {
        g->found[g->found_count++] =
            (struct found){.partition = (int32_t)partition, .text = slice_dup(value)};
    }
    free(name);
}

static void group_read(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    struct controller_starts_group *g = item;
    struct errmsg em;
    if (result->err == 0) {
        g->found = xalloc(GROUP_PARTITIONS * sizeof *g->found);
        if (metastore_config_decode(result->data, start_take, g, &em) != 0) {
            char *text =
                xasprintf("the start of moves in %s cannot be read: %.300s", g->name, em.text);
            controller_log(c, CONTROL_WARNING, text);
            free(text);
        }
        qsort(g->found, (size_t)g->found_count, sizeof *g->found, found_compare);
    }
    c->starts->reads_pending--;
    loaded_check(c);
}

static void groups_listed(void *arg, const struct metastore_result *result)
{
    struct controller *c = NULL;
    void *item = NULL;
    if (!controller_pending_end(arg, &c, &item)) {
        return;
    }
    for (int32_t i = 0; result->err == 0 && i < result->child_count; i++) {
        struct metastore_path path;
        struct controller_starts_group *g = group_get(c, result->children[i]);
        g->exists = true;
        dirty_set(g, true); /* what it says may be over */
        c->starts->reads_pending++;
        metastore_get(c->store, metastore_path_child(&path, METASTORE_MOVES, result->children[i]),
                      NULL, NULL, group_read, controller_pending_new(c, g));
    }
    loaded_check(c);
}

void controller_starts_load(struct controller *c)
{
    c->starts = xalloc(sizeof *c->starts);
    metastore_children(c->store, slice_str(METASTORE_MOVES), NULL, NULL, groups_listed,
                       controller_pending_new(c, NULL));
}
