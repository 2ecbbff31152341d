import java.io.BufferedReader;
import java.io.FileReader;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;

/**
 * A member of a consumer group: polls, takes a while for each batch (a quarter more or less), and writes down what its rebalance listener sees.
 *
 * <p>Arguments: consumer.properties, topic, milliseconds a batch, listener.jsonl. A line "stall N" on standard input
 * keeps the polling thread busy for N milliseconds after the next poll.
 */
public final class LabConsumer {
    private static volatile boolean closing = false;
    private static volatile long stallMs = 0;

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        try (BufferedReader file = new BufferedReader(new FileReader(args[0]))) {
            properties.load(file);
        }
        long batchMs = Long.parseLong(args[2]);
        CountDownLatch closed = new CountDownLatch(1);
        KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
        Listener listener = new Listener(consumer, properties.getProperty("client.id"), new FileWriter(args[3], true));
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            closing = true;
            consumer.wakeup();
            try {
                closed.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }));
        // Batches of real applications differ in length, so that members do not poll in step with each other.
        Random pace = new Random(properties.getProperty("client.id").hashCode());
        readCommands();
        listener.write("started", List.of());
        consumer.subscribe(List.of(args[1]), listener);
        try {
            while (!closing) {
                if (!consumer.poll(Duration.ofMillis(200)).isEmpty()) {
                    work(Math.round(batchMs * (0.75 + pace.nextDouble() / 2)));
                }
                if (stallMs > 0) {
                    long taken = stallMs;
                    stallMs = 0;
                    work(taken);
                }
            }
        } catch (WakeupException e) {
            // The shutdown hook asked for it.
        } finally {
            consumer.close();
            listener.write("closed", List.of());
            closed.countDown();
        }
    }

    private static void work(long ms) throws InterruptedException {
        long until = System.nanoTime() + ms * 1_000_000;
        while (!closing && System.nanoTime() < until) {
            Thread.sleep(20);
        }
    }

    private static void readCommands() {
        Thread reader = new Thread(() -> {
            try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    String[] words = line.trim().split(" ");
                    if (words[0].equals("stall")) {
                        stallMs = Long.parseLong(words[1]);
                    }
                }
            } catch (IOException e) {
                // The lab is gone.
            }
        });
        reader.setDaemon(true);
        reader.start();
    }

    /** What the application is told of its partitions, one line of JSON each time. */
    private static final class Listener implements ConsumerRebalanceListener {
        private final KafkaConsumer<?, ?> consumer;
        private final String client;
        private final Writer out;

        Listener(KafkaConsumer<?, ?> consumer, String client, Writer out) {
            this.consumer = consumer;
            this.client = client;
            this.out = out;
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            write("assigned", partitions, ",\"generation\":" + consumer.groupMetadata().generationId()
                + ",\"member\":\"" + consumer.groupMetadata().memberId() + "\"");
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            write("revoked", partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            write("lost", partitions);
        }

        void write(String event, Collection<TopicPartition> partitions) {
            write(event, partitions, "");
        }

        private synchronized void write(String event, Collection<TopicPartition> partitions, String more) {
            String names = partitions.stream().map(TopicPartition::toString).sorted()
                .map(name -> "\"" + name + "\"").collect(Collectors.joining(","));
            try {
                out.write("{\"ts\":" + System.currentTimeMillis() + ",\"client\":\"" + client + "\",\"event\":\"" + event
                    + "\",\"partitions\":[" + names + "]" + more + "}\n");
                out.flush();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
