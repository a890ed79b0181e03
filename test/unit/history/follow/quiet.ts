import { type Hex, numberToHex } from 'viem'
import type { BackgroundEndpoint, ChainClient } from '../../../../src/chain/rpc/client.ts'
import type { Database } from '../../../../src/db/database.ts'
import type { LendingEvent } from '../../../../src/family/lending/lending_event.ts'
import { createFollower, type Follower } from '../../../../src/history/follow/follower.ts'
import { createAdaptiveLogSource } from '../../../../src/history/logs/reader.ts'
import { createLogSource } from '../../../../src/history/logs/source.ts'
import type { Stream, StreamTarget } from '../../../../src/history/stream.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import type { Clock } from '../../../../src/lib/clock.ts'
import { type Log, silentLog } from '../../../../src/lib/log.ts'
import { EMITTER } from '../../../support/history/scene.ts'
import { toHash } from '../../../support/history/simulation/chain.ts'
import { createSkippingClock } from '../../../support/test_clock.ts'
import { type SimulatedStore, simulateStore } from '../simulation/store.ts'

/** Never fires. */
export const never = createWork(new AbortController().signal)
const CHAIN_ID = 31_337
export const PLACE = { chainId: CHAIN_ID, contract: EMITTER, startBlock: 1 }

interface AskedLogs {
  readonly fromBlock: number
  readonly toBlock: number
  /** Undefined: the request was for all wallets. */
  readonly wallets: number | undefined
}

/** An endpoint of a long chain on which nothing happens, which takes ranges of at most `cap` blocks. */
export function quietEndpoint(cap: number): { readonly endpoint: BackgroundEndpoint; readonly answered: AskedLogs[] } {
  const answered: AskedLogs[] = []
  const endpoint: BackgroundEndpoint = {
    index: 0,
    usable: true,
    async request({ method, params, parse, mapRefusal: refusal }) {
      if (method === 'eth_getBlockByNumber') return parse(createHeader(Number(params[0])))
      const { fromBlock, toBlock, topics } = params[0] as FilterJson
      const asked = { fromBlock: Number(fromBlock), toBlock: Number(toBlock) }
      if (asked.toBlock - asked.fromBlock + 1 > cap) {
        const words = `block range is too wide (maximum ${cap})`
        throw refusal?.({ status: 200, code: -32603, words, retryAfterMs: undefined }) ?? new Error(words)
      }
      answered.push({ ...asked, wallets: topics.length < 2 ? undefined : [topics[1]].flat().length })
      return parse([])
    },
  }
  return { endpoint, answered }
}

/** A filter as endpoints are asked. */
export interface FilterJson {
  readonly fromBlock: Hex
  readonly toBlock: Hex
  readonly topics: readonly (Hex | readonly Hex[])[]
}

function createHeader(number: number): object {
  return { number: numberToHex(number), timestamp: '0x1', hash: toHash(number), parentHash: toHash(number - 1) }
}

/** What a follower has besides its endpoints. */
interface Circumstances {
  readonly clock?: Clock
  readonly log?: Log
  /** What is different about the stream. */
  readonly checks?: Partial<Stream<LendingEvent>>
  /** Absent: an empty one. */
  readonly store?: SimulatedStore
}

/** A follower of endpoints over a simulated database. */
export function follow(
  endpoints: readonly BackgroundEndpoint[],
  { clock = createSkippingClock(), log = silentLog, checks = {}, store = simulateStore(() => 0) }: Circumstances = {},
): Follower<StreamTarget> {
  const { coverage, stream } = store.open('test', () => false)
  return createFollower({
    stream: { ...stream, ...checks },
    target: PLACE,
    coverage,
    clock,
    log,
    client: { chain: { id: CHAIN_ID, name: 'Quiet' } } as unknown as ChainClient,
    sources: endpoints.map((endpoint) =>
      createAdaptiveLogSource({ source: createLogSource(endpoint, CHAIN_ID), clock }),
    ),
    db: {} as Database,
    onStored: () => {},
    onHealed: () => {},
  })
}

/** Asks for a wallet's history of so many blocks. */
export function complete(
  follower: Follower<StreamTarget>,
  blocks: number,
  subject: Hex,
  signal = never.signal,
): Promise<boolean> {
  return follower.complete(
    { subject, fromBlock: 1, final: { number: blocks, hash: toHash(blocks), epoch: 0 }, requesters: new Set() },
    PLACE,
    signal,
  )
}

/** A clock that only pauses move on. */
export function simulateTime() {
  const clock = createSkippingClock()
  return { clock, time: clock.time }
}
