/*
 * What the files of the simulated environment share. See sim.h for the model.
 */
#pragma once

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "sim/env/sim.h"

#define SIM_NODES_MAX  32
#define SIM_TRACE_MAX  400
#define SIM_TRACE_SIZE 200

struct sim_conn;
struct sim_listener;

/* Something that happens later on a node. What the network brings is dropped when the node ended
 * meanwhile; messages always run, for they own memory, as on a loop that outlives a killed broker. */
struct sim_event {
    struct heap_node node; /* key: microseconds */
    struct sim_node *home;
    uint32_t incarnation;
    bool is_message;
    env_fn fn;
    env_fn drop; /* frees arg when the event is dropped; may be NULL */
    void *arg;
};

/* A write or truncation since the last sync of the file. */
struct sim_change {
    struct list_node link;
    bool is_truncate;
    uint64_t pos; /* truncate: the new size */
    size_t len;
    uint8_t *bytes;
};

/* A part of a file, of SIM_PART_BYTES. Zeroed: in memory, and nobody asked. */
struct sim_part {
    bool is_cold;
    int64_t
        allowed_us; /* it may be sent for a while after: somebody asked, or warmed it; 0 = nobody */
};

#define SIM_PART_BYTES 1024

struct sim_inode {
    int32_t refs; /* names, open files, journal entries */
    uint8_t *data;
    size_t len;
    size_t cap;
    uint8_t *synced;
    size_t synced_len;
    size_t synced_cap;
    struct list changes;
    struct sim_part *parts; /* of the first part_count */
    size_t part_count;
    bool is_locked; /* by an open file with is_lock */
};

/* A name: of a file (inode set) or of a directory. */
struct sim_name {
    UT_hash_handle hh;
    struct sim_inode *inode; /* NULL = directory */
    char path[];
};

enum sim_dir_op_kind {
    SIM_LINK,
    SIM_UNLINK,
    SIM_RENAME,
};

/* A change of names since the last directory sync. */
struct sim_dir_op {
    struct list_node link;
    enum sim_dir_op_kind kind;
    char *path;
    char *to;                /* rename */
    struct sim_inode *inode; /* link of a file */
};

struct sim_disk {
    struct sim_name *names;
    struct sim_name *synced_names;
    struct list journal; /* of struct sim_dir_op */
    int64_t operations;
    int64_t fail_at;
    enum error fail_error;
    int64_t capacity;
    int64_t used;
    char *broken_prefix;
    bool is_gone; /* the process has ended: no operation has an effect */
    int64_t slow_ms;
    int32_t open_files;
    uint64_t dropped_bytes; /* named in hints to forget them */
    uint64_t cold_sends;
    uint64_t warmings;
};

struct sim_node {
    struct env env; /* first */
    struct sim_world *world;
    char name[24];
    int32_t index;
    bool is_alive;
    uint32_t incarnation;
    uint32_t power_losses;
    int64_t last_post_us; /* posts arrive in order */
    int64_t last_work_us; /* pool work runs in order */
    int64_t last_warm_us; /* so does warming */
    int64_t clock_skew_ms;
    struct sim_disk disk;
    struct list conns;     /* of struct sim_conn */
    struct list listeners; /* of struct sim_listener */
};

struct sim_world {
    struct prng prng;
    struct prng cold_prng; /* of what is in memory: worlds that are never cold run as without it */
    int64_t now_us;
    uint64_t steps;
    struct heap events;
    struct heap timers; /* of struct env_timer */
    struct sim_node *nodes[SIM_NODES_MAX];
    int32_t node_count;
    bool partitioned[SIM_NODES_MAX][SIM_NODES_MAX];
    int64_t delay_min_us;
    int64_t delay_max_us;
    uint16_t next_port;
    char trace[SIM_TRACE_MAX][SIM_TRACE_SIZE];
    uint64_t trace_count;
};

static inline struct sim_node *sim_of(const struct env *env)
{
    union {
        const struct env *in;
        struct sim_node *out;
    } cast = {.in =
                  env}; /* the env is the node's first member; the clock functions take it const */
    return cast.out;
}

void sim_schedule(struct sim_node *home, int64_t delay_us, env_fn fn, env_fn drop, void *arg);

/* sim_world.c */
void sim_post(struct env *to, env_fn fn, void *arg);
/* As a message: runs even when the node has ended. */
void sim_schedule_message(struct sim_node *home, int64_t delay_us, env_fn fn, void *arg);

/* sim_cache.c */
void sim_inode_written(struct sim_inode *inode, uint64_t pos, uint64_t len);

/* sim_disk.c */
struct sim_inode *sim_file_inode(struct env_file *f);
struct sim_inode *sim_inode_ref(struct sim_inode *inode);
void sim_inode_unref(struct sim_disk *d, struct sim_inode *inode);
extern const struct env_ops sim_env_ops;
void sim_disk_init(struct sim_disk *d);
void sim_disk_deinit(struct sim_disk *d);
void sim_disk_lose_power(struct sim_node *n);
int sim_file_open(struct env *env, const char *path, int flags, struct env_file **ret_file);
void sim_file_close(struct env_file *f);
int sim_file_read(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len);
int sim_file_read_now(struct env_file *f, void *ptr, size_t len, uint64_t pos, size_t *ret_len);
bool sim_file_is_cached(struct env_file *f, uint64_t pos, uint64_t len);
void sim_file_warm(struct env_file *f, struct env_range range, env_fn done, void *arg);
/* A range leaves for the network. */
void sim_file_sent(struct env_file *f, uint64_t pos, uint64_t len);
int sim_file_writev(struct env_file *f, const struct iovec *iov, int count, uint64_t pos);
int sim_file_size(struct env_file *f, uint64_t *ret_size);
int sim_file_truncate(struct env_file *f, uint64_t size);
int sim_file_sync(struct env_file *f);
void sim_file_drop_behind(struct env_file *f, uint64_t pos, uint64_t len);
int sim_rename(struct env *env, const char *from, const char *to);
int sim_unlink(struct env *env, const char *path);
int sim_mkdir(struct env *env, const char *path);
int sim_rmdir(struct env *env, const char *path);
int sim_dir_sync(struct env *env, const char *path);
int sim_dir_list(struct env *env, const char *path, env_dir_fn fn, void *arg);
int sim_lock(struct env *env, const char *path, struct env_file **ret_file);
int sim_disk_space(struct env *env, const char *path, struct env_space *ret_space);

/* sim_net.c */
void sim_net_node_down(struct sim_node *n, int64_t notice_ms);
int sim_listen(struct env *env, const char *host, uint16_t port, env_accept_fn on_accept, void *arg,
               struct env_listener **ret_listener, struct errmsg *em);
void sim_listener_close(struct env_listener *l);
struct env_conn *sim_connect(struct env *env, const char *host, uint16_t port,
                             const struct env_conn_handler *handler, void *arg);
int64_t sim_conn_read(struct env_conn *c, void *ptr, size_t len);
int64_t sim_conn_writev(struct env_conn *c, const struct iovec *iov, int count);
int64_t sim_conn_sendfile(struct env_conn *c, struct env_file *f, uint64_t pos, size_t len);
void sim_conn_interest(struct env_conn *c);
void sim_conn_close(struct env_conn *c);
