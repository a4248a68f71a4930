/*
 * When running moves began, kept in the metastore so that a change of the controller does not make them
 * young again: /klamm/moves/TOPIC:G holds those of partitions G*5000 to G*5000+4999, in the form of a
 * node below /config: the partition's number, and as text milliseconds since 1970, then BROKER:BYTES for
 * each arriving replica that cannot be asked how far it is, and last who asked for it. A node is written again after the look that
 * finds other moves in it, or other brokers down, and removed when nothing of it moves.
 * Invariant: one write is out for each node; a write that failed is tried again after the next look.
 * Nothing waits for these writes, and nothing but what is shown depends on them. Runs on the driver's env.
 */
#include "broker/controller/private.h"

#include <stdlib.h>

#define AHEAD_MAX_MS     ((int64_t)7 * 24 * 3600 * 1000) /* by the clock of an earlier controller */
#define GROUP_PARTITIONS 5000
#define BY               "by " /* principal, line end, client id */

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

static void start_restore(struct controller_start *start, const char *text)
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
        int64_t broker = number_take(&text);
        if (broker < 0 || broker > INT32_MAX || *text != ':') {
            break;
        }
        text++;
        moves_progress_restore(start->progress, (int32_t)broker, number_take(&text));
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
        start_restore(start, found->text);
    }
    list_push_back(&g->moves, &start->link);
    dirty_set(g, true);
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

/* The moves of the group as the content of its node. */
static void group_encode(struct buf *b, const struct controller_starts_group *g)
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
        for (int32_t i = 0; i < start->progress->replica_count; i++) {
            const struct moves_replica *r = &start->progress->replicas[i];
            if (r->state == MOVES_REPLICA_DOWN) {
                buf_putf(&text, " %d:%lld", r->broker, (long long)r->copied);
            }
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
        group_encode(&data, g);
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
