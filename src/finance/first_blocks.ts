import type { Address, Hex } from 'viem'
import { firstBlockInsert, firstBlockList } from '../../sql/queries.ts'
import type { PinnedBlock } from '../chain/block.ts'
import { type ContractCall, type ReturnData, readMulticall } from '../chain/call/many/multicall.ts'
import { tryDecodeAddress } from '../chain/call/words.ts'
import { createBlockFinder, NoBlockError } from '../chain/past/block_at.ts'
import { QUORUM, readByQuorum } from '../chain/past/quorum.ts'
import type { ChainClient } from '../chain/rpc/client.ts'
import type { Database } from '../db/database.ts'
import { createServerTime, type ServerTime } from '../db/server_time.ts'
import { hexFromBytes, toHexDigits } from '../history/stored_part.ts'
import { createWork, type Work } from '../lib/async/work.ts'
import type { Clock } from '../lib/clock.ts'

/** Pause between rounds, and after a search that found nothing, milliseconds. */
const EVERY_MS = 60_000
const AGAIN_MS = 3_600_000
/** Deployments that wait for their search: callers name some of them, such as vaults that a factory made. */
const WANTED_MAX = 1_000
/** A first block must be at least so old, seconds: older blocks are final on every chain. */
const SETTLED_SEC = 86_400n

interface Wanted {
  readonly client: ChainClient
  readonly probe: StandingProbe
  /** Monotonic milliseconds before which it is not searched. */
  fromMs: number
}

interface FirstBlocksOptions {
  readonly db: Database
  readonly clock: Clock
  /** Decides what is old enough to be final. @default the database's */
  readonly serverTime?: ServerTime
  /** @default {1,000} */
  readonly wantedMax?: number
}

/** First blocks of deployments whose configuration names none. */
export type FirstBlocks = ReturnType<typeof createFirstBlocks>

/**
 * Creates the memory of first blocks over the database. What past reads ask for is searched in the background, by
 * bisecting at an endpoint that has the past, and stored once two endpoints agree that the deployment stands at the
 * block and not at the one before it. With one endpoint nothing is stored: each read asks it again.
 */
export function createFirstBlocks(options: FirstBlocksOptions) {
  const { db, clock, serverTime = createServerTime({ db, clock }), wantedMax = WANTED_MAX } = options
  const finder = createBlockFinder(clock)
  const found = new Map<string, bigint>()
  const wanted = new Map<string, Wanted>()
  let isLoaded = false

  async function load(): Promise<void> {
    for (const { chain_id, contract, getters, block } of await firstBlockList(db, {})) {
      found.set(`${chain_id}:${hexFromBytes(contract)}:${getters}`, BigInt(block))
    }
    isLoaded = true
  }

  /** Searches the first block; undefined if two endpoints do not prove one. */
  async function search({ client, probe }: Wanted, work: Work): Promise<bigint | undefined> {
    const hasProbe = async (number: bigint, quorum: number) => {
      const block = await finder.findByNumber(client, number, work)
      const query = { client, probes: [probe], block, clock, quorum, priority: 'background' } as const
      const { standing, isAgreed } = await readStanding(query, work)
      return { stands: standing.has(probe.contract), isAgreed }
    }
    const settled = await finder.findByTime(client, BigInt(Math.floor(await serverTime())) - SETTLED_SEC, work)
    let [low, high] = [0n, settled.number]
    if (high === 0n || !(await hasProbe(high, 1)).stands) return undefined
    while (high - low > 1n) {
      const middle = (low + high) / 2n
      if ((await hasProbe(middle, 1)).stands) high = middle
      else low = middle
    }
    const first = await hasProbe(high, QUORUM)
    // Nothing is read at block 0.
    const before = low === 0n ? { stands: false, isAgreed: true } : await hasProbe(low, QUORUM)
    return first.stands && first.isAgreed && !before.stands && before.isAgreed ? high : undefined
  }

  return {
    /** The first block of a deployment, if it was found. */
    get: (chainId: number, probe: StandingProbe): bigint | undefined => found.get(getKey(chainId, probe)),
    /** Has the first block of a deployment searched, in place of the one that has waited longest if too many do. */
    want(client: ChainClient, probe: StandingProbe): void {
      const { id, rpcUrls } = client.chain
      const key = getKey(id, probe)
      if (rpcUrls.length < QUORUM || found.has(key) || wanted.has(key)) return
      const [oldest] = wanted.keys()
      if (oldest !== undefined && wanted.size >= wantedMax) wanted.delete(oldest)
      wanted.set(key, { client, probe, fromMs: 0 })
    },
    /** Loads what is stored, searches what is wanted, and returns the pause until the next round, milliseconds. */
    async round(signal: AbortSignal): Promise<number> {
      const due = [...wanted].filter(([, { fromMs }]) => fromMs <= clock.monotonicMs())
      if (!isLoaded || due.length > 0) await load()
      for (const [key, each] of due) {
        each.fromMs = clock.monotonicMs() + AGAIN_MS
        const block = found.get(key) ?? (await search(each, createWork(signal)).catch(ignoreNoBlock))
        if (block === undefined) continue
        const { client, probe } = each
        const contract = toHexDigits(probe.contract)
        await firstBlockInsert(db, {
          chainId: client.chain.id,
          contract,
          getters: probe.getters.join(),
          block: `${block}`,
        })
        found.set(key, block)
        wanted.delete(key)
      }
      return EVERY_MS
    },
  }
}

