/*
 * What tests of logs share: a simulated node to keep a log on, and batches to put into it.
 */
#pragma once

#include "plog/append.h"
#include "plog/flush.h"
#include "plog/plog.h"
#include "plog/read.h"
#include "plog/removal.h"
#include "plog/state.h"
#include "plog/trim.h"
#include "record/records.h"
#include "sim/env/sim.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define FIXTURE_DIR "/data"

struct fixture {
    struct sim_world *world;
    struct sim_node *node;
    struct env *env;
    struct plog_files *files;
    struct plog_config config;
    struct plog *p;
    struct errmsg em;
};

/* What a batch is made of; its records' timestamps rise by 1 ms from timestamp on. */
struct batch_spec {
    int64_t base_offset;
    int32_t leader_epoch;
    int count;         /* records, 0 = 1 */
    size_t value_size; /* bytes a record */
    int64_t timestamp; /* ms */
    bool has_producer;
    int64_t producer_id;
    int16_t producer_epoch;
    int32_t base_sequence;
    bool is_transactional;
    enum record_codec codec;
};

/* Appends one encoded batch to out. */
static inline void batch_encode(const struct batch_spec *spec, struct buf *out)
{
    struct record_builder b;
    record_builder_init(&b, spec->codec);
    b.batch.base_offset = spec->base_offset;
    b.batch.leader_epoch = spec->leader_epoch;
    if (spec->has_producer) {
        b.batch.producer_id = spec->producer_id;
        b.batch.producer_epoch = spec->producer_epoch;
        b.batch.base_sequence = spec->base_sequence;
    }
    if (spec->is_transactional) {
        b.batch.attributes |= RECORD_ATTR_TRANSACTIONAL;
    }
    uint8_t *value = xalloc(spec->value_size + 1);
    memset(value, 'v', spec->value_size);
    for (int i = 0; i < (spec->count == 0 ? 1 : spec->count); i++) {
        struct record_input record = {.value = slice_of(value, spec->value_size),
                                      .timestamp = spec->timestamp + i};
        record_builder_add(&b, &record);
    }
    free(value);
    assert_int_equal(0, record_builder_finish(&b, out));
    record_builder_deinit(&b);
}

static inline void fixture_files_open(struct fixture *f)
{
    f->env = sim_node_env(f->node);
    f->files = plog_files_new(f->env, 2);
}

static inline void fixture_init(struct fixture *f, uint64_t seed)
{
    *f = (struct fixture){.config = plog_config_default()};
    f->world = sim_world_new(seed);
    f->node = sim_node_new(f->world, "disk");
    fixture_files_open(f);
    assert_int_equal(0, env_mkdir(f->env, FIXTURE_DIR));
    assert_int_equal(0, env_dir_sync(f->env, FIXTURE_DIR));
}

static inline int fixture_open_at(struct fixture *f, bool is_clean, int64_t recovery_point,
                                  int64_t log_start)
{
    struct plog_open_args args = {.files = f->files,
                                  .dir = FIXTURE_DIR,
                                  .topic = "t",
                                  .partition = 0,
                                  .topic_id = {{1, 2, 3}},
                                  .config = &f->config,
                                  .is_clean = is_clean,
                                  .recovery_point = recovery_point,
                                  .log_start_offset = log_start};
    return plog_open(&args, &f->p, &f->em);
}

static inline void fixture_open(struct fixture *f, bool is_clean)
{
    int err = fixture_open_at(f, is_clean, 0, 0);
    if (err != 0) {
        fail_msg("open: %s", f->em.text);
    }
}

/* The process ends without a word; the next one finds what was written (or synced, without power). */
static inline void fixture_crash(struct fixture *f, bool keeps_power)
{
    plog_free(f->p);
    f->p = NULL;
    plog_files_free(f->files);
    assert_int_equal(0, sim_disk_open_files(f->node));
    if (keeps_power) {
        sim_node_crash(f->node);
    } else {
        sim_node_power_loss(f->node);
    }
    sim_node_start(f->node);
    fixture_files_open(f);
}

static inline void fixture_deinit(struct fixture *f)
{
    plog_free(f->p);
    plog_files_free(f->files);
    assert_int_equal(0, sim_disk_open_files(f->node));
    sim_world_free(f->world);
}

/* Appends one batch as leader; the entry tells what became of it. */
static inline struct plog_entry fixture_append(struct fixture *f, const struct batch_spec *spec)
{
    struct buf bytes;
    buf_init(&bytes);
    batch_encode(spec, &bytes);
    struct plog_entry entry = {.bytes = bytes.ptr};
    assert_int_equal(0, record_batch_parse(buf_slice(&bytes), &entry.batch));
    int err = plog_append_leader(f->p, &entry, 1, spec->leader_epoch);
    if (err != 0) {
        assert_int_equal(err, entry.err);
    }
    entry.bytes = NULL;
    buf_deinit(&bytes);
    return entry;
}

/* `count` batches of one record each. */
static inline void fixture_fill(struct fixture *f, int count, int32_t leader_epoch,
                                size_t value_size)
{
    for (int i = 0; i < count; i++) {
        struct batch_spec spec = {.leader_epoch = leader_epoch,
                                  .value_size = value_size,
                                  .timestamp = 1000 + plog_end_offset(f->p)};
        struct plog_entry entry = fixture_append(f, &spec);
        assert_int_equal(0, entry.err);
    }
}

static inline bool fixture_exists(struct fixture *f, const char *path)
{
    struct env_file *file = NULL;
    int err = env_file_open(f->env, path, ENV_OPEN_READ, &file);
    env_file_unref(file);
    return err == 0;
}

/* Runs a removal to its end and frees it. */
static inline void fixture_remove(struct plog_removal *r)
{
    int more = 1;
    while (r != NULL && more == 1) {
        more = plog_removal_step(r);
    }
    assert_true(r == NULL || more == 0);
    plog_removal_free(r);
}

/* Reads everything from offset to upper, span by span, behind out's end. */
static inline int fixture_read(struct fixture *f, int64_t offset, int64_t upper, uint32_t max_bytes,
                               struct buf *out)
{
    for (;;) {
        struct plog_read_args args = {
            .offset = offset, .upper = upper, .max_bytes = max_bytes, .min_one = true};
        struct plog_span span;
        int err = plog_read(f->p, &args, &span);
        if (err != 0 || span.len == 0) {
            return err;
        }
        size_t got = 0;
        uint8_t *room = buf_put_space(out, span.len);
        err = env_file_read(span.file, room, span.len, span.pos, &got);
        env_file_unref(span.file);
        assert_int_equal(0, err);
        assert_int_equal(span.len, got);
        assert_true(span.next_offset > offset);
        offset = span.next_offset;
    }
}
