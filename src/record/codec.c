/*
 * The four codecs behind one pair of functions. Every decoder writes into a growing output of at most
 * max bytes and reads hostile input: a claimed size is bounded before memory is taken for it, and
 * input that makes no progress is damage. Pure.
 */
#include "record/codec.h"

#include "base/check.h"
#include "base/endian.h"

#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#define GROWTH_MIN       ((size_t)4096)
#define XERIAL_HEADER    16
#define XERIAL_BLOCK_MAX ((size_t)32 << 10)
#define GZIP_WINDOW      (15 + 16) /* zlib: largest window, gzip wrapper */
#define DEFLATE_LEVEL    6
#define ZSTD_LEVEL       3

static const uint8_t xerial_magic[8] = {0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};

/* ---- growing, bounded output ---- */

struct output {
    struct record_inflated out;
    size_t max;
    struct budget *budget;
};

/* Makes room for at least one more byte, for `want` if the bound allows. */
static int output_grow(struct output *o, size_t want)
{
    if (o->out.len == o->max) {
        return -E_TOO_LARGE;
    }
    size_t cap = MAX(o->out.cap * 2, MAX(GROWTH_MIN, o->out.len + want));
    cap = MIN(cap, o->max);
    uint8_t *moved = budget_alloc(o->budget, cap);
    if (moved == NULL) {
        return -E_NO_MEMORY;
    }
    if (o->out.len > 0) {
        memcpy(moved, o->out.ptr, o->out.len);
    }
    budget_free(o->budget, o->out.ptr, o->out.cap);
    o->out.ptr = moved;
    o->out.cap = cap;
    return 0;
}

static int output_reserve(struct output *o, size_t want)
{
    if (want > o->max - o->out.len) {
        return -E_TOO_LARGE;
    }
    return o->out.len + want <= o->out.cap ? 0 : output_grow(o, want);
}

static uint8_t *output_end(struct output *o)
{
    return o->out.ptr + o->out.len;
}

static size_t output_room(const struct output *o)
{
    return o->out.cap - o->out.len;
}

/* ---- gzip ---- */

static int gzip_inflate(struct slice in, struct output *o)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in.ptr, .avail_in = (uInt)in.len};
    if (inflateInit2(&z, GZIP_WINDOW) != Z_OK) {
        return -E_NO_MEMORY;
    }
    int err = 0;
    for (int status = Z_OK; status != Z_STREAM_END && err == 0;) {
        if (output_room(o) == 0) {
            err = output_grow(o, in.len);
            if (err != 0) {
                break;
            }
        }
        size_t room = output_room(o);
        z.next_out = output_end(o);
        z.avail_out = (uInt)room;
        status = inflate(&z, Z_NO_FLUSH);
        o->out.len += room - z.avail_out;
        bool is_stuck = status == Z_BUF_ERROR || (status == Z_OK && z.avail_out > 0);
        if ((status != Z_OK && status != Z_STREAM_END) || is_stuck) {
            err = -E_CORRUPT;
        }
    }
    (void)inflateEnd(&z); /* frees; its only error is one we do not make */
    return err;
}

static int gzip_deflate(struct slice in, struct buf *out)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in.ptr, .avail_in = (uInt)in.len};
    if (deflateInit2(&z, DEFLATE_LEVEL, Z_DEFLATED, GZIP_WINDOW, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return -E_NO_MEMORY;
    }
    size_t bound = deflateBound(&z, in.len);
    size_t start = out->len;
    uint8_t *room = buf_put_space(out, bound);
    int err = -E_TOO_LARGE;
    if (room != NULL) {
        z.next_out = room;
        z.avail_out = (uInt)bound;
        int status = deflate(&z, Z_FINISH);
        CHECK(status == Z_STREAM_END);
        out->len = start + (bound - z.avail_out);
        err = 0;
    }
    (void)deflateEnd(&z);
    return err;
}

/* ---- snappy, raw and xerial ---- */

static int snappy_inflate_block(struct slice in, struct output *o)
{
    size_t len = 0;
    if (snappy_uncompressed_length((const char *)in.ptr, in.len, &len) != SNAPPY_OK) {
        return -E_CORRUPT;
    }
    int err = output_reserve(o, len);
    if (err != 0 || len == 0) {
        return err;
    }
    if (snappy_uncompress((const char *)in.ptr, in.len, (char *)output_end(o), &len) != SNAPPY_OK) {
        return -E_CORRUPT;
    }
    o->out.len += len;
    return 0;
}

static int snappy_inflate(struct slice in, struct output *o)
{
    if (in.len < sizeof xerial_magic || memcmp(in.ptr, xerial_magic, sizeof xerial_magic) != 0) {
        return snappy_inflate_block(in, o);
    }
    if (in.len < XERIAL_HEADER) {
        return -E_CORRUPT;
    }
    size_t at = XERIAL_HEADER;
    while (at < in.len) {
        if (in.len - at < 4) {
            return -E_CORRUPT;
        }
        size_t len = load_be32(in.ptr + at);
        at += 4;
        if (len > in.len - at) {
            return -E_CORRUPT;
        }
        int err = snappy_inflate_block(slice_of(in.ptr + at, len), o);
        if (err != 0) {
            return err;
        }
        at += len;
    }
    return 0;
}

static int snappy_deflate(struct slice in, struct buf *out)
{
    buf_put_bytes(out, xerial_magic, sizeof xerial_magic);
    buf_put_u32(out, 1); /* version */
    buf_put_u32(out, 1); /* oldest version that can read it */
    for (size_t at = 0; at < in.len; at += XERIAL_BLOCK_MAX) {
        size_t block = MIN(XERIAL_BLOCK_MAX, in.len - at);
        size_t len = snappy_max_compressed_length(block);
        size_t length_at = out->len;
        buf_put_u32(out, 0);
        uint8_t *room = buf_put_space(out, len);
        if (room == NULL) {
            return -E_TOO_LARGE;
        }
        snappy_status status =
            snappy_compress((const char *)in.ptr + at, block, (char *)room, &len);
        CHECK(status == SNAPPY_OK);
        buf_patch_u32(out, length_at, (uint32_t)len);
        out->len = length_at + 4 + len;
    }
    return buf_failed(out) ? -E_TOO_LARGE : 0;
}

