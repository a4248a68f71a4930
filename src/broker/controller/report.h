/*
 * What the list of moves tells to those who ask for more than Kafka's three lists
 * (docs/protocol-extensions.md): in the structs of the answer, in the memory that the request brought.
 */
#pragma once

#include "wire/list_partition_reassignments.h"

struct controller_report {
    /* One for each entry of this piece of the list, in its order. */
    struct wire_list_partition_reassignments_response_topics_partitions_details *details;
    int32_t count;
    /* With the last piece. */
    struct wire_list_partition_reassignments_response_jobs *jobs;
    int32_t job_count;
    struct wire_list_partition_reassignments_response_queued *queued; /* by topic */
    int32_t queued_count;
};
