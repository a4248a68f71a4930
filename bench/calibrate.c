/*
 * calibrate [--bytes N] [--dir DIR] copy|copy_cold|produce|pwrite|fdatasync...
 *
 * What this machine can do at the same work without a broker, to divide the benchmarks' figures by:
 *   copy       sendfile -> recv -> CRC32C -> pwrite of one file over loopback, two threads
 *   copy_cold  the same from a file that is not in memory, past the page cache on both sides
 *   produce    16 KB batches -> recv -> CRC32C -> pwrite -> 64-byte ack, five in flight
 *   pwrite     1 MiB writes into the page cache
 *   fdatasync  4 KiB written and synced, again and again
 * Prints `figure NAME VALUE UNIT` lines. Files are made in DIR (default $TMPDIR or /tmp) and have no
 * name while they are in use.
 */
#include "base/alloc.h"
#include "base/check.h"
#include "base/crc32c.h"
#include "base/histogram.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MIB           ((size_t)1 << 20)
#define BATCH_BYTES   ((size_t)16384)
#define ACK_BYTES     ((size_t)64)
#define IN_FLIGHT     5
#define SYNCS         400
#define WINDOW        (64 * MIB) /* on its way to the disk while the next one is filled */
#define BYTES_DEFAULT ((uint64_t)512 * 1000 * 1000)

struct options {
    uint64_t bytes;
    const char *dir;
};

static _Noreturn void die(const char *what)
{
    (void)fprintf(stderr, "calibrate: %s: %s\n", what, strerror(errno));
    exit(1);
}

static double now_s(void)
{
    struct timespec ts;
    CHECK(clock_gettime(CLOCK_MONOTONIC, &ts) == 0);
    return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void figure(const char *name, double value, const char *unit)
{
    (void)printf("figure %s %.6g %s\n", name, value, unit);
}

static int scratch_open(const struct options *options)
{
    int fd = open(options->dir, O_TMPFILE | O_RDWR, 0600);
    if (fd < 0) {
        die(options->dir);
    }
    return fd;
}

static void write_all(int fd, const uint8_t *ptr, size_t len, uint64_t pos)
{
    while (len > 0) {
        ssize_t wrote = pwrite(fd, ptr, len, (off_t)pos);
        if (wrote <= 0) {
            die("pwrite");
        }
        ptr += wrote;
        len -= (size_t)wrote;
        pos += (uint64_t)wrote;
    }
}

/* A block that does not compress to nothing, should the file system try. */
static uint8_t *block_new_filled(size_t len)
{
    uint8_t *block = xalloc(len);
    uint32_t x = 1;
    for (size_t i = 0; i < len; i++) {
        x = x * 1664525u + 1013904223u;
        block[i] = (uint8_t)(x >> 24);
    }
    return block;
}

static void fill(int fd, uint64_t bytes)
{
    uint8_t *block = block_new_filled(MIB);
    for (uint64_t pos = 0; pos < bytes; pos += MIB) {
        write_all(fd, block, (size_t)MIN(bytes - pos, MIB), pos);
    }
    free(block);
}

/* Written bytes up to pos leave the page cache, but for the latest window: that one is on its way. */
static void drop_written(int fd, uint64_t pos)
{
    uint64_t begin = pos < 2 * WINDOW ? 0 : pos - 2 * WINDOW;
    uint64_t end = pos < WINDOW ? 0 : pos - WINDOW;
    unsigned int wait =
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (sync_file_range(fd, (off_t)end, (off_t)(pos - end), SYNC_FILE_RANGE_WRITE) != 0 ||
        (end > 0 && sync_file_range(fd, (off_t)begin, (off_t)(end - begin), wait) != 0) ||
        posix_fadvise(fd, (off_t)begin, (off_t)(end - begin), POSIX_FADV_DONTNEED) != 0) {
        die("drop behind");
    }
}

/* Written through, so that nothing of it is in memory. */
static void fill_cold(int fd, uint64_t bytes)
{
    uint8_t *block = block_new_filled(MIB);
    for (uint64_t pos = 0; pos < bytes; pos += MIB) {
        write_all(fd, block, (size_t)MIN(bytes - pos, MIB), pos);
        if (pos > 0 && pos % WINDOW == 0) {
            drop_written(fd, pos);
        }
    }
    free(block);
    if (fdatasync(fd) != 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0) {
        die("fdatasync");
    }
}

/* ---- a pair of connected sockets, as brokers use them on loopback ---- */

struct pair {
    int client;
    int server;
};

static void use_options(int fd)
{
    int on = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "cubic", 5) != 0) {
        die("setsockopt");
    }
}