/* ---- lz4 frame ---- */

static int lz4_inflate_frame(LZ4F_dctx *ctx, struct slice in, struct output *o)
{
    size_t at = 0;
    for (size_t hint = 1; hint != 0;) {
        if (output_room(o) == 0) {
            int err = output_grow(o, in.len);
            if (err != 0) {
                return err;
            }
        }
        size_t made = output_room(o);
        size_t taken = in.len - at;
        hint = LZ4F_decompress(ctx, output_end(o), &made, in.ptr + at, &taken, NULL);
        if (LZ4F_isError(hint)) {
            return -E_CORRUPT;
        }
        at += taken;
        o->out.len += made;
        if (hint != 0 && taken == 0 && made == 0 && output_room(o) > 0) {
            return -E_CORRUPT; /* the frame ends early */
        }
    }
    return 0;
}

static int lz4_inflate(struct slice in, struct output *o)
{
    LZ4F_dctx *ctx = NULL;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION))) {
        return -E_NO_MEMORY;
    }
    int err = lz4_inflate_frame(ctx, in, o);
    (void)LZ4F_freeDecompressionContext(ctx); /* its result is a read hint */
    return err;
}

static int lz4_deflate(struct slice in, struct buf *out)
{
    /* What Java clients write: 64 KiB blocks, independent of each other. */
    LZ4F_preferences_t preferences = {
        .frameInfo = {.blockSizeID = LZ4F_max64KB, .blockMode = LZ4F_blockIndependent}};
    size_t bound = LZ4F_compressFrameBound(in.len, &preferences);
    size_t start = out->len;
    uint8_t *room = buf_put_space(out, bound);
    if (room == NULL) {
        return -E_TOO_LARGE;
    }
    size_t len = LZ4F_compressFrame(room, bound, in.ptr, in.len, &preferences);
    if (LZ4F_isError(len)) {
        return -E_NO_MEMORY; /* the bound is right, so only its working memory can fail */
    }
    out->len = start + len;
    return 0;
}

/* ---- zstd ---- */

static int zstd_inflate_stream(ZSTD_DCtx *ctx, struct slice in, struct output *o)
{
    ZSTD_inBuffer source = {in.ptr, in.len, 0};
    size_t hint = 0;
    do {
        if (output_room(o) == 0) {
            int err = output_grow(o, in.len);
            if (err != 0) {
                return err;
            }
        }
        ZSTD_outBuffer sink = {output_end(o), output_room(o), 0};
        size_t before = source.pos;
        hint = ZSTD_decompressStream(ctx, &sink, &source);
        if (ZSTD_isError(hint)) {
            return -E_CORRUPT;
        }
        o->out.len += sink.pos;
        if (source.pos == before && sink.pos == 0) {
            return -E_CORRUPT; /* the frame ends early */
        }
    } while (hint != 0 || source.pos < source.size);
    return 0;
}

static int zstd_inflate(struct slice in, struct output *o)
{
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    if (ctx == NULL) {
        return -E_NO_MEMORY;
    }
    int err = zstd_inflate_stream(ctx, in, o);
    (void)ZSTD_freeDCtx(ctx);
    return err;
}

static int zstd_deflate(struct slice in, struct buf *out)
{
    size_t bound = ZSTD_compressBound(in.len);
    size_t start = out->len;
    uint8_t *room = buf_put_space(out, bound);
    if (room == NULL) {
        return -E_TOO_LARGE;
    }
    size_t len = ZSTD_compress(room, bound, in.ptr, in.len, ZSTD_LEVEL);
    if (ZSTD_isError(len)) {
        return -E_NO_MEMORY;
    }
    out->len = start + len;
    return 0;
}

/* ---- dispatch ---- */

struct codec {
    int (*inflate)(struct slice in, struct output *o);
    int (*deflate)(struct slice in, struct buf *out);
};

static const struct codec codecs[RECORD_CODEC_COUNT] = {
    [RECORD_CODEC_GZIP] = {gzip_inflate, gzip_deflate},
    [RECORD_CODEC_SNAPPY] = {snappy_inflate, snappy_deflate},
    [RECORD_CODEC_LZ4] = {lz4_inflate, lz4_deflate},
    [RECORD_CODEC_ZSTD] = {zstd_inflate, zstd_deflate},
};

int record_inflate(int codec, struct slice in, size_t max, struct budget *budget,
                   struct record_inflated *ret_out)
{
    if (codec <= RECORD_CODEC_NONE || codec >= RECORD_CODEC_COUNT) {
        return -E_UNSUPPORTED;
    }
    if (in.len > INT32_MAX) {
        return -E_TOO_LARGE;
    }
    struct output o = {.max = MIN(max, (size_t)INT32_MAX), .budget = budget};
    int err = codecs[codec].inflate(in, &o);
    if (err != 0) {
        budget_free(budget, o.out.ptr, o.out.cap);
        return err;
    }
    *ret_out = o.out;
    return 0;
}

int record_deflate(int codec, struct slice in, struct buf *out)
{
    if (codec <= RECORD_CODEC_NONE || codec >= RECORD_CODEC_COUNT) {
        return -E_UNSUPPORTED;
    }
    return in.len > INT32_MAX ? -E_TOO_LARGE : codecs[codec].deflate(in, out);
}
