// See interop.py.
import { Connection, alterPartitionReassignmentsV0, listPartitionReassignmentsV0, metadataV12 } from '@platformatic/kafka'

async function connect(address) {
  const [host, port] = address.split(':')
  const connection = new Connection('interop')
  await connection.connect(host, Number(port))
  return connection
}

async function controllerOf(bootstrap) {
  const connection = await connect(bootstrap.split(',')[0])
  const metadata = await metadataV12.api.async(connection, [], false, false)
  await connection.close()
  const broker = metadata.brokers.find(b => b.nodeId === metadata.controllerId)
  return connect(`${broker.host}:${broker.port}`)
}

async function main([bootstrap, action, topic, partition, replicas]) {
  const connection = await controllerOf(bootstrap)
  try {
    if (action === 'list') {
      const { topics } = await listPartitionReassignmentsV0.api.async(connection, 30000, null)
      return topics.flatMap(t => t.partitions.map(p =>
        [t.name, p.partitionIndex, p.replicas, p.addingReplicas, p.removingReplicas]))
    }
    const partitions = [{ partitionIndex: Number(partition), replicas: replicas.split(',').map(Number) }]
    try {
      await alterPartitionReassignmentsV0.api.async(connection, 30000, true, [{ name: topic, partitions }])
      return 0
    } catch (error) {
      return error.response?.responses?.[0]?.partitions?.[0]?.errorCode ?? String(error)
    }
  } finally {
    await connection.close()
  }
}

main(process.argv.slice(2)).then(answer => console.log(JSON.stringify(answer)))
