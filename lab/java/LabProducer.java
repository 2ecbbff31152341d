import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.ScramCredentialInfo;
import org.apache.kafka.clients.admin.ScramMechanism;
import org.apache.kafka.clients.admin.UserScramCredentialDeletion;
import org.apache.kafka.clients.admin.UserScramCredentialUpsertion;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Creates a topic, keeps every partition of it supplied, and administers the cluster.
 *
 * <p>Arguments: bootstrap servers, topic, partitions, replicas, records a second and partition. Lines on standard
 * input: "partitions N" adds partitions up to N; "admit USER PASSWORD" and "expel USER" give and take a SCRAM credential.
 */
public final class LabProducer {
    private static volatile int partitions;

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("bootstrap.servers", args[0]);
        partitions = Integer.parseInt(args[2]);
        Admin admin = Admin.create(properties);
        NewTopic topic = new NewTopic(args[1], partitions, Short.parseShort(args[3]));
        admin.createTopics(List.of(topic)).all().get(60, TimeUnit.SECONDS);
        // The first group that asks for its coordinator makes the brokers create __consumer_offsets.
        admin.listConsumerGroupOffsets("lab").partitionsToOffsetAndMetadata().get(60, TimeUnit.SECONDS);
        System.out.println("topic created");
        Thread reader = new Thread(() -> readCommands(admin, args[1]));
        reader.setDaemon(true);
        reader.start();
        // It finds new leaders at once, so that a partition runs dry only where consumers could not fetch from it.
        Map<String, Object> settings = Map.of("bootstrap.servers", args[0], "client.id", "lab-producer",
            "metadata.max.age.ms", 500, "request.timeout.ms", 2_000, "delivery.timeout.ms", 5_000, "max.block.ms", 1_000,
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

    private static void readCommands(Admin admin, String topic) {
        try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                String[] words = line.trim().split(" ");
                try {
                    obey(admin, topic, words);
                    System.out.println("done " + line);
                } catch (Exception e) {
                    System.out.println("failed " + line + ": " + e);
                }
            }
        } catch (IOException e) {
            // The lab is gone.
        }
    }

    private static void obey(Admin admin, String topic, String[] words) throws Exception {
        switch (words[0]) {
            case "partitions":
                int wanted = Integer.parseInt(words[1]);
                admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(wanted))).all().get(30, TimeUnit.SECONDS);
                partitions = wanted;
                break;
            case "admit":
                ScramCredentialInfo info = new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4_096);
                admin.alterUserScramCredentials(List.of(new UserScramCredentialUpsertion(words[1], info, words[2])))
                    .all().get(30, TimeUnit.SECONDS);
                break;
            default:
                admin.alterUserScramCredentials(
                    List.of(new UserScramCredentialDeletion(words[1], ScramMechanism.SCRAM_SHA_256)))
                    .all().get(30, TimeUnit.SECONDS);
        }
    }
}
