/*
 * Results: one allocation scope each, freed at once; and rows of (topic, partition) in order, which is
 * how requests are grouped by topic and answers are found again.
 */
#pragma once

#include "base/arena.h"
#include "klamm/klamm.h"

struct klamm_memory {
    struct arena arena;
    bool failed; /* something did not fit: the result is not usable */
};

struct klamm_memory *client_memory_new(void);
void client_memory_free(struct klamm_memory *memory);
/* Zeroed; NULL and `failed` when it does not fit. */
void *client_memory_array(struct klamm_memory *memory, int32_t count, size_t size);
/* NUL-terminated copy; NULL for the null slice. */
const char *client_memory_text(struct klamm_memory *memory, struct slice text);
struct klamm_ids client_memory_ids(struct klamm_memory *memory, const int32_t *list, int32_t count);
/* KLAMM_ERR_MEMORY: the answer does not fit into CLIENT_MEMORY_MAX. */
int client_memory_fail(struct klamm_error *err);
/* What a person reads about a code: the server's text, or the code's name. NULL with code 0. */
const char *client_memory_message(struct klamm_memory *memory, int16_t code, struct slice text);

struct client_row {
    const char *topic;
    int32_t partition;
    int32_t index; /* in the caller's list */
};

/* By topic (bytes), then partition, then index. */
void client_rows_sort(struct client_row *rows, int32_t count);
/* The rows of one topic. */
struct client_group {
    struct slice topic;
    int32_t *partitions;
    int32_t count;
    int32_t start; /* index of its first row */
};

/* The groups of sorted rows; the array is the arena's, which must have no bound. */
struct client_group *client_rows_group(const struct client_row *rows, int32_t count,
                                       struct arena *arena, int32_t *ret_group_count);
/* The row of that partition, or NULL; the topic is not NUL-terminated. */
const struct client_row *client_rows_find(const struct client_row *rows, int32_t count,
                                          struct slice topic, int32_t partition);
/* Sorted rows of the caller's list (NULL: no rows), to be freed with free(); or NULL and an error when
 * a reference has no topic or a negative partition. */
struct client_row *client_rows_new(const struct klamm_partition_refs *refs,
                                   struct klamm_error *err);
struct wire_list_partition_reassignments_request;
/* The partitions of a List request; what they point to is the arena's, which must have no bound. */
void client_put_listed(const struct client_row *rows, int32_t count, struct arena *arena,
                       struct wire_list_partition_reassignments_request *request);
