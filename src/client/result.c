/*
 * Memory of results, and ordered rows.
 */
#include "client/result.h"

#include "base/alloc.h"
#include "base/check.h"
#include "client/client.h"

#include <stdlib.h>

struct klamm_memory *client_memory_new(void)
{
    struct klamm_memory *memory = xalloc(sizeof *memory);
    arena_init(&memory->arena, CLIENT_MEMORY_MAX);
    return memory;
}

void client_memory_free(struct klamm_memory *memory)
{
    if (memory != NULL) {
        arena_deinit(&memory->arena);
        free(memory);
    }
}

void *client_memory_array(struct klamm_memory *memory, int32_t count, size_t size)
{
    void *array = arena_array(&memory->arena, (size_t)MAX(count, 1), size);
    memory->failed = memory->failed || array == NULL;
    return array;
}

const char *client_memory_text(struct klamm_memory *memory, struct slice text)
{
    if (slice_is_null(text)) {
        return NULL;
    }
    char *copy = arena_str(&memory->arena, text);
    memory->failed = memory->failed || copy == NULL;
    return copy;
}

struct klamm_ids client_memory_ids(struct klamm_memory *memory, const int32_t *list, int32_t count)
{
    if (count <= 0) {
        return (struct klamm_ids){NULL, 0};
    }
    int32_t *copy = client_memory_array(memory, count, sizeof *copy);
    if (copy == NULL) {
        return (struct klamm_ids){NULL, 0};
    }
    memcpy(copy, list, (size_t)count * sizeof *copy);
    return (struct klamm_ids){copy, count};
}

int client_memory_fail(struct klamm_error *err)
{
    return client_fail(err, KLAMM_ERR_MEMORY, "the answer is larger than we accept");
}

const char *client_memory_message(struct klamm_memory *memory, int16_t code, struct slice text)
{
    if (code == 0) {
        return NULL;
    }
    return text.len > 0 ? client_memory_text(memory, text) : klamm_code_name(code);
}

static int compare_rows(const void *a, const void *b)
{
    const struct client_row *x = a;
    const struct client_row *y = b;
    int order = strcmp(x->topic, y->topic);
    if (order != 0) {
        return order;
    }
    if (x->partition != y->partition) {
        return x->partition < y->partition ? -1 : 1;
    }
    return x->index < y->index ? -1 : x->index > y->index;
}

void client_rows_sort(struct client_row *rows, int32_t count)
{
    if (count > 1) {
        qsort(rows, (size_t)count, sizeof *rows, compare_rows);
    }
}

static int32_t run_length(const struct client_row *rows, int32_t count, int32_t start)
{
    int32_t end = start + 1;
    while (end < count && strcmp(rows[end].topic, rows[start].topic) == 0) {
        end++;
    }
    return end - start;
}

struct client_group *client_rows_group(const struct client_row *rows, int32_t count,
                                       struct arena *arena, int32_t *ret_group_count)
{
    int32_t group_count = 0;
    for (int32_t i = 0; i < count; i += run_length(rows, count, i)) {
        group_count++;
    }
    struct client_group *groups = arena_array(arena, (size_t)MAX(group_count, 1), sizeof *groups);
    int32_t *partitions = arena_array(arena, (size_t)MAX(count, 1), sizeof *partitions);
    CHECK(groups != NULL && partitions != NULL);
    int32_t used = 0;
    for (int32_t i = 0; i < count; i++) {
        partitions[i] = rows[i].partition;
        if (i == 0 || strcmp(rows[i].topic, rows[i - 1].topic) != 0) {
            groups[used++] = (struct client_group){
                .topic = slice_str(rows[i].topic), .partitions = &partitions[i], .start = i};
        }
        groups[used - 1].count++;
    }
    *ret_group_count = group_count;
    return groups;
}

const struct client_row *client_rows_find(const struct client_row *rows, int32_t count,
                                          struct slice topic, int32_t partition)
{
    int32_t low = 0;
    int32_t high = count;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        const struct client_row *row = &rows[middle];
        int order = slice_compare(slice_str(row->topic), topic);
        if (order == 0 && row->partition == partition) {
            return row;
        }
        if (order < 0 || (order == 0 && row->partition < partition)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return NULL;
}

struct client_row *client_rows_new(const struct klamm_partition_refs *refs, struct klamm_error *err)
{
    int32_t count = refs == NULL ? 0 : refs->count;
    struct client_row *rows = xalloc((size_t)MAX(count, 1) * sizeof *rows);
    for (int32_t i = 0; i < count; i++) {
        const struct klamm_partition_ref *ref = &refs->list[i];
        if (ref->topic == NULL || ref->topic[0] == '\0' || ref->partition < 0) {
            (void)client_fail(err, KLAMM_ERR_ARGUMENT,
                              "a partition needs a topic name and an index of 0 or more");
            free(rows);
            return NULL;
        }
        rows[i] = (struct client_row){ref->topic, ref->partition, i};
    }
    client_rows_sort(rows, count);
    return rows;
}
