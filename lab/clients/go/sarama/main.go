// A member of a group, after Sarama's examples/consumergroup.
package main

import (
	"context"
	"errors"
	"log"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

type handler struct{ stall time.Duration }

func (h *handler) Setup(session sarama.ConsumerGroupSession) error {
	log.Printf("Sarama consumer up and running!... generation %d, claims %v", session.GenerationID(), session.Claims())
	return nil
}

func (h *handler) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (h *handler) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, ok := <-claim.Messages():
			if !ok {
				log.Printf("message channel was closed")
				return nil
			}
			session.MarkMessage(message, "")
			if _, err := os.Stat(os.Getenv("STALL_FILE")); err == nil && h.stall > 0 {
				stall := h.stall
				h.stall = 0
				time.Sleep(stall)
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func number(name string) time.Duration {
	value, err := strconv.Atoi(os.Getenv(name))
	if err != nil {
		log.Panicf("%s: %v", name, err)
	}
	return time.Duration(value)
}

func main() {
	if os.Getenv("LEVEL") == "trouble" {
		sarama.Logger = log.New(os.Stdout, "[sarama] ", log.LstdFlags)
	}
	config := sarama.NewConfig()
	config.ClientID = os.Getenv("CLIENT")
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Return.Errors = true
	config.Consumer.Group.Session.Timeout = number("SESSION_MS") * time.Millisecond
	config.Consumer.Group.Heartbeat.Interval = number("HEARTBEAT_MS") * time.Millisecond
	client, err := sarama.NewConsumerGroup(strings.Split(os.Getenv("BOOTSTRAP"), ","), os.Getenv("GROUP"), config)
	if err != nil {
		log.Panicf("Error creating consumer group client: %v", err)
	}
	go func() {
		for err := range client.Errors() {
			log.Printf("Error: %v", err)
		}
	}()
	consumer := &handler{number("STALL_S") * time.Second}
	for {
		if err := client.Consume(context.Background(), []string{os.Getenv("TOPIC")}, consumer); err != nil {
			if errors.Is(err, sarama.ErrClosedConsumerGroup) {
				return
			}
			log.Printf("Error from consumer: %v", err)
			time.Sleep(time.Second)
		}
	}
}
