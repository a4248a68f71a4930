// See interop.py. Listing takes partitions by name: "foreign" has two.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func list(ctx context.Context, admin *kadm.Client) (any, error) {
	var wanted kadm.TopicsSet
	wanted.Add("foreign", 0, 1)
	moves, err := admin.ListPartitionReassignments(ctx, wanted)
	rows := [][]any{}
	for _, m := range moves.Sorted() {
		adding, removing := m.AddingReplicas, m.RemovingReplicas
		if adding == nil {
			adding = []int32{}
		}
		if removing == nil {
			removing = []int32{}
		}
		rows = append(rows, []any{m.Topic, m.Partition, m.Replicas, adding, removing})
	}
	return rows, err
}

func alter(ctx context.Context, admin *kadm.Client, args []string) (any, error) {
	var wanted kadm.AlterPartitionAssignmentsReq
	partition, _ := strconv.Atoi(args[1])
	var ids []int32
	for _, text := range strings.Split(args[2], ",") {
		id, _ := strconv.Atoi(text)
		ids = append(ids, int32(id))
	}
	wanted.Assign(args[0], int32(partition), ids)
	answers, err := admin.AlterPartitionAssignments(ctx, wanted)
	if err != nil {
		return nil, err
	}
	refusal := answers[args[0]][int32(partition)].Err
	var refused *kerr.Error
	if errors.As(refusal, &refused) {
		return refused.Code, nil
	}
	return 0, refusal
}

func main() {
	ctx := context.Background()
	client, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(os.Args[1], ",")...))
	if err == nil {
		defer client.Close()
		var answer any
		if os.Args[2] == "list" {
			answer, err = list(ctx, kadm.NewClient(client))
		} else {
			answer, err = alter(ctx, kadm.NewClient(client), os.Args[3:])
		}
		if err == nil {
			err = json.NewEncoder(os.Stdout).Encode(answer)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