static struct pair pair_open(void)
{
    struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    union {
        struct sockaddr_in *in;
        struct sockaddr *any;
    } address = {.in = &in};
    socklen_t len = sizeof in;
    struct pair pair;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    pair.client = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (listener < 0 || pair.client < 0) {
        die("socket");
    }
    use_options(listener);
    use_options(pair.client);
    if (bind(listener, address.any, len) != 0 || listen(listener, 1) != 0 ||
        getsockname(listener, address.any, &len) != 0 ||
        connect(pair.client, address.any, len) != 0) {
        die("loopback");
    }
    pair.server = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (pair.server < 0) {
        die("accept");
    }
    (void)close(listener); /* served its purpose */
    return pair;
}

static void receive_all(int fd, uint8_t *ptr, size_t len)
{
    for (size_t got = 0; got < len;) {
        ssize_t n = recv(fd, ptr + got, len - got, MSG_WAITALL);
        if (n <= 0) {
            die("recv");
        }
        got += (size_t)n;
    }
}

static void send_all(int fd, const uint8_t *ptr, size_t len)
{
    for (size_t sent = 0; sent < len;) {
        ssize_t n = send(fd, ptr + sent, len - sent, MSG_NOSIGNAL);
        if (n <= 0) {
            die("send");
        }
        sent += (size_t)n;
    }
}

/* The receiving end of both: blocks of block_len, checked, written, and acknowledged if asked. */
struct sink {
    int socket;
    int file;
    uint64_t bytes;
    size_t block_len;
    bool acks;
    bool drops_behind;
    uint32_t crc; /* keeps the compiler from leaving the check out */
};

static void *sink_main(void *arg)
{
    struct sink *sink = arg;
    uint8_t *block = xalloc(sink->block_len);
    static const uint8_t ack[ACK_BYTES];
    for (uint64_t pos = 0; pos < sink->bytes;) {
        size_t len = (size_t)MIN(sink->bytes - pos, sink->block_len);
        receive_all(sink->socket, block, len);
        sink->crc ^= crc32c(0, block, len);
        write_all(sink->file, block, len, pos);
        pos += len;
        if (sink->drops_behind && pos % WINDOW == 0) {
            drop_written(sink->file, pos);
        }
        if (sink->acks) {
            send_all(sink->socket, ack, sizeof ack);
        }
    }
    free(block);
    return NULL;
}

/* ---- the five ---- */

/* MB/s from source to a scratch file; with is_cold past the page cache on both sides. */
static double copy_file(const struct options *options, int source, bool is_cold)
{
    int target = scratch_open(options);
    struct pair pair = pair_open();
    struct sink sink = {.socket = pair.server,
                        .file = target,
                        .bytes = options->bytes,
                        .block_len = MIB,
                        .drops_behind = is_cold};
    double started = now_s();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sink_main, &sink) == 0);
    off_t pos = 0;
    while ((uint64_t)pos < options->bytes) {
        size_t left = (size_t)(options->bytes - (uint64_t)pos);
        if (sendfile(pair.client, source, &pos, is_cold ? MIN(left, 8 * MIB) : left) <= 0) {
            die("sendfile");
        }
        if (is_cold && posix_fadvise(source, 0, pos, POSIX_FADV_DONTNEED) != 0) {
            die("fadvise");
        }
    }
    CHECK(pthread_join(thread, NULL) == 0);
    double rate = (double)options->bytes / 1e6 / (now_s() - started);
    (void)close(pair.client); /* all of these were only read, or hold scratch */
    (void)close(pair.server);
    (void)close(target);
    return rate;
}

static void calibrate_copy(const struct options *options)
{
    int source = scratch_open(options);
    fill(source, options->bytes);
    if (fdatasync(source) != 0) {
        die("fdatasync");
    }
    figure("raw_copy", copy_file(options, source, false), "MB/s");
    (void)close(source); /* scratch */
}

static void calibrate_copy_cold(const struct options *options)
{
    int source = scratch_open(options);
    fill_cold(source, options->bytes);
    figure("raw_copy_cold", copy_file(options, source, true), "MB/s");
    (void)close(source); /* scratch */
}

