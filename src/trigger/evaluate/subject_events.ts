import type { PinnedBlock } from '../../chain/block.ts'
import { readHeader } from '../../chain/evm/read_block.ts'
import type { SubjectEvent, WatchedLogs, Watcher, WatchTarget } from '../../family/watch.ts'
import { mapChunks } from '../../lib/async/chunk.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { WatchedSubject } from './watchlist.ts'

/** Events of watched subjects, with the times of their blocks. */
export interface SubjectEventBatch {
  getEvents(subject: WatchedSubject): readonly SubjectEvent[]
  /** Time of a block with an event, Unix seconds. */
  getTime(blockNumber: number): bigint
}

/** Headers per read, and concurrent reads. */
const PIECES = { size: 16, runningMax: 4 } as const
const BUDGET_MS = 5_000

/** Reads events of waiting subjects from the logs of a block and the gap before it. Throws as `ChainClient.read`. */
export async function readSubjectEvents(
  { events }: Watcher,
  {
    waiting,
    logs,
    target,
  }: { readonly waiting: readonly WatchedSubject[]; readonly logs: WatchedLogs; readonly target: WatchTarget },
  signal: AbortSignal,
): Promise<SubjectEventBatch> {
  const subjectsByWatch = new Map(waiting.map((each) => [each.subject, each]))
  const eventsBySubject = new Map<WatchedSubject, SubjectEvent[]>()
  if (events !== undefined && subjectsByWatch.size > 0) {
    for (const event of await events.read(logs, [...subjectsByWatch.keys()], target, signal)) {
      const subject = subjectsByWatch.get(event.subject)
      if (subject === undefined) continue
      const list = eventsBySubject.get(subject)
      if (list === undefined) eventsBySubject.set(subject, [event])
      else list.push(event)
    }
  }
  const times = await readTimes([...eventsBySubject.values()].flat(), { logs, target }, signal)
  return {
    getEvents: (subject) => eventsBySubject.get(subject) ?? [],
    getTime: (number) => times.get(number) ?? target.block.timestampSec,
  }
}

/** Times of blocks by number, from their logs or else from their headers. */
async function readTimes(
  subjectEvents: readonly SubjectEvent[],
  { logs, target: { client, block } }: { readonly logs: WatchedLogs; readonly target: WatchTarget },
  signal: AbortSignal,
): Promise<ReadonlyMap<number, bigint>> {
  const hashes = new Map(subjectEvents.map(({ blockNumber, blockHash }) => [blockNumber, blockHash]))
  const times = new Map([[Number(block.number), block.timestampSec]])
  for (const { blockNumber, timestampSec } of hashes.size === 0 ? [] : logs) {
    if (timestampSec !== null) times.set(blockNumber, BigInt(timestampSec))
  }
  const missing = [...hashes].filter(([number]) => !times.has(number))
  const read = (piece: readonly (readonly [number, string])[], within: AbortSignal) =>
    client.read((endpoint, own) => Promise.all(piece.map(([, hash]) => readBlockHeader(endpoint, hash, own))), {
      signal: within,
      budgetMs: BUDGET_MS,
      priority: 'background',
      past: 'header',
    })
  const headers = await mapChunks(missing, PIECES, read, signal)
  for (const { number, timestampSec } of headers) times.set(Number(number), timestampSec)
  return times

  async function readBlockHeader(
    endpoint: Parameters<typeof readHeader>[0],
    hash: string,
    own: AbortSignal,
  ): Promise<PinnedBlock> {
    const header = await readHeader(endpoint, { chainId: client.chain.id, at: { hash: `0x${hash.slice(2)}` } }, own)
    if (header === undefined) throw new UpstreamError('The endpoint does not have the block of a log')
    return header
  }
}
