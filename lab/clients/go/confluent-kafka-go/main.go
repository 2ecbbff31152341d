// A member of a group, after confluent-kafka-go's examples/consumer_example.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/confluentinc/confluent-kafka-go/v2/kafka"
)

func number(name string) time.Duration {
	value, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		panic(err)
	}
	return time.Duration(value)
}

func rebalance(c *kafka.Consumer, event kafka.Event) error {
	fmt.Printf("%% %v\n", event)
	return nil
}

func main() {
	config := kafka.ConfigMap{
		"bootstrap.servers":     os.Getenv("BOOTSTRAP"),
		"group.id":              os.Getenv("GROUP"),
		"client.id":             os.Getenv("CLIENT"),
		"session.timeout.ms":    os.Getenv("SESSION_MS"),
		"heartbeat.interval.ms": os.Getenv("HEARTBEAT_MS"),
		"max.poll.interval.ms":  os.Getenv("POLL_MS"),
		"auto.offset.reset":     "earliest",
	}
	if os.Getenv("LEVEL") == "trouble" {
		config["debug"] = "cgrp"
	}
	c, err := kafka.NewConsumer(&config)
	if err != nil {
		fmt.Fprintf(os.Stderr, "Failed to create consumer: %s\n", err)
		os.Exit(1)
	}
	fmt.Printf("Created Consumer %v\n", c)
	if err = c.SubscribeTopics([]string{os.Getenv("TOPIC")}, rebalance); err != nil {
		panic(err)
	}
	stall := number("STALL_S") * time.Second
	for {
		switch e := c.Poll(100).(type) {
		case kafka.Error:
			fmt.Fprintf(os.Stderr, "%% Error: %v: %v\n", e.Code(), e)
		case kafka.OffsetsCommitted:
			if e.Error != nil {
				fmt.Printf("Ignored %v\n", e)
			}
		}
		if _, err := os.Stat(os.Getenv("STALL_FILE")); err == nil && stall > 0 {
			time.Sleep(stall)
			stall = 0
		}
	}
}
