import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Creates a topic and keeps every partition of it supplied.
 *
 * <p>Arguments: bootstrap servers, topic, partitions, replicas, records a second and partition.
 */
public final class LabProducer {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("bootstrap.servers", args[0]);
        int partitions = Integer.parseInt(args[2]);
        try (Admin admin = Admin.create(properties)) {
            NewTopic topic = new NewTopic(args[1], partitions, Short.parseShort(args[3]));
            admin.createTopics(List.of(topic)).all().get(60, TimeUnit.SECONDS);
        }
        System.out.println("topic created");
        Map<String, Object> settings = Map.of("bootstrap.servers", args[0], "client.id", "lab-producer",
            "key.serializer", ByteArraySerializer.class, "value.serializer", ByteArraySerializer.class);
        byte[] value = new byte[64];
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(settings)) {
            while (true) {
                for (int partition = 0; partition < partitions; partition++) {
                    producer.send(new ProducerRecord<>(args[1], partition, null, value));
                }
                Thread.sleep(1_000 / Integer.parseInt(args[4]));
            }
        }
    }
}
