import java.io.File;
import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;

/** A member of a group with the Java client of any release from 0.11 on; what it logs is the client's own. */
public final class Member {
    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.put("bootstrap.servers", System.getenv("BOOTSTRAP"));
        properties.put("group.id", System.getenv("GROUP"));
        properties.put("client.id", System.getenv("CLIENT"));
        properties.put("max.poll.interval.ms", System.getenv("POLL_MS"));
        properties.put("auto.offset.reset", "earliest");
        properties.put("key.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        properties.put("value.deserializer", "org.apache.kafka.common.serialization.ByteArrayDeserializer");
        if (System.getenv("PROTOCOL").equals("consumer")) {
            properties.put("group.protocol", "consumer");
        } else {
            properties.put("session.timeout.ms", System.getenv("SESSION_MS"));
            properties.put("heartbeat.interval.ms", System.getenv("HEARTBEAT_MS"));
        }
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
        consumer.subscribe(List.of(System.getenv("TOPIC")));
        long stall = Long.parseLong(System.getenv("STALL_S")) * 1000;
        while (true) {
            poll(consumer);
            if (stall > 0 && new File(System.getenv("STALL_FILE")).exists()) {
                Thread.sleep(stall);
                stall = 0;
            }
        }
    }

    /** poll(Duration) since 2.0 (KIP-266), poll(long) until 4.0. */
    private static void poll(KafkaConsumer<?, ?> consumer) throws ReflectiveOperationException {
        for (Method method : KafkaConsumer.class.getMethods()) {
            if (method.getName().equals("poll") && method.getParameterTypes()[0] == Duration.class) {
                method.invoke(consumer, Duration.ofMillis(200));
                return;
            }
        }
        KafkaConsumer.class.getMethod("poll", long.class).invoke(consumer, 200L);
    }
}
