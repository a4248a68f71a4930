/*
 * Jobs, the pieces they are stored in, and their end.
 *
 * What an answer promises is stored before it; what can be seen in the topic znodes if need be (that a move
 * has ended) is stored some time later, several at once. A job that is over stays in the history, first with
 * its moves, so that it can be undone, then as a summary. Invariant: job.open is the number of its moves
 * that are not over. Pure.
 */
#include "moves/core.h"
#include "moves/reason.h"

#include <stdlib.h>

/* ---- moves ---- */

static bool is_begun(enum queue_state state)
{
    return state == QUEUE_STARTING || state == QUEUE_RUNNING;
}

void moves_move_state(struct moves *m, struct queue_move *v, enum queue_state state)
{
    static const unsigned char allowed[] = {
        [QUEUE_COMING] = 1 << QUEUE_WAITING | 1 << QUEUE_RUNNING | 1 << QUEUE_OVER,
        [QUEUE_WAITING] = 1 << QUEUE_BEGINNING | 1 << QUEUE_STARTING | 1 << QUEUE_RUNNING |
                          1 << QUEUE_OVER | 1 << QUEUE_WAITING,
        [QUEUE_BEGINNING] = 1 << QUEUE_STARTING | 1 << QUEUE_WAITING | 1 << QUEUE_OVER,
        [QUEUE_STARTING] = 1 << QUEUE_RUNNING | 1 << QUEUE_WAITING | 1 << QUEUE_OVER,
        [QUEUE_RUNNING] = 1 << QUEUE_WAITING | 1 << QUEUE_OVER,
        [QUEUE_OVER] = 0,
    };
    CHECKF((allowed[v->state] >> state & 1) != 0, "from %d to %d", v->state, state);
    bool was_begun = is_begun(v->state);
    m->waiting_count += (state == QUEUE_WAITING) - (v->state == QUEUE_WAITING);
    v->state = state;
    if (is_begun(state) && !was_begun) {
        list_push_back(&v->job->running, &v->link);
    } else if (!is_begun(state) && was_begun) {
        list_remove(&v->job->running, &v->link);
    }
    m->is_limits_dirty = true;
}

void moves_move_reason(struct moves *m, struct queue_move *v, int8_t reason, int16_t error)
{
    if (v->reason != reason || v->reason_error != error || v->since_ms < 0) {
        v->reason = reason;
        v->reason_error = error;
        v->since_ms = m->wall_ms;
        /* A slot is waited for since the submission: that is known without being stored. */
        if (reason != MOVES_REASON_NONE && reason != MOVES_REASON_SLOT && !v->job->is_coming) {
            moves_move_changed(m, v);
        }
    }
}

void moves_move_changed(struct moves *m, struct queue_move *v)
{
    struct queue_piece *piece = v->piece;
    piece->seq++;
    if (v->job->is_coming) {
        return; /* it is stored as a whole */
    }
    if (!list_has(&piece->dirty)) {
        list_push_back(&m->dirty, &piece->dirty);
    }
    m->lazy_at_ms = MIN(m->lazy_at_ms, m->now_ms + QUEUE_LAZY_MS);
}

void moves_move_pause(struct moves *m, struct queue_move *v, bool is_paused)
{
    bool was_paused = (v->marks & MODEL_JOB_PAUSED) != 0;
    if (was_paused == is_paused || v->state == QUEUE_OVER) {
        return;
    }
    v->marks ^= MODEL_JOB_PAUSED;
    v->job->unpaused += is_paused ? -1 : 1;
    moves_move_changed(m, v);
    m->is_limits_dirty = true;
}

static void job_end_check(struct moves *m, struct queue_job *job)
{
    if (job->open == 0 && !job->is_coming && !list_has(&job->finishing)) {
        list_push_back(&m->finishing, &job->finishing);
        m->lazy_at_ms = MIN(m->lazy_at_ms, m->now_ms);
    }
}

void moves_move_end(struct moves *m, struct queue_move *v, enum model_job_mark mark)
{
    struct queue_place *p = v->place;
    struct queue_job *job = v->job;
    CHECK(v->state != QUEUE_OVER);
    moves_leave(m, v);
    job->unpaused -= (v->marks & MODEL_JOB_PAUSED) == 0;
    job->open--;
    moves_move_state(m, v, QUEUE_OVER);
    bool is_new = v->marks != (int32_t)mark; /* a load brings what is stored */
    v->marks = mark;
    v->place = NULL;
    v->since_ms = m->wall_ms;
    if (mark == MODEL_JOB_DONE && is_new) {
        moves_bytes_done(m, v);
    }
    job->node.moves_done += mark == MODEL_JOB_DONE;
    job->node.moves_cancelled += mark == MODEL_JOB_CANCELLED;
    if (p != NULL && p->running == v) {
        p->running = NULL;
        if (!moves_is_asked(p->waiting)) {
            moves_give_back(m, p);
        }
    } else if (p != NULL && p->waiting == v) {
        p->waiting = NULL;
    }
    if (is_new) {
        moves_move_changed(m, v);
    }
    job_end_check(m, job);
}

