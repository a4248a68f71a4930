/*
 * The simulator's program: one seed or a range.
 *   sim-cluster --seeds A..B [--last-replica] [--levels] [--fault-points] [--trace]
 * Prints a line for each failing seed and how many passed; exit status 1 when any failed. With
 * --fault-points the controller also crashes at these, and how often it did at each is told.
 */
#include "broker/controller/fault.h"
#include "sim/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>

static int usage(void)
{
    (void)fprintf(stderr,
                  "usage: sim-cluster --seeds A..B [--last-replica] [--levels] [--fault-points] "
                  "[--trace]\n");
    return 2;
}

static bool seeds_parse(const char *text, uint64_t *ret_first, uint64_t *ret_last)
{
    char *end;
    *ret_first = *ret_last = strtoull(text, &end, 10);
    if (end == text) {
        return false;
    }
    if (strncmp(end, "..", 2) == 0) {
        const char *second = end + 2;
        *ret_last = strtoull(second, &end, 10);
        if (end == second) {
            return false;
        }
    }
    return *end == '\0' && *ret_first <= *ret_last;
}

int main(int argc, char **argv)
{
    uint64_t first = 0;
    uint64_t last = 0;
    bool has_seeds = false;
    struct cluster_options options = {0};
    uint64_t crossed[CONTROLLER_FAULT_POINTS] = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seeds") == 0 && i + 1 < argc) {
            has_seeds = seeds_parse(argv[++i], &first, &last);
        } else if (strcmp(argv[i], "--last-replica") == 0) {
            options.loses_last_replica = true;
        } else if (strcmp(argv[i], "--fault-points") == 0) {
            options.crossed = crossed;
        } else if (strcmp(argv[i], "--levels") == 0) {
            options.mixes_levels = true;
        } else if (strcmp(argv[i], "--trace") == 0) {
            options.is_traced = true;
        } else {
            return usage();
        }
    }
    if (!has_seeds) {
        return usage();
    }
    uint64_t failed = 0;
    for (uint64_t seed = first; seed <= last; seed++) {
        options.seed = seed;
        failed += !cluster_run(&options);
    }
    for (int32_t i = 0; options.crossed != NULL && i < CONTROLLER_FAULT_POINTS; i++) {
        printf("crossed %s %llu\n", controller_fault_name(i), (unsigned long long)crossed[i]);
    }
    printf("%llu passed, %llu failed\n", (unsigned long long)(last - first + 1 - failed),
           (unsigned long long)failed);
    return failed == 0 ? 0 : 1;
}
