// A member of a group, after node-rdkafka's README: flowing mode, librdkafka's log as an event.
const Kafka = require('node-rdkafka')

const { existsSync } = require('fs')
const { env } = process
const consumer = new Kafka.KafkaConsumer({
  'metadata.broker.list': env.BOOTSTRAP,
  'group.id': env.GROUP,
  'client.id': env.CLIENT,
  'session.timeout.ms': Number(env.SESSION_MS),
  'heartbeat.interval.ms': Number(env.HEARTBEAT_MS),
  'max.poll.interval.ms': Number(env.POLL_MS),
  ...(env.LEVEL === 'trouble' && { debug: 'cgrp' }),
  event_cb: true,
  rebalance_cb: true,
}, { 'auto.offset.reset': 'earliest' })

let stall = Number(env.STALL_S)
consumer.on('event.log', log => console.log(new Date().toISOString(), log))
consumer.on('event.error', err => console.error(new Date().toISOString(), 'Error from consumer', err))
consumer.on('rebalance', (err, assignment) => console.log(new Date().toISOString(), 'rebalance', err.message, JSON.stringify(assignment)))
consumer.on('ready', () => {
  consumer.subscribe([env.TOPIC])
  setInterval(() => {
    consumer.consume(100, () => {})
    if (stall && existsSync(env.STALL_FILE)) {
      const until = Date.now() + stall * 1000
      stall = 0
      while (Date.now() < until);
    }
  }, 200)
})
consumer.connect()
