import { type Hex, toEventSelector } from 'viem'
import { UpstreamError } from '../../lib/error.ts'
import type { HistoryLog } from '../stream.ts'

/**
 * Creates the table of a protocol's relevant events from their signatures, which need types only:
 * `SetFee(bytes32 indexed, uint256)`.
 */
export function createEventTable<Name extends string>(signatures: Readonly<Record<Name, string>>) {
  const events = (Object.entries(signatures) as [Name, string][]).map(([name, signature]) => {
    const indexed = signature.match(/indexed/g)?.length ?? 0
    const words = signature.split(',').length - indexed
    return { name, topic: toEventSelector(signature), topics: 1 + indexed, words }
  })
  const eventsByTopic = new Map(events.map((event) => [event.topic, event]))
  return {
    /** First topic of each event. */
    topics: Object.fromEntries(events.map(({ name, topic }) => [name, topic])) as Readonly<Record<Name, Hex>>,
    /** The event of a log; undefined for another event. Throws `UpstreamError` if only its topic matches. */
    findName({ topics, data, blockNumber }: HistoryLog): Name | undefined {
      const event = topics[0] === undefined ? undefined : eventsByTopic.get(topics[0])
      if (event === undefined) return undefined
      if (topics.length !== event.topics || data.length < 2 + 64 * event.words) {
        throw new UpstreamError(
          `Cannot decode a log of block ${blockNumber}: it does not have the shape of ${event.name}`,
        )
      }
      return event.name
    },
  }
}

/** Creates a reader of a log's fields: addresses in its topics, addresses and words in its data. */
export function createLogFieldReader({ topics, data }: HistoryLog) {
  return {
    address: (index: number): Hex => `0x${(topics[index] ?? '').slice(26)}`,
    dataAddress: (index: number): Hex => `0x${data.slice(26 + 64 * index, 66 + 64 * index)}`,
    word: (index: number): bigint => BigInt(`0x${data.slice(2 + 64 * index, 66 + 64 * index)}`),
  }
}

/** An address as a topic of a log. */
export function toAddressTopic(address: Hex): Hex {
  return `0x${address.slice(2).padStart(64, '0')}`
}
