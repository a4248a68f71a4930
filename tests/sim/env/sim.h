/*
 * The simulated world: virtual time, nodes with a disk and a network, all in one thread, all drawn
 * from one seed. A node's `struct env` is handed to the real code; nothing else is faked.
 *
 * Two runs of one seed do the same steps. Faults are asked for by the test (crash, power loss,
 * partition, failing or full disk) or drawn (delays, which unsynced writes a power loss keeps).
 *
 * Model of the disk: writes and truncations reach the page cache at once and the platter at sync.
 * A crash of the process keeps the page cache and the boot id. A power loss keeps, for each file, its synced content
 * plus any subset of the later writes, each cut at a sector; and of the creations, renames and
 * unlinks since the last directory sync a prefix.
 *
 * All of a file is in memory until sim_disk_chill: then reading it means waiting for the
 * disk, which is allowed but for what is sent from files in ranges of SIM_COLD_BYTES or more. Such a range
 * must have been asked for (env_file_is_cached) or warmed within SIM_COLD_GRACE_MS.
 */
#pragma once

#include "base/prng.h"
#include "env/env.h"

struct sim_world;
struct sim_node;

struct sim_world *sim_world_new(uint64_t seed);
void sim_world_free(struct sim_world *w);
struct prng *sim_world_prng(struct sim_world *w);
int64_t sim_world_now_ms(const struct sim_world *w);
/* Runs the next event; false when nothing is due ever. */
bool sim_world_step(struct sim_world *w);
/* Runs until done(arg) is true (returns true) or for_ms of virtual time have passed (false). */
bool sim_world_run(struct sim_world *w, int64_t for_ms, bool (*done)(void *arg), void *arg);
/* Number of events so far: a cheap progress and determinism check. */
uint64_t sim_world_steps(const struct sim_world *w);

/* ---- trace: the last lines are printed when a test fails ---- */

void sim_trace(struct sim_world *w, const char *format, ...) PRINTF_LIKE(2, 3);
void sim_trace_print(const struct sim_world *w);

/* ---- nodes ---- */

/* name is copied. The node starts alive with an empty disk. */
struct sim_node *sim_node_new(struct sim_world *w, const char *name);
struct env *sim_node_env(struct sim_node *n);
const char *sim_node_name(const struct sim_node *n);
bool sim_node_is_alive(const struct sim_node *n);
/* The process ends. The caller has freed the code that ran on the node before; messages and pool work
 * in flight still run (without effect on the disk) to free what they own. Timers, files or listeners
 * in use after that are a leak in that code and fail a CHECK. Peers see their connections close. */
void sim_node_crash(struct sim_node *n);
/* As crash, and the disk loses what was not synced (see above). Peers notice later. */
void sim_node_power_loss(struct sim_node *n);
/* Its wall clock runs so far ahead of the others'. */
void sim_node_skew_clock(struct sim_node *n, int64_t ms);
/* Alive again with its disk. */
void sim_node_start(struct sim_node *n);

/* ---- disk faults ---- */

/* The operation that counts this down to 0 fails with -error, once. 0 = none. */
void sim_disk_fail_at(struct sim_node *n, int64_t operations, enum error error);
/* Operations so far, the unit of sim_disk_fail_at. */
int64_t sim_disk_operations(const struct sim_node *n);
/* Bytes that fit; writes beyond fail with -E_DISK_FULL. -1 = no bound. */
void sim_disk_capacity(struct sim_node *n, int64_t bytes);
int64_t sim_disk_used(const struct sim_node *n);
/* Operations whose path starts with prefix fail with -E_IO until prefix is NULL. */
void sim_disk_break(struct sim_node *n, const char *prefix);
/* Extra delay of each piece of pool work, drawn up to max_ms. */
void sim_disk_slow(struct sim_node *n, int64_t max_ms);
/* Flips one bit of the file's present and synced content. False when the byte is not there. */
bool sim_disk_flip(struct sim_node *n, const char *path, uint64_t pos);
#define SIM_COLD_BYTES    512   /* shorter ranges are never asked for */
#define SIM_COLD_GRACE_MS 20000 /* an answer under way is sent by then */

/* Pages go out of memory: of every file, each part of some KiB with a chance of share percent. */
void sim_disk_chill(struct sim_node *n, int32_t share);
/* Ranges sent although they were not in memory, and nobody had asked or warmed them; and how often
 * ranges were warmed. */
uint64_t sim_disk_cold_sends(const struct sim_node *n);
uint64_t sim_disk_warmings(const struct sim_node *n);
/* Files open now. */
int32_t sim_disk_open_files(const struct sim_node *n);
/* Bytes that were to go past the page cache (env_file_drop_behind), so far. */
uint64_t sim_disk_dropped(const struct sim_node *n);

/* ---- network faults ---- */

/* No byte passes between a and b; connections stall, and break after a few seconds. */
void sim_net_partition(struct sim_world *w, struct sim_node *a, struct sim_node *b, bool on);
void sim_net_heal(struct sim_world *w);
/* One-way delay drawn from [min_us, max_us]. Default 50..300 us. */
void sim_net_delay(struct sim_world *w, int64_t min_us, int64_t max_us);
