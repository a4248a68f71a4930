/*
 * Numbers are read as integers of their range; whatever is missing or of another type makes the text
 * unreadable as a whole.
 */
#include "cli/job_text.h"

#include "base/alloc.h"
#include "base/check.h"
#include "cli/json.h"
#include "cli/text.h"

#include <inttypes.h>
#include <stdlib.h>

#define MEMORY_MAX  ((size_t)256 << 20) /* bytes of values of one text */
#define MOVE_VALUES 7     /* topic, partition, target, original, marks, started_ms, replaces */
#define IDS_MAX     10000 /* of one list */
#define BYTES_MAX   (INT64_C(1) << 62)

struct cli_job_text {
    struct arena arena;
    struct model_job_piece piece; /* owned lists inside */
};

/* ---- writing ---- */

static void put_text(struct buf *out, struct slice text)
{
    char *copy = slice_dup(text);
    cli_text_put_json(out, copy);
    free(copy);
}

static void put_ids(struct buf *out, const struct ids *ids)
{
    cli_text_put_json_ids(out, (struct klamm_ids){ids->list, ids->count});
}

void cli_job_text_put(const struct model_job *job, struct buf *out)
{
    buf_putf(out, "{\"serial\":%" PRIu64 ",\"fate\":%d,\"submitted_by\":", job->serial,
             (int)job->fate);
    put_text(out, job->submitted_by);
    buf_put_str(out, ",\"client_id\":");
    put_text(out, job->client_id);
    buf_putf(out,
             ",\"submitted_ms\":%" PRId64 ",\"finished_ms\":%" PRId64 ",\"rate\":%" PRId64
             ",\"priority\":%d,\"one_at_a_time\":%d,\"stock\":%d,\"pieces\":%" PRId32
             ",\"total\":%" PRId32 ",\"done\":%" PRId32 ",\"cancelled\":%" PRId32
             ",\"to_copy\":%" PRId64 ",\"copied\":%" PRId64 "}",
             job->submitted_ms, job->finished_ms, job->rate, job->priority,
             job->is_one_at_a_time ? 1 : 0, job->is_stock ? 1 : 0, job->piece_count,
             job->moves_total, job->moves_done, job->moves_cancelled, job->bytes_to_copy,
             job->bytes_copied);
}

void cli_job_text_put_piece(const struct model_job_piece *piece, struct buf *out)
{
    buf_put_u8(out, '[');
    for (int32_t i = 0; i < piece->count; i++) {
        const struct model_job_move *move = &piece->moves[i];
        buf_put_str(out, i == 0 ? "[" : ",[");
        put_text(out, move->topic);
        buf_putf(out, ",%" PRId32 ",", move->partition);
        put_ids(out, &move->target);
        buf_put_u8(out, ',');
        put_ids(out, &move->original);
        buf_putf(out, ",%" PRId32 ",%" PRId64 ",", move->marks, move->started_ms);
        put_ids(out, &move->replaces);
        buf_put_u8(out, ']');
    }
    buf_put_u8(out, ']');
}

/* ---- reading ---- */

void cli_job_text_free(struct cli_job_text *memory)
{
    if (memory == NULL) {
        return;
    }
    for (int32_t i = 0; i < memory->piece.count; i++) {
        ids_deinit(&memory->piece.moves[i].target);
        ids_deinit(&memory->piece.moves[i].original);
        ids_deinit(&memory->piece.moves[i].replaces);
    }
    arena_deinit(&memory->arena);
    free(memory);
}

static int parse(struct slice text, enum cli_json_kind kind, struct cli_job_text **ret_memory,
                 struct cli_json **ret_root, struct errmsg *em)
{
    struct cli_json_error error;
    struct cli_job_text *memory = xalloc(sizeof *memory);
    arena_init(&memory->arena, MEMORY_MAX);
    if (cli_json_parse(text, &memory->arena, ret_root, &error) < 0) {
        cli_job_text_free(memory);
        return errmsg_set(em, E_CORRUPT, "column %" PRId32 ": %s", error.at.column, error.text);
    }
    enum cli_json_kind found = (*ret_root)->kind;
    if (found != kind) {
        cli_job_text_free(memory);
        return errmsg_set(em, E_CORRUPT, "it is %s", cli_json_kind_name(found));
    }
    *ret_memory = memory;
    return 0;
}

struct range {
    int64_t min;
    int64_t max;
};

/* The member as a number of that range; false marks the whole as bad. */
static int64_t number(const struct cli_json *root, const char *key, struct range range,
                      bool *is_good)
{
    int64_t value = 0;
    const struct cli_json *member = cli_json_member(root, key);
    if (member == NULL ||
        cli_json_int(member, range.min, range.max, &value) != CLI_JSON_INTEGER_OK) {
        *is_good = false;
    }
    return value;
}

static struct slice string(const struct cli_json *root, const char *key, bool *is_good)
{
    const struct cli_json *member = cli_json_member(root, key);
    if (member == NULL || member->kind != CLI_JSON_STRING ||
        member->text.len > MODEL_JOB_TEXT_MAX) {
        *is_good = false;
        return slice_str("");
    }
    return member->text;
}

