import type { PinnedBlock } from '../../chain/block.ts'
import { readHeader } from '../../chain/evm/read_block.ts'
import type { SubjectEvent, Watcher, WatchTarget } from '../../family/watch.ts'
import type { WatchedLogs } from '../../family/watch_logs.ts'
import { mapChunks } from '../../lib/async/chunk.ts'
import { UpstreamError } from '../../lib/error.ts'
import type { WatchedSubject } from './watchlist.ts'

/** What happened to subjects that are watched for it, and when. */
export interface SubjectEventBatch {
  of(subject: WatchedSubject): readonly SubjectEvent[]
  /** Time of a block in which something happened, Unix seconds. */
  timeOf(blockNumber: number): bigint
}

/** Headers of one reading, and readings at the same time. */
const PIECES = { size: 16, running: 4 } as const
const BUDGET_MS = 5_000

/** Tells what the logs of a block, or of a gap before it, say of those who wait for it. Throws as `ChainClient.read`. */
export async function readSubjectEvents(
  { events }: Watcher,
  {
    waiting,
    logs,
    place,
  }: { readonly waiting: readonly WatchedSubject[]; readonly logs: WatchedLogs; readonly place: WatchTarget },
  signal: AbortSignal,
): Promise<SubjectEventBatch> {
  const waiters = new Map(waiting.map((each) => [each.subject, each]))
  const found = new Map<WatchedSubject, SubjectEvent[]>()
  if (events !== undefined && waiters.size > 0) {
    for (const happening of await events.happenings(logs, [...waiters.keys()], place, signal)) {
      const subject = waiters.get(happening.subject)
      if (subject === undefined) continue
      const list = found.get(subject)
      if (list === undefined) found.set(subject, [happening])
      else list.push(happening)
    }
  }
  const times = await readTimes([...found.values()].flat(), { logs, place }, signal)
  return {
    of: (subject) => found.get(subject) ?? [],
    timeOf: (number) => times.get(number) ?? place.block.timestampSec,
  }
}

/** Times of blocks by number: as their logs say, else as their headers do. */
async function readTimes(
  happenings: readonly SubjectEvent[],
  { logs, place: { client, block } }: { readonly logs: WatchedLogs; readonly place: WatchTarget },
  signal: AbortSignal,
): Promise<ReadonlyMap<number, bigint>> {
  const hashes = new Map(happenings.map(({ blockNumber, blockHash }) => [blockNumber, blockHash]))
  const times = new Map([[Number(block.number), block.timestampSec]])
  for (const { blockNumber, timestampSec } of hashes.size === 0 ? [] : logs) {
    if (timestampSec !== null) times.set(blockNumber, BigInt(timestampSec))
  }
  const missing = [...hashes].filter(([number]) => !times.has(number))
  const read = (piece: readonly (readonly [number, string])[], within: AbortSignal) =>
    client.read((endpoint, own) => Promise.all(piece.map(([, hash]) => headerOf(endpoint, hash, own))), {
      signal: within,
      budgetMs: BUDGET_MS,
      priority: 'background',
      past: 'header',
    })
  const headers = await mapChunks(missing, PIECES, read, signal)
  for (const { number, timestampSec } of headers) times.set(Number(number), timestampSec)
  return times

  async function headerOf(
    endpoint: Parameters<typeof readHeader>[0],
    hash: string,
    own: AbortSignal,
  ): Promise<PinnedBlock> {
    const header = await readHeader(endpoint, { chainId: client.chain.id, at: { hash: `0x${hash.slice(2)}` } }, own)
    if (header === undefined) throw new UpstreamError('The endpoint does not have the block of a log')
    return header
  }
}