/* ---- jobs ---- */

struct queue_job *moves_job_find(const struct moves *m, struct slice id)
{
    struct queue_job *job = NULL;
    HASH_FIND(hh, m->jobs_by_id, id.ptr, id.len, job);
    return job;
}

static void text_free(struct slice text)
{
    free((void *)(uintptr_t)text.ptr); /* owned: made by text_own */
}

static struct slice text_own(struct slice text)
{
    return slice_str(slice_dup(slice_of(text.ptr, text.len)));
}

static bool is_final(const struct queue_job *job)
{
    return job->node.fate == MODEL_JOB_OVER || job->node.fate == MODEL_JOB_STOPPED;
}

struct queue_job *moves_job_new(struct moves *m, const struct model_job *node)
{
    struct queue_job *job = xalloc(sizeof *job);
    job->node = *node;
    job->node.id = text_own(node->id);
    job->node.submitted_by = text_own(node->submitted_by);
    job->node.client_id = text_own(node->client_id);
    job->is_coming = node->fate == MODEL_JOB_WRITING;
    list_init(&job->running);
    list_init(&job->names);
    HASH_ADD_KEYPTR(hh, m->jobs_by_id, job->node.id.ptr, job->node.id.len, job);
    list_push_back(is_final(job) ? &m->history : &m->jobs, &job->link);
    m->next_serial = MAX(m->next_serial, node->serial + 1);
    return job;
}

static void move_free(struct moves *m, struct queue_move *v)
{
    if (v->state != QUEUE_OVER) {
        moves_leave(m, v);
        m->waiting_count -= v->state == QUEUE_WAITING;
    }
    moves_unheard_remove(m, v);
    ids_deinit(&v->target);
    ids_deinit(&v->original);
    ids_deinit(&v->step);
    ids_deinit(&v->from);
    ids_deinit(&v->replaces);
    ids_deinit(&v->adding);
    free(v);
}

static void pieces_free(struct moves *m, struct queue_job *job)
{
    struct queue_store *s = NULL;
    struct queue_store *next = NULL;
    HASH_ITER(hh, m->stores, s, next)
    {
        if (s->piece != NULL && s->piece->job == job) {
            s->piece = NULL;
        }
    }
    for (int32_t i = 0; i < job->piece_count; i++) {
        struct queue_piece *piece = job->pieces[i];
        list_remove(&m->dirty, &piece->dirty);
        for (int32_t j = 0; j < piece->count; j++) {
            move_free(m, piece->moves[j]);
        }
        free(piece->moves);
        free(piece);
    }
    free(job->pieces);
    job->pieces = NULL;
    job->piece_count = job->piece_cap = 0;
    struct list_node *n = NULL;
    while ((n = list_pop(&job->names)) != NULL) {
        struct queue_name *name = CONTAINER_OF(n, struct queue_name, link);
        text_free(name->text);
        free(name);
    }
}

void moves_job_free(struct moves *m, struct queue_job *job)
{
    struct queue_store *s = NULL;
    struct queue_store *next = NULL;
    pieces_free(m, job);
    HASH_ITER(hh, m->stores, s, next)
    {
        if (s->job == job) {
            s->job = NULL;
        }
    }
    HASH_DEL(m->jobs_by_id, job);
    list_remove(is_final(job) ? &m->history : &m->jobs, &job->link);
    list_remove(&m->finishing, &job->finishing);
    text_free(job->node.id);
    text_free(job->node.submitted_by);
    text_free(job->node.client_id);
    free(job);
}

static struct slice name_own(struct queue_job *job, struct slice topic)
{
    struct queue_name *name = NULL;
    if (!list_is_empty(&job->names)) {
        name = CONTAINER_OF(job->names.head.prev, struct queue_name, link);
    }
    if (name == NULL || !slice_equal(name->text, topic)) {
        name = xalloc(sizeof *name);
        name->text = text_own(topic);
        list_push_back(&job->names, &name->link);
    }
    return name->text;
}

