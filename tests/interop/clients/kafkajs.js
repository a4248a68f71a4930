// See interop.py.
const { Kafka, logLevel } = require('kafkajs')

async function main([bootstrap, action, topic, partition, replicas]) {
  const kafka = new Kafka({ clientId: 'interop', brokers: bootstrap.split(','), logLevel: logLevel.NOTHING })
  const admin = kafka.admin()
  await admin.connect()
  try {
    if (action === 'list') {
      const { topics } = await admin.listPartitionReassignments({})
      return topics.flatMap(t => t.partitions.map(p =>
        [t.topic ?? t.name, p.partition ?? p.partitionIndex, p.replicas, p.addingReplicas, p.removingReplicas]))
    }
    try {
      await admin.alterPartitionReassignments({
        topics: [{ topic, partitionAssignment: [{ partition: Number(partition), replicas: replicas.split(',').map(Number) }] }],
      })
      return 0
    } catch (error) {
      const cause = error.errors?.[0] ?? error
      return cause.code ?? String(error)
    }
  } finally {
    await admin.disconnect()
  }
}

main(process.argv.slice(2)).then(answer => console.log(JSON.stringify(answer)))
