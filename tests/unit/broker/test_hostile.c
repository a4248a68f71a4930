/*
 * Requests that are well formed and senseless, and bytes that are neither: whatever comes, a broker
 * answers or closes the connection, and goes on serving. Values are drawn near the edges (known and
 * unknown names, small, negative and huge numbers) by the schema's tables. Prints its seed.
 */
#include "base/check.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "broker/api/request.h"
#include "cluster.h"
#include "model/kerr.h"
#include "wire/message.h"

#define SEED   20240601
#define ROUNDS 12 /* requests of each version of each API */

struct fill {
    struct prng prng;
    struct arena *arena;
    int16_t version;
    struct slice records;
};

static void fill_struct(struct fill *f, const struct wire_struct *s, void *m);

static struct slice draw_text(struct fill *f)
{
    static const char *const texts[] = {
        "t",   "t",  "t", "u", "", "1", "2", "retention.ms", "5", "__consumer_offsets",
        "a b", "..", "*"};
    return slice_str(texts[prng_below(&f->prng, ARRAY_LEN(texts))]);
}

static int64_t draw_number(struct fill *f)
{
    static const int64_t numbers[] = {
        0,  0,  0,  0,   1,    1,         1,         2,         3,         5,
        -1, -1, -2, 100, 1000, INT16_MAX, INT32_MAX, INT64_MAX, INT32_MIN, INT64_MIN};
    return numbers[prng_below(&f->prng, ARRAY_LEN(numbers))];
}

static void fill_number(struct fill *f, const struct wire_field *field, void *at)
{
    int64_t number = draw_number(f);
    switch (wire_field_value_size(field)) {
    case 1:
        *(int8_t *)at = field->kind == WIRE_BOOL ? (int8_t)(number & 1) : (int8_t)number;
        break;
    case 2:
        *(int16_t *)at = (int16_t)number;
        break;
    case 4:
        *(int32_t *)at = (int32_t)number;
        break;
    default:
        *(int64_t *)at = number;
        break;
    }
}

static void fill_value(struct fill *f, const struct wire_field *field, void *at)
{
    switch (field->kind) {
    case WIRE_STRUCT:
        fill_struct(f, field->of, at);
        break;
    case WIRE_STR:
    case WIRE_BYTES:
        *(struct slice *)at = draw_text(f);
        break;
    case WIRE_RECORDS:
        *(struct wire_records *)at =
            (struct wire_records){.ptr = f->records.ptr, .len = f->records.len};
        break;
    case WIRE_UUID:
        ((struct uuid *)at)->bytes[0] = (uint8_t)prng_below(&f->prng, 2);
        break;
    case WIRE_F64:
        *(double *)at = 1.5;
        break;
    case WIRE_BOOL:
    case WIRE_I8:
    case WIRE_I16:
    case WIRE_I32:
    case WIRE_I64:
    case WIRE_U16:
        fill_number(f, field, at);
        break;
    }
}

static void fill_field(struct fill *f, const struct wire_field *field, uint8_t *m)
{
    size_t size = wire_field_value_size(field);
    bool is_null = f->version >= field->null_version && prng_chance(&f->prng, 1, 4);
    if (!field->is_array) {
        bool is_pointer = field->kind == WIRE_STRUCT && field->null_version != WIRE_NEVER;
        void *at = m + field->offset;
        if (is_pointer) {
            void *value = is_null ? NULL : arena_alloc(f->arena, size);
            *(void **)at = value;
            at = value;
        }
        if (at != NULL && !(is_null && field->kind == WIRE_STR)) {
            fill_value(f, field, at);
        }
        return;
    }
    int32_t count = is_null ? -1 : (int32_t)prng_below(&f->prng, 4);
    uint8_t *items = arena_array(f->arena, (size_t)MAX(count, 1), size);
    *(void **)(void *)(m + field->offset) = items;
    *(int32_t *)(void *)(m + field->count_offset) = count;
    for (int32_t i = 0; i < count; i++) {
        fill_value(f, field, items + (size_t)i * size);
    }
}

static void fill_struct(struct fill *f, const struct wire_struct *s, void *m)
{
    wire_struct_init(s, m);
    for (uint16_t i = 0; i < s->field_count; i++) {
        if (wire_field_has_version(&s->fields[i], f->version)) {
            fill_field(f, &s->fields[i], m);
        }
    }
}

static void answered(void *arg, int err, struct block *frame, struct slice payload)
{
    struct cluster_call *call = arg;
    (void)frame;
    (void)payload;
    call->is_done = true;
    call->err = err;
}

/* One request with damage: each byte of the body changes with probability damage / 1000. */
static void send_one(struct cluster *c, struct fill *f, const struct wire_api *api, uint32_t damage)
{
    struct cluster_call call = {0};
    struct buf frame;
    struct wire_request_header header = {
        .api_key = api->key, .api_version = f->version, .client_id = slice_str("hostile")};
    void *req = arena_alloc(f->arena, wire_message_size(api->request));
    fill_struct(f, api->request->body, req);
    buf_init(&frame);
    wire_request_header_write(&header, &frame);
    size_t body = frame.len;
    wire_message_encode(api->request, req, &frame, f->version);
    assert_false(buf_failed(&frame));
    for (size_t i = body; i < frame.len; i++) {
        if (prng_chance(&f->prng, damage, 1000)) {
            frame.ptr[i] = (uint8_t)prng_u64(&f->prng);
        }
    }
    net_peer_call(c->brokers[0].peer, &frame, 1500, answered, &call);
    assert_true(sim_world_run(c->world, 10000, cluster_is_done, &call));
    assert_true(call.err == 0 || call.err == -E_CLOSED || call.err == -E_TIMEOUT);
}

static void broker_survives(uint32_t damage)
{
    struct cluster c = {0};
    struct fill f = {0};
    struct arena arena;
    arena_init(&arena, (size_t)16 << 20);
    prng_init(&f.prng, SEED + damage);
    f.arena = &arena;
    cluster_start(&c, 1);
    assert_int_equal(cluster_create_topic(&c, "t", 2, 1), KERR_NONE);
    for (int32_t i = 0; i < api_row_count; i++) {
        const struct wire_api *api = wire_api_find(api_rows[i].key);
        for (f.version = MAX(api_rows[i].min_version, api->first_version);
             f.version <= api_rows[i].max_version; f.version++) {
            for (int round = 0; round < ROUNDS; round++) {
                arena_reset(&arena);
                f.records = slice_str("no batch at all");
                send_one(&c, &f, api, damage);
            }
        }
    }
    cluster_run(&c, 10000);
    struct wire_metadata_request req = {.topics_count = -1};
    const struct wire_metadata_response *resp = cluster_call(&c, 1, WIRE_KEY_METADATA, &req);
    assert_non_null(resp);
    assert_string_equal(c.brokers[0].fatal, "");
    cluster_stop(&c);
    arena_deinit(&arena);
}

static void senseless_requests_are_answered(void **state)
{
    (void)state;
    broker_survives(0);
}

static void damaged_requests_are_answered_or_refused(void **state)
{
    (void)state;
    broker_survives(50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(senseless_requests_are_answered),
        cmocka_unit_test(damaged_requests_are_answered_or_refused),
    };
    print_message("seed %d\n", SEED);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