int cli_job_text_read(struct slice text, struct slice id, struct model_job *ret_job,
                      struct cli_job_text **ret_memory, struct errmsg *em)
{
    static const struct range counts = {0, INT32_MAX};
    static const struct range bytes = {-1, BYTES_MAX};
    static const struct range flag = {0, 1};
    struct cli_json *root = NULL;
    struct cli_job_text *memory = NULL;
    int err = parse(text, CLI_JSON_OBJECT, &memory, &root, em);
    if (err < 0) {
        return err;
    }
    bool is_good = id.len > 0 && id.len <= MODEL_JOB_ID_MAX;
    struct model_job job = {.id = id};
    job.serial = (uint64_t)number(root, "serial", (struct range){0, INT64_MAX}, &is_good);
    job.fate = (enum model_job_fate)number(
        root, "fate", (struct range){MODEL_JOB_WRITING, MODEL_JOB_STOPPED}, &is_good);
    job.submitted_by = string(root, "submitted_by", &is_good);
    job.client_id = string(root, "client_id", &is_good);
    job.submitted_ms = number(root, "submitted_ms", bytes, &is_good);
    job.finished_ms = number(root, "finished_ms", bytes, &is_good);
    job.rate = number(root, "rate", bytes, &is_good);
    job.priority =
        (int8_t)number(root, "priority", (struct range){0, MODEL_JOB_PRIORITIES - 1}, &is_good);
    job.is_one_at_a_time = number(root, "one_at_a_time", flag, &is_good) != 0;
    job.is_stock = number(root, "stock", flag, &is_good) != 0;
    job.piece_count = (int32_t)number(root, "pieces", counts, &is_good);
    job.moves_total = (int32_t)number(root, "total", counts, &is_good);
    job.moves_done = (int32_t)number(root, "done", counts, &is_good);
    job.moves_cancelled = (int32_t)number(root, "cancelled", counts, &is_good);
    job.bytes_to_copy = number(root, "to_copy", bytes, &is_good);
    job.bytes_copied = number(root, "copied", bytes, &is_good);
    if (!is_good || job.rate == 0) {
        cli_job_text_free(memory);
        return errmsg_set(em, E_CORRUPT, "a value of the job is missing or out of range");
    }
    *ret_job = job;
    *ret_memory = memory;
    return 0;
}

static bool read_ids(const struct cli_json *list, struct ids *ids)
{
    if (list->kind != CLI_JSON_ARRAY || list->count > IDS_MAX) {
        return false;
    }
    for (const struct cli_json *value = list->first; value != NULL; value = value->next) {
        int64_t id = 0;
        if (cli_json_int(value, 0, INT32_MAX, &id) != CLI_JSON_INTEGER_OK) {
            return false;
        }
        ids_add(ids, (int32_t)id);
    }
    return !ids_has_duplicate(ids);
}

static bool read_move(const struct cli_json *row, struct model_job_move *move)
{
    int64_t partition = 0;
    int64_t marks = 0;
    const char *reason = NULL;
    if (row->kind != CLI_JSON_ARRAY || row->count != MOVE_VALUES) {
        return false;
    }
    const struct cli_json *values[MOVE_VALUES];
    const struct cli_json *value = row->first;
    for (int i = 0; i < MOVE_VALUES; i++, value = value->next) {
        values[i] = value;
    }
    bool is_good = values[0]->kind == CLI_JSON_STRING &&
                   cli_text_is_topic_name(values[0]->text, &reason) &&
                   cli_json_int(values[1], 0, INT32_MAX, &partition) == CLI_JSON_INTEGER_OK &&
                   cli_json_int(values[4], 0, 1023, &marks) == CLI_JSON_INTEGER_OK &&
                   cli_json_int(values[5], -1, BYTES_MAX, &move->started_ms) == CLI_JSON_INTEGER_OK;
    move->topic = values[0]->text;
    move->partition = (int32_t)partition;
    move->marks = (int32_t)marks;
    return is_good && read_ids(values[2], &move->target) && move->target.count > 0 &&
           read_ids(values[3], &move->original) && read_ids(values[6], &move->replaces);
}

int cli_job_text_read_piece(struct slice text, struct model_job_piece *ret_piece,
                            struct cli_job_text **ret_memory, struct errmsg *em)
{
    struct cli_json *root = NULL;
    struct cli_job_text *memory = NULL;
    int err = parse(text, CLI_JSON_ARRAY, &memory, &root, em);
    if (err < 0) {
        return err;
    }
    memory->piece.moves =
        arena_array(&memory->arena, (size_t)MAX(root->count, 1), sizeof *memory->piece.moves);
    const struct cli_json *row = memory->piece.moves == NULL ? NULL : root->first;
    bool is_good = memory->piece.moves != NULL;
    while (is_good && row != NULL) {
        struct model_job_move *move = &memory->piece.moves[memory->piece.count++];
        *move = (struct model_job_move){0};
        is_good = read_move(row, move);
        row = row->next;
    }
    if (!is_good) {
        int32_t at = memory->piece.count;
        cli_job_text_free(memory);
        return errmsg_set(em, E_CORRUPT, "move %" PRId32 " of the piece cannot be read", at);
    }
    *ret_piece = memory->piece;
    *ret_memory = memory;
    return 0;
}
