// See interop.py. Listing takes a topic and its partitions: "foreign" has two.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/IBM/sarama"
)

func list(admin sarama.ClusterAdmin) (any, error) {
	rows := [][]any{}
	moves, err := admin.ListPartitionReassignments("foreign", []int32{0, 1})
	for topic, partitions := range moves {
		for partition, m := range partitions {
			rows = append(rows, []any{topic, partition, m.Replicas, m.AddingReplicas, m.RemovingReplicas})
		}
	}
	return rows, err
}

// The client alters partitions 0..n-1 of a topic: those before the one meant are asked for as they are.
func alter(admin sarama.ClusterAdmin, args []string) (any, error) {
	partition, _ := strconv.Atoi(args[1])
	rows := [][]int32{{4, 2}}
	var ids []int32
	for _, text := range strings.Split(args[2], ",") {
		id, _ := strconv.Atoi(text)
		ids = append(ids, int32(id))
	}
	rows = append(rows[:partition], ids)
	err := admin.AlterPartitionReassignments(args[0], rows)
	var code sarama.KError
	if errors.As(err, &code) {
		return int16(code), nil
	}
	if err != nil && strings.Contains(err.Error(), sarama.ErrInvalidReplicaAssignment.Error()) {
		return int16(sarama.ErrInvalidReplicaAssignment), nil
	}
	return 0, err
}

func main() {
	config := sarama.NewConfig()
	config.Version = sarama.V2_4_0_0
	admin, err := sarama.NewClusterAdmin(strings.Split(os.Args[1], ","), config)
	if err == nil {
		var answer any
		if os.Args[2] == "list" {
			answer, err = list(admin)
		} else {
			answer, err = alter(admin, os.Args[3:])
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
