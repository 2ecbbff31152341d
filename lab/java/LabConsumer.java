import java.io.BufferedReader;
import java.io.FileReader;
import java.io.FileWriter;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Writer;
import java.net.ServerSocket;
import java.net.Socket;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;

/**
 * Members of consumer groups in one process, a thread each: every one polls, takes a while for each batch (a quarter
 * more or less), and writes down what its rebalance listener sees, and each partition that it went for a while without
 * records of.
 *
 * <p>Arguments, four for each member: consumer.properties, topic, milliseconds a batch, listener.jsonl. A line
 * "stall CLIENT N" on standard input keeps that client's polling thread busy for N milliseconds after its next poll,
 * "call CLIENT N" has it wait as long for a service that does not answer, "leak" fills the heap.
 */
public final class LabConsumer {
    private static final long DRY_MS = 2_000;
    private static final Map<String, Long> STALLS = new ConcurrentHashMap<>();
    private static final Map<String, Integer> CALLS = new ConcurrentHashMap<>();
    private static volatile boolean closing = false;

    public static void main(String[] args) throws Exception {
        List<KafkaConsumer<?, ?>> consumers = new ArrayList<>();
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < args.length; i += 4) {
            Properties properties = new Properties();
            try (BufferedReader file = new BufferedReader(new FileReader(args[i]))) {
                properties.load(file);
            }
            String client = properties.getProperty("client.id");
            String topic = args[i + 1];
            long batchMs = Long.parseLong(args[i + 2]);
            KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties);
            Listener listener = new Listener(consumer, client, new FileWriter(args[i + 3], true));
            consumers.add(consumer);
            threads.add(new Thread(() -> consume(consumer, client, topic, batchMs, listener), client));
        }
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            closing = true;
            consumers.forEach(KafkaConsumer::wakeup);
            for (Thread thread : threads) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
        }));
        readCommands();
        threads.forEach(Thread::start);
    }

    private static void consume(
        KafkaConsumer<?, ?> consumer, String client, String topic, long batchMs, Listener listener) {
        // Batches of real applications differ in length, so that members do not poll in step with each other.
        Random pace = new Random(client.hashCode());
        listener.write("started", List.of());
        consumer.subscribe(List.of(topic), listener);
        try {
            while (!closing) {
                ConsumerRecords<?, ?> records = consumer.poll(Duration.ofMillis(200));
                records.partitions().forEach(listener::read);
                if (!records.isEmpty()) {
                    work(Math.round(batchMs * (0.75 + pace.nextDouble() / 2)));
                }
                work(STALLS.getOrDefault(client, 0L));
                STALLS.remove(client);
                if (CALLS.containsKey(client)) {
                    new Rates(CALLS.get(client)).lookUp();
                    CALLS.remove(client);
                }
            }
        } catch (WakeupException e) {
            // The shutdown hook asked for it.
        } finally {
            consumer.close();
            listener.write("closed", List.of());
        }
    }

    private static void work(long ms) {
        long until = System.nanoTime() + ms * 1_000_000;
        while (!closing && System.nanoTime() < until) {
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private static void leak() {
        Object[] kept = {};
        try {
            while (!closing) {
                kept = new Object[] {kept, new long[1]};
            }
        } catch (OutOfMemoryError e) {
            kept = new Object[] {};
            System.out.println("cache-loader: gave up, " + e);
        }
    }

    /** A service that accepts connections and never answers. */
    private static final class Rates {
        private final int timeoutMs;

        Rates(int timeoutMs) {
            this.timeoutMs = timeoutMs;
        }

        void lookUp() {
            try (ServerSocket service = new ServerSocket(0);
                Socket socket = new Socket("127.0.0.1", service.getLocalPort())) {
                socket.setSoTimeout(timeoutMs);
                socket.getInputStream().read();
            } catch (IOException e) {
                // It timed out.
            }
        }
    }

    private static void readCommands() {
        Thread reader = new Thread(() -> {
            try (BufferedReader in = new BufferedReader(new InputStreamReader(System.in))) {
                for (String line = in.readLine(); line != null; line = in.readLine()) {
                    String[] words = line.trim().split(" ");
                    if (words[0].equals("stall")) {
                        STALLS.put(words[1], Long.parseLong(words[2]));
                    } else if (words[0].equals("call")) {
                        CALLS.put(words[1], Integer.parseInt(words[2]));
                    } else if (words[0].equals("leak")) {
                        new Thread(LabConsumer::leak, "cache-loader").start();
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
        private final Map<TopicPartition, Long> lastRead = new ConcurrentHashMap<>();

        Listener(KafkaConsumer<?, ?> consumer, String client, Writer out) {
            this.consumer = consumer;
            this.client = client;
            this.out = out;
        }

        void read(TopicPartition partition) {
            long at = System.currentTimeMillis();
            Long before = lastRead.put(partition, at);
            if (before != null && at - before > DRY_MS) {
                write("dry", List.of(partition), ",\"since\":" + before);
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            long at = System.currentTimeMillis();
            partitions.forEach(partition -> lastRead.put(partition, at));
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
