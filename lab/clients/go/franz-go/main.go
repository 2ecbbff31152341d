// A member of a group with franz-go: its log goes to log/slog, or as its own basic logger writes it.
package main

import (
	"context"
	"log"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type logger struct{ to *slog.Logger }

func (l logger) Level() kgo.LogLevel { return kgo.LogLevelInfo }

// As plugin/kslog does.
func (l logger) Log(level kgo.LogLevel, msg string, keyvals ...any) {
	levels := map[kgo.LogLevel]slog.Level{kgo.LogLevelError: slog.LevelError, kgo.LogLevelWarn: slog.LevelWarn, kgo.LogLevelInfo: slog.LevelInfo}
	l.to.Log(context.Background(), levels[level], msg, keyvals...)
}

func number(name string) time.Duration {
	value, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		log.Panicf("%s: %v", name, err)
	}
	return time.Duration(value)
}

func main() {
	var chosen kgo.Logger = logger{slog.New(slog.NewTextHandler(os.Stderr, nil))}
	if os.Getenv("LEVEL") == "trouble" {
		chosen = kgo.BasicLogger(os.Stderr, kgo.LogLevelDebug, func() string { return time.Now().Format("2006-01-02 15:04:05.000 ") })
	}
	ctx := context.Background()
	if os.Getenv("PROTOCOL") == "consumer" {
		ctx = context.WithValue(ctx, "opt_in_kafka_next_gen_balancer_beta", true)
	}
	client, err := kgo.NewClient(
		kgo.WithContext(ctx),
		kgo.SeedBrokers(strings.Split(os.Getenv("BOOTSTRAP"), ",")...),
		kgo.ClientID(os.Getenv("CLIENT")),
		kgo.ConsumerGroup(os.Getenv("GROUP")),
		kgo.ConsumeTopics(os.Getenv("TOPIC")),
		kgo.SessionTimeout(number("SESSION_MS")*time.Millisecond),
		kgo.HeartbeatInterval(number("HEARTBEAT_MS")*time.Millisecond),
		kgo.WithLogger(chosen),
	)
	if err != nil {
		log.Panic(err)
	}
	stall := number("STALL_S") * time.Second
	for {
		fetches := client.PollFetches(context.Background())
		for _, problem := range fetches.Errors() {
			log.Printf("fetch error: topic %s partition %d: %v", problem.Topic, problem.Partition, problem.Err)
		}
		if _, err := os.Stat(os.Getenv("STALL_FILE")); err == nil && stall > 0 {
			time.Sleep(stall)
			stall = 0
		}
	}
}