static void calibrate_produce(const struct options *options)
{
    uint64_t batches = options->bytes / BATCH_BYTES;
    int target = scratch_open(options);
    struct pair pair = pair_open();
    struct sink sink = {.socket = pair.server,
                        .file = target,
                        .bytes = batches * BATCH_BYTES,
                        .block_len = BATCH_BYTES,
                        .acks = true};
    uint8_t *batch = block_new_filled(BATCH_BYTES);
    uint8_t acks[IN_FLIGHT * ACK_BYTES];
    double started = now_s();
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, sink_main, &sink) == 0);
    uint64_t sent = 0;
    for (uint64_t acked_bytes = 0; acked_bytes < batches * ACK_BYTES;) {
        while (sent < batches && sent - acked_bytes / ACK_BYTES < IN_FLIGHT) {
            send_all(pair.client, batch, BATCH_BYTES);
            sent++;
        }
        ssize_t got = recv(pair.client, acks, sizeof acks, 0);
        if (got <= 0) {
            die("recv");
        }
        acked_bytes += (uint64_t)got;
    }
    CHECK(pthread_join(thread, NULL) == 0);
    figure("raw_produce", (double)(batches * BATCH_BYTES) / 1e6 / (now_s() - started), "MB/s");
    free(batch);
    (void)close(pair.client); /* all of these were only read, or hold scratch */
    (void)close(pair.server);
    (void)close(target);
}

static void calibrate_pwrite(const struct options *options)
{
    int target = scratch_open(options);
    uint8_t *block = block_new_filled(MIB);
    double started = now_s();
    for (uint64_t pos = 0; pos < options->bytes; pos += MIB) {
        write_all(target, block, (size_t)MIN(options->bytes - pos, MIB), pos);
    }
    figure("raw_pwrite", (double)options->bytes / 1e6 / (now_s() - started), "MB/s");
    free(block);
    (void)close(target); /* scratch */
}

static void calibrate_fdatasync(const struct options *options)
{
    int target = scratch_open(options);
    uint8_t *block = block_new_filled(4096);
    static struct histogram times;
    for (uint64_t i = 0; i < SYNCS; i++) {
        double started = now_s();
        write_all(target, block, 4096, i * 4096);
        if (fdatasync(target) != 0) {
            die("fdatasync");
        }
        histogram_add(&times, (int64_t)((now_s() - started) * 1e6));
    }
    figure("fdatasync_p50", (double)histogram_quantile(&times, 0.5) / 1e6, "s");
    figure("fdatasync_p99", (double)histogram_quantile(&times, 0.99) / 1e6, "s");
    free(block);
    (void)close(target); /* scratch */
}

static const struct {
    const char *name;
    void (*run)(const struct options *options);
} calibrations[] = {
    {"copy", calibrate_copy},           {"copy_cold", calibrate_copy_cold},
    {"produce", calibrate_produce},     {"pwrite", calibrate_pwrite},
    {"fdatasync", calibrate_fdatasync},
};

static _Noreturn void usage(void)
{
    (void)fputs("usage: calibrate [--bytes N] [--dir DIR] "
                "copy|copy_cold|produce|pwrite|fdatasync...\n",
                stderr);
    exit(2);
}

static void run(const char *name, const struct options *options)
{
    for (size_t i = 0; i < ARRAY_LEN(calibrations); i++) {
        if (strcmp(calibrations[i].name, name) == 0) {
            calibrations[i].run(options);
            return;
        }
    }
    usage();
}

int main(int argc, char **argv)
{
    const char *dir = getenv("TMPDIR");
    struct options options = {.bytes = BYTES_DEFAULT, .dir = dir == NULL ? "/tmp" : dir};
    int next = 1;
    for (; next + 1 < argc && strncmp(argv[next], "--", 2) == 0; next += 2) {
        char *end = NULL;
        if (strcmp(argv[next], "--dir") == 0) {
            options.dir = argv[next + 1];
        } else if (strcmp(argv[next], "--bytes") == 0) {
            options.bytes = strtoull(argv[next + 1], &end, 10);
            if (*end != '\0' || options.bytes < BATCH_BYTES || options.bytes > (uint64_t)1 << 40) {
                usage();
            }
        } else {
            usage();
        }
    }
    if (next >= argc) {
        usage();
    }
    for (; next < argc; next++) {
        run(argv[next], &options);
    }
    return 0;
}
