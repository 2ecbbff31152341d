// A member of a group, after KafkaJS's getting started.
const { Kafka, logLevel } = require('kafkajs')

const { existsSync } = require('fs')
const { env } = process
const kafka = new Kafka({
  clientId: env.CLIENT,
  brokers: env.BOOTSTRAP.split(','),
  ...(env.LEVEL === 'trouble' && { logLevel: logLevel.DEBUG }),
})
const consumer = kafka.consumer({
  groupId: env.GROUP,
  sessionTimeout: Number(env.SESSION_MS),
  heartbeatInterval: Number(env.HEARTBEAT_MS),
})
let stall = Number(env.STALL_S)

const run = async () => {
  await consumer.connect()
  await consumer.subscribe({ topic: env.TOPIC, fromBeginning: true })
  await consumer.run({
    eachMessage: async () => {
      if (stall && existsSync(env.STALL_FILE)) {
        const ms = stall * 1000
        stall = 0
        await new Promise(resolve => setTimeout(resolve, ms))
      }
    },
  })
}

run().catch(e => console.error(`[example/consumer] ${e.message}`, e))