function getKey(chainId: number, { contract, getters }: StandingProbe): string {
  return `${chainId}:${contract.toLowerCase()}:${getters.join()}`
}

/** A chain younger than a day has no settled block. */
function ignoreNoBlock(error: unknown): undefined {
  if (!(error instanceof NoBlockError)) throw error
}

/** Call data of a function that no contract has. */
const UNKNOWN_FUNCTION: Hex = '0xffffffff'

/** What a deployment has once it stands whole: code, and parts that were registered after it was made. */
interface StandingProbe {
  readonly contract: Address
  /** Call data of its getters of these parts, which return an address other than zero. */
  readonly getters: readonly Hex[]
}

/**
 * Reads which contracts stand whole at a block, in a call as figures are read, so that receipts hold it. Two endpoints
 * must agree: what is not there leaves a sum without a word. Where there is only one, its word counts, as for every
 * figure of the block. Throws `ChainUnavailableError` (disputed) if endpoints contradict each other, else as
 * `readByQuorum`.
 */
export async function readStanding(
  {
    client,
    probes,
    block,
    clock,
    ...reading
  }: {
    readonly client: ChainClient
    readonly probes: readonly StandingProbe[]
    readonly block: PinnedBlock
    readonly clock: Clock
    /** @default {2} */
    readonly quorum?: number
    readonly priority?: 'background'
  },
  work: Work,
): Promise<{ readonly standing: ReadonlySet<Address>; readonly isAgreed: boolean }> {
  if (probes.length === 0) return { standing: new Set(), isAgreed: false }
  const calls = probes.flatMap(toCalls)
  const { value, endpoints } = await readByQuorum(
    client,
    async (endpoint, within) => {
      const { results } = await readMulticall(endpoint, { calls, block, isLight: true, clock }, within)
      const rest = [...results]
      return probes.flatMap((probe) => (isWhole(rest.splice(0, toCalls(probe).length)) ? probe.contract : []))
    },
    {
      ...reading,
      work,
      past: block,
      // One call holds this one and the one that examines the endpoint's state.
      isBundled: true,
      what: `which contracts exist at block ${block.number}`,
      toText: (found) => found.join(),
    },
  )
  return { standing: new Set(value), isAgreed: endpoints.length >= QUORUM }
}

function toCalls({ contract, getters }: StandingProbe): ContractCall[] {
  return [UNKNOWN_FUNCTION, ...getters].map((data) => ({ to: contract, data }))
}

/** True if the contract refuses the unknown function and names its parts; an address without code answers nothing. */
function isWhole([code, ...parts]: readonly ReturnData[]): boolean {
  return code !== '0x' && parts.every((part) => BigInt(tryDecodeAddress(part) ?? 0) !== 0n)
}
