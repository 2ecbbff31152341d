import java.io.File;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;

/** A member of a group with Kafka Streams; a slow record holds its thread up. */
public final class StreamsMember {
    private static long stall = Long.parseLong(System.getenv("STALL_S")) * 1000;

    public static void main(String[] args) {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", System.getenv("BOOTSTRAP"));
        properties.put("application.id", System.getenv("GROUP"));
        properties.put("client.id", System.getenv("CLIENT"));
        properties.put("max.poll.interval.ms", System.getenv("POLL_MS"));
        properties.put("session.timeout.ms", System.getenv("SESSION_MS"));
        properties.put("heartbeat.interval.ms", System.getenv("HEARTBEAT_MS"));
        properties.put("auto.offset.reset", "earliest");
        properties.put("state.dir", System.getenv("STATE_DIR"));
        properties.put("default.key.serde", Serdes.ByteArraySerde.class.getName());
        properties.put("default.value.serde", Serdes.ByteArraySerde.class.getName());
        StreamsBuilder builder = new StreamsBuilder();
        builder.<byte[], byte[]>stream(System.getenv("TOPIC")).foreach((key, value) -> {
            if (stall > 0 && new File(System.getenv("STALL_FILE")).exists()) {
                try {
                    Thread.sleep(stall);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
                stall = 0;
            }
        });
        new KafkaStreams(builder.build(), properties).start();
    }
}
