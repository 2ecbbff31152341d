// A member of a group, after kafka-go's README: a Reader whose loggers print through package log.
package main

import (
	"context"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/segmentio/kafka-go"
)

func number(name string) time.Duration {
	value, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		log.Panicf("%s: %v", name, err)
	}
	return time.Duration(value)
}

func main() {
	config := kafka.ReaderConfig{
		Brokers:           strings.Split(os.Getenv("BOOTSTRAP"), ","),
		GroupID:           os.Getenv("GROUP"),
		Topic:             os.Getenv("TOPIC"),
		Dialer:            &kafka.Dialer{ClientID: os.Getenv("CLIENT"), Timeout: 10 * time.Second, DualStack: true},
		SessionTimeout:    number("SESSION_MS") * time.Millisecond,
		HeartbeatInterval: number("HEARTBEAT_MS") * time.Millisecond,
		StartOffset:       kafka.FirstOffset,
		ErrorLogger:       kafka.LoggerFunc(log.Printf),
	}
	if os.Getenv("LEVEL") == "trouble" {
		config.Logger = kafka.LoggerFunc(log.Printf)
	}
	reader := kafka.NewReader(config)
	stall := number("STALL_S") * time.Second
	for {
		if _, err := reader.ReadMessage(context.Background()); err != nil {
			log.Printf("could not read message: %v", err)
			time.Sleep(time.Second)
		}
		if _, err := os.Stat(os.Getenv("STALL_FILE")); err == nil && stall > 0 {
			time.Sleep(stall)
			stall = 0
		}
	}
}
