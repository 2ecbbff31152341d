//! A member of a group, after rust-rdkafka's examples/simple_consumer.rs, without its runtime.
use std::env::var;
use std::time::Duration;

use log::{info, warn};
use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::KafkaResult;
use rdkafka::topic_partition_list::TopicPartitionList;

struct CustomContext;

impl ClientContext for CustomContext {}

impl ConsumerContext for CustomContext {
    fn pre_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance) {
        info!("Pre rebalance {:?}", rebalance);
    }
    fn post_rebalance(&self, _: &BaseConsumer<Self>, rebalance: &Rebalance) {
        info!("Post rebalance {:?}", rebalance);
    }
    fn commit_callback(&self, result: KafkaResult<()>, _offsets: &TopicPartitionList) {
        info!("Committing offsets: {:?}", result);
    }
}

fn main() {
    env_logger::init();
    let get = |name: &str| var(name).unwrap();
    let trouble = get("LEVEL") == "trouble";
    let mut config = ClientConfig::new();
    config
        .set("bootstrap.servers", get("BOOTSTRAP"))
        .set("group.id", get("GROUP"))
        .set("client.id", get("CLIENT"))
        .set("session.timeout.ms", get("SESSION_MS"))
        .set("heartbeat.interval.ms", get("HEARTBEAT_MS"))
        .set("max.poll.interval.ms", get("POLL_MS"))
        .set("auto.offset.reset", "earliest");
    if trouble {
        config.set("debug", "cgrp").set_log_level(RDKafkaLogLevel::Debug);
    }
    let consumer: BaseConsumer<CustomContext> = config.create_with_context(CustomContext).expect("Consumer creation failed");
    consumer.subscribe(&[&get("TOPIC")]).expect("Can't subscribe to specified topics");
    let mut stall = get("STALL_S").parse::<u64>().unwrap();
    loop {
        match consumer.poll(Duration::from_millis(200)) {
            Some(Err(e)) => warn!("Kafka error: {}", e),
            Some(Ok(message)) => {
                let _ = consumer.commit_message(&message, CommitMode::Async);
                if stall > 0 && std::path::Path::new(&get("STALL_FILE")).exists() {
                    std::thread::sleep(Duration::from_secs(stall));
                    stall = 0;
                }
            }
            None => {}
        }
    }
}
