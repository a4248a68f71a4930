// See interop.py.
import java.util.Arrays;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.clients.admin.PartitionReassignment;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;

public class Moves {
    static String row(TopicPartition tp, PartitionReassignment move) {
        return String.format("[\"%s\",%d,%s,%s,%s]", tp.topic(), tp.partition(), move.replicas(), move.addingReplicas(),
                move.removingReplicas());
    }

    static String list(Admin admin) throws Exception {
        return admin.listPartitionReassignments().reassignments().get().entrySet().stream()
                .map(e -> row(e.getKey(), e.getValue())).collect(Collectors.joining(",", "[", "]"));
    }

    static String alter(Admin admin, TopicPartition tp, String replicas) throws Exception {
        NewPartitionReassignment wanted = new NewPartitionReassignment(
                Arrays.stream(replicas.split(",")).map(Integer::valueOf).collect(Collectors.toList()));
        try {
            admin.alterPartitionReassignments(Map.of(tp, Optional.of(wanted))).all().get();
            return "0";
        } catch (ExecutionException e) {
            return String.valueOf(Errors.forException(e.getCause()).code());
        }
    }

    public static void main(String[] args) throws Exception {
        try (Admin admin = Admin.create(Map.<String, Object>of("bootstrap.servers", args[0]))) {
            System.out.println(args[1].equals("list") ? list(admin)
                    : alter(admin, new TopicPartition(args[2], Integer.parseInt(args[3])), args[4]));
        }
    }
}