/* A bound of what the move takes in JSON: the original list may change its length with the partition. */
static size_t move_bytes(const struct model_job_move *from)
{
    return 160 + from->topic.len +
           12 * (size_t)(from->target.count + from->original.count + from->replaces.count + 16);
}

static struct queue_piece *piece_for(struct queue_job *job, int32_t index, size_t bytes)
{
    struct queue_piece *last = job->piece_count == 0 ? NULL : job->pieces[job->piece_count - 1];
    if (index < 0) {
        bool has_room = last != NULL && last->bytes + bytes <= QUEUE_PIECE_BYTES;
        index = job->piece_count - (has_room ? 1 : 0);
    }
    while (job->piece_count <= index) {
        if (job->piece_count == job->piece_cap) {
            job->piece_cap = job->piece_cap == 0 ? 4 : job->piece_cap * 2;
            job->pieces = xrealloc(job->pieces, (size_t)job->piece_cap * sizeof *job->pieces);
        }
        struct queue_piece *piece = xalloc(sizeof *piece);
        piece->job = job;
        piece->index = job->piece_count;
        job->pieces[job->piece_count++] = piece;
    }
    return job->pieces[index];
}

static int64_t key_of(const struct queue_job *job, uint64_t order)
{
    return (int64_t)((uint64_t)job->node.priority << 56 | order);
}

/* Why it waited under the former controller; where that is not stored, it has done so all the time. */
static void reason_restore(struct queue_move *v, const struct model_job_move *from)
{
    bool is_paused = (from->marks & MODEL_JOB_PAUSED) != 0;
    if (from->since_ms > 0) {
        v->reason = from->reason;
        v->since_ms = from->since_ms;
    } else if (is_paused || from->started_ms < 0) {
        v->reason = is_paused ? MOVES_REASON_PAUSED : MOVES_REASON_SLOT;
        v->since_ms = v->job->node.submitted_ms;
    }
}

struct queue_move *moves_job_add(struct moves *m, struct queue_job *job,
                                 const struct model_job_move *from, int32_t piece_index)
{
    size_t bytes = move_bytes(from);
    struct queue_piece *piece = piece_for(job, piece_index, bytes);
    struct queue_move *v = xalloc(sizeof *v);
    v->job = job;
    v->piece = piece;
    v->topic = name_own(job, from->topic);
    v->partition = from->partition;
    v->state = QUEUE_COMING;
    v->marks = from->marks;
    ids_copy(&v->target, &from->target);
    ids_copy(&v->original, &from->original);
    ids_copy(&v->replaces, &from->replaces);
    v->key = key_of(job, m->next_order++);
    v->bytes = -1;
    v->started_ms = from->started_ms;
    v->since_ms = -1;
    if (piece_index >= 0) {
        reason_restore(v, from);
    }
    v->source = -1;
    if (piece->count == piece->cap) {
        piece->cap = piece->cap == 0 ? 32 : piece->cap * 2;
        piece->moves = xrealloc(piece->moves, (size_t)piece->cap * sizeof(struct queue_move *));
    }
    piece->moves[piece->count++] = v;
    piece->bytes += bytes;
    piece->seq++;
    if (!is_final(job)) {
        moves_bytes_restore(v, from);
    }
    job->open++;
    job->unpaused += (v->marks & MODEL_JOB_PAUSED) == 0;
    job->node.moves_total = MAX(job->node.moves_total, job->open);
    return v;
}

void moves_piece_rekey(struct moves *m, struct queue_piece *piece)
{
    for (int32_t i = 0; i < piece->count; i++) {
        struct queue_move *v = piece->moves[i];
        bool is_parked = v->park != NULL;
        uint64_t order = (uint64_t)v->key & (((uint64_t)1 << 56) - 1);
        if (is_parked) {
            moves_leave(m, v);
        }
        v->key = key_of(piece->job, order);
        if (is_parked) {
            moves_enter(m, v);
        }
    }
}

enum moves_state moves_job_state(const struct queue_job *job)
{
    if (job->open == 0) {
        return job->node.moves_cancelled > 0 ? MOVES_CANCELLED : MOVES_DONE;
    }
    if (job->unpaused == 0) {
        return MOVES_PAUSED;
    }
    return list_is_empty(&job->running) ? MOVES_QUEUED : MOVES_RUNNING;
}

/* ---- storing ---- */

static struct queue_store *store_new(struct moves *m, enum moves_store_kind kind,
                                     struct queue_job *job, struct queue_piece *piece)
{
    struct queue_store *s = xalloc(sizeof *s);
    *s = (struct queue_store){.id = m->next_id++, .kind = kind, .job = job, .piece = piece};
    HASH_ADD(hh, m->stores, id, sizeof s->id, s);
    return s;
}

static struct ids effect_ids(struct moves *m, const struct ids *from)
{
    struct ids ids = {.count = from->count,
                      .list = moves_effect_array(m, (size_t)from->count, sizeof(int32_t))};
    if (from->count > 0) {
        memcpy(ids.list, from->list, (size_t)from->count * sizeof(int32_t));
    }
    return ids;
}

static struct model_job_piece *piece_contents(struct moves *m, const struct queue_piece *piece)
{
    struct model_job_piece *contents = moves_effect_array(m, 1, sizeof *contents);
    contents->moves = moves_effect_array(m, (size_t)piece->count, sizeof *contents->moves);
    contents->count = piece->count;
    struct slice topic = SLICE_NULL;
    struct slice copy = SLICE_NULL;
    for (int32_t i = 0; i < piece->count; i++) {
        const struct queue_move *v = piece->moves[i];
        if (topic.ptr != v->topic.ptr) {
            topic = v->topic;
            copy = moves_effect_text(m, topic);
        }
        contents->moves[i] = (struct model_job_move){.topic = copy,
                                                     .partition = v->partition,
                                                     .target = effect_ids(m, &v->target),
                                                     .original = effect_ids(m, &v->original),
                                                     .replaces = effect_ids(m, &v->replaces),
                                                     .marks = v->marks,
                                                     .started_ms = v->started_ms,
                                                     .to_copy = v->to_copy,
                                                     .copied = v->copied,
                                                     .before = v->before,
                                                     .reason = v->reason,
                                                     .since_ms = MAX(v->since_ms, 0)};
    }
    return contents;
}

static void piece_emit(struct moves *m, struct queue_piece *piece)
{
    struct queue_store *s = store_new(m, MOVES_STORE_PIECE, piece->job, piece);
    piece->is_out = true;
    piece->out_seq = piece->seq;
    list_remove(&m->dirty, &piece->dirty);
    moves_effect_add(m, MOVES_EFFECT_STORE)->store =
        (struct moves_store){.id = s->id,
                             .kind = s->kind,
                             .job = moves_effect_text(m, piece->job->node.id),
                             .piece = piece->index,
                             .contents = piece_contents(m, piece)};
}

void moves_piece_store(struct moves *m, struct queue_piece *piece)
{
    piece->wanted_seq = piece->seq;
    if (!piece->is_out && piece->stored_seq < piece->seq) {
        piece_emit(m, piece);
    }
}

void moves_job_store(struct moves *m, struct queue_job *job, struct queue_request *request)
{
    struct queue_store *s = store_new(m, MOVES_STORE_JOB, job, NULL);
    struct model_job *node = moves_effect_array(m, 1, sizeof *node);
    s->request = request;
    if (request != NULL) {
        request->stores_due++;
    }
    *node = job->node;
    node->id = moves_effect_text(m, node->id);
    node->submitted_by = moves_effect_text(m, node->submitted_by);
    node->client_id = moves_effect_text(m, node->client_id);
    node->piece_count = job->piece_count;
    moves_effect_add(m, MOVES_EFFECT_STORE)->store =
        (struct moves_store){.id = s->id, .kind = MOVES_STORE_JOB, .job = node->id, .node = node};
}

static void remove_emit(struct moves *m, const struct queue_job *job, enum moves_store_kind kind,
                        int32_t piece)
{
    struct queue_store *s = store_new(m, kind, NULL, NULL);
    moves_effect_add(m, MOVES_EFFECT_STORE)->store = (struct moves_store){
        .id = s->id, .kind = kind, .job = moves_effect_text(m, job->node.id), .piece = piece};
}

static void pieces_remove(struct moves *m, const struct queue_job *job)
{
    for (int32_t i = 0; i < job->piece_count; i++) {
        remove_emit(m, job, MOVES_REMOVE_PIECE, i);
    }
}

void moves_job_discard(struct moves *m, struct queue_job *job)
{
    pieces_remove(m, job);
    remove_emit(m, job, MOVES_REMOVE_JOB, -1);
    moves_job_free(m, job);
}

static void piece_stored(struct moves *m, struct queue_piece *piece, const char *message)
{
    piece->is_out = false;
    if (message == NULL) {
        piece->stored_seq = piece->out_seq;
    } else {
        piece->failed_seq = piece->out_seq;
    }
    moves_begin_stored(m, piece);
    if (piece->seq > piece->stored_seq && !piece->job->is_coming) {
        if (message == NULL && piece->wanted_seq > piece->stored_seq) {
            piece_emit(m, piece);
        } else if (!list_has(&piece->dirty)) {
            list_push_back(&m->dirty, &piece->dirty);
            m->lazy_at_ms = MIN(m->lazy_at_ms, m->now_ms + QUEUE_LAZY_MS);
        }
    }
}

void moves_stored(struct moves *m, const struct moves_event *event)
{
    struct queue_store *s = NULL;
    HASH_FIND(hh, m->stores, &event->store_id, sizeof event->store_id, s);
    CHECK(s != NULL);
    HASH_DEL(m->stores, s);
    if (event->message != NULL) {
        struct errmsg em;
        (void)errmsg_set(&em, E_OK, "the queue of moves cannot be stored: %s", event->message);
        moves_warn(m, em.text);
    }
    if (s->piece != NULL) {
        piece_stored(m, s->piece, event->message);
    }
    if (s->request != NULL) {
        s->request->stores_due--;
        if (event->message != NULL) {
            s->request->store_error = arena_str(&s->request->arena, slice_str(event->message));
        }
    }
    free(s);
}

/* ---- the end of jobs ---- */

static void moves_drop(struct moves *m, struct queue_job *job)
{
    m->history_moves -= job->node.moves_total;
    pieces_remove(m, job);
    pieces_free(m, job);
}

/* The oldest go first: their moves, then they themselves. */
void moves_history_trim(struct moves *m)
{
    struct list_node *n = NULL;
    list_foreach (n, &m->history) {
        struct queue_job *job = CONTAINER_OF(n, struct queue_job, link);
        if (m->history_moves <= QUEUE_HISTORY_MOVES) {
            break;
        }
        if (job->piece_count > 0 && job->pins == 0) {
            moves_drop(m, job);
            moves_job_store(m, job, NULL);
        }
    }
    while (m->history.count > QUEUE_HISTORY_JOBS) {
        struct queue_job *job = CONTAINER_OF(list_first(&m->history), struct queue_job, link);
        if (job->pins > 0) {
            break;
        }
        if (job->piece_count > 0) {
            moves_drop(m, job);
        }
        moves_job_discard(m, job);
    }
}

static bool is_all_stored(const struct queue_job *job)
{
    bool is_stored = job->alters_out == 0;
    for (int32_t i = 0; is_stored && i < job->piece_count; i++) {
        is_stored = job->pieces[i]->stored_seq == job->pieces[i]->seq;
    }
    return is_stored;
}

static void job_finish(struct moves *m, struct queue_job *job)
{
    struct errmsg em;
    list_remove(&m->jobs, &job->link);
    job->node.fate = job->node.moves_cancelled > 0 ? MODEL_JOB_STOPPED : MODEL_JOB_OVER;
    job->node.finished_ms = m->wall_ms;
    list_push_back(&m->history, &job->link);
    m->history_moves += job->node.moves_total;
    moves_job_store(m, job, NULL);
    (void)errmsg_set(&em, E_OK, "job %.*s is over: %d moves done, %d cancelled",
                     SLICE_ARG(job->node.id), job->node.moves_done, job->node.moves_cancelled);
    moves_log(m, em.text);
}

static void jobs_finish(struct moves *m)
{
    struct list_node *n = NULL;
    struct list_node *next = NULL;
    bool is_any = false;
    list_foreach_safe (n, next, &m->finishing) {
        struct queue_job *job = CONTAINER_OF(n, struct queue_job, finishing);
        if (is_all_stored(job)) {
            list_remove(&m->finishing, n);
            job_finish(m, job);
            is_any = true;
        }
    }
    if (is_any) {
        moves_history_trim(m);
    }
}

void moves_lazy_run(struct moves *m)
{
    if (m->now_ms >= m->lazy_at_ms) {
        size_t due = MIN(m->dirty.count, QUEUE_LAZY_PIECES);
        for (size_t i = 0; i < due; i++) {
            struct queue_piece *piece =
                CONTAINER_OF(list_pop(&m->dirty), struct queue_piece, dirty);
            if (piece->is_out) {
                list_push_back(&m->dirty, &piece->dirty);
            } else if (piece->stored_seq < piece->seq) {
                piece_emit(m, piece);
            }
        }
        m->lazy_at_ms = list_is_empty(&m->dirty) ? INT64_MAX : m->now_ms + QUEUE_LAZY_MS;
    }
    jobs_finish(m);
    moves_unheard_trim(m);
}
