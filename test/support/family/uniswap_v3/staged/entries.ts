import { type Address, type Hex, zeroAddress } from 'viem'
import type { PinnedBlock } from '../../../../../src/chain/block.ts'
import { decodeAddress, decodeWord, encodeCall } from '../../../../../src/chain/call/words.ts'
import type { Endpoint } from '../../../../../src/chain/rpc/client.ts'
import type {
  BrokenPosition,
  LensContracts,
  RawPool,
  RawPosition,
  RawRead,
} from '../../../../../src/family/uniswap_v3/read/abi.ts'
import { type Ask, type CallResult, hasAnswer } from '../../../staged/multicall.ts'
import { NOTHING_SAID, readPrices, readTokens } from './tokens.ts'
import { decodeInt24, SELECTOR } from './words.ts'

/** Endpoint and block of a staged read. */
export interface StagedSource {
  readonly endpoint: Endpoint
  readonly chainId: number
  readonly multicall3: Address
  readonly subject: LensContracts
}

/** An id on a manager, and the answers about it. */
export interface Entry {
  readonly manager: number
  readonly tokenId: bigint
  readonly owner: Address | undefined
  readonly position: Hex | undefined
}

interface EntriesRequest {
  readonly source: StagedSource
  readonly ask: Ask
  readonly entries: readonly Entry[]
  /** Filled with further broken entries, by index in `entries`. */
  readonly broken: Map<number, BrokenPosition>
  readonly block: Pick<PinnedBlock, 'hash'>
}

/** Reads pools, ticks, tokens and prices of the entries, in three rounds. */
export async function readEntries(
  { source, ask, entries, broken, block }: EntriesRequest,
  signal: AbortSignal,
): Promise<Pick<RawRead, 'tokens' | 'pools' | 'positions' | 'broken'>> {
  const { subject, endpoint, multicall3 } = source
  const found = await findPools({ subject, ask, entries, broken })
  const [pools, ends] = await Promise.all([
    readPools({ ask, found }),
    ask(
      entries.flatMap((entry, at) => {
        const pool = found.get(poolKey(entry))?.address
        if (broken.has(at) || pool === undefined || entry.position === undefined) return []
        const position = entry.position
        return decodeWord(position, 7) === 0n
          ? []
          : [5, 6].map((end) => ({ to: pool, data: encodeCall(SELECTOR.ticks, decodeWord(position, end)) }))
      }),
    ),
  ])
  const collected = collect({ entries, broken, found, pools, ends })
  const where = { endpoint, multicall3, block, addresses: collected.tokens }
  const [tokens, prices] = await Promise.all([
    readTokens(where, signal),
    readPrices({ ...where, subject, ask }, signal),
  ])
  const priced = tokens.map((token, at) => ({ ...token, usd: prices[at] ?? NOTHING_SAID }))
  return { ...collected, tokens: priced }
}

interface FoundPool {
  readonly manager: number
  readonly address: Address
  readonly position: Hex
}

function poolKey({ manager, position }: Entry): string {
  return position === undefined ? '' : `${manager}:${position.slice(2 + 2 * 64, 2 + 5 * 64)}`
}

/** Reads the distinct pools of all entries from the factories. */
async function findPools(options: {
  readonly subject: LensContracts
  readonly ask: Ask
  readonly entries: readonly Entry[]
  readonly broken: ReadonlyMap<number, BrokenPosition>
}): Promise<Map<string, FoundPool>> {
  const { subject, ask, entries, broken } = options
  const distinct = new Map<string, { readonly manager: number; readonly position: Hex }>()
  for (const [at, entry] of entries.entries()) {
    const { manager, position } = entry
    if (!broken.has(at) && position !== undefined) distinct.set(poolKey(entry), { manager, position })
  }
  const keys = [...distinct.entries()]
  const answers = await ask(
    keys.map(([, { manager, position }]) => ({
      to: subject.deployments[manager]?.factory ?? zeroAddress,
      data: encodeCall(SELECTOR.getPool, decodeWord(position, 2), decodeWord(position, 3), decodeWord(position, 4)),
    })),
  )
  const found = new Map<string, FoundPool>()
  for (const [at, [key, each]] of keys.entries()) {
    const answer = answers[at]
    if (answer === undefined || !hasAnswer(answer, 1) || decodeWord(answer.data, 0) === 0n) continue
    found.set(key, { ...each, address: decodeAddress(answer.data, 0) })
  }
  return found
}

interface PoolState {
  readonly sqrtPriceX96: bigint
  readonly tick: number
  readonly global: RawPool['global']
}

async function readPools(options: {
  readonly ask: Ask
  readonly found: ReadonlyMap<string, FoundPool>
}): Promise<Map<string, PoolState>> {
  const questions = [SELECTOR.slot0, SELECTOR.feeGrowthGlobal0X128, SELECTOR.feeGrowthGlobal1X128]
  const pools = [...options.found.entries()]
  const answers = await options.ask(
    pools.flatMap(([, { address }]) => questions.map((selector) => ({ to: address, data: selector }))),
  )
  const states = new Map<string, PoolState>()
  for (const [at, [key]] of pools.entries()) {
    const [slot0, growth0, growth1] = answers.slice(at * 3, at * 3 + 3)
    if (slot0 === undefined || growth0 === undefined || growth1 === undefined) continue
    if (!hasAnswer(slot0, 2) || !hasAnswer(growth0, 1) || !hasAnswer(growth1, 1)) continue
    states.set(key, {
      sqrtPriceX96: BigInt.asUintN(160, decodeWord(slot0.data, 0)),
      tick: decodeInt24(slot0.data, 1),
      global: { growth0: decodeWord(growth0.data, 0), growth1: decodeWord(growth1.data, 0) },
    })
  }
  return states
}

interface Collected {
  readonly tokens: Address[]
  readonly pools: RawPool[]
  readonly positions: RawPosition[]
  readonly broken: BrokenPosition[]
}

/** Numbers pools and tokens in order of appearance, as the lens does. */
function collect(options: {
  readonly entries: readonly Entry[]
  readonly broken: Map<number, BrokenPosition>
  readonly found: ReadonlyMap<string, FoundPool>
  readonly pools: ReadonlyMap<string, PoolState>
  readonly ends: readonly CallResult[]
}): Collected {
  const { entries, broken, found, pools: states, ends } = options
  const pools: RawPool[] = []
  const positions: RawPosition[] = []
  const poolNumbers = new Map<string, number>()
  const tokenNumbers = new Map<Address, number>()
  const getTokenIndex = (token: Address): number => {
    const number = tokenNumbers.get(token) ?? tokenNumbers.size
    tokenNumbers.set(token, number)
    return number
  }
  let end = 0
  for (const [at, entry] of entries.entries()) {
    const { manager, tokenId, owner, position } = entry
    if (broken.has(at) || position === undefined || owner === undefined) continue
    const key = poolKey(entry)
    const [pool, state] = [found.get(key), states.get(key)]
    const liquidity = decodeWord(position, 7)
    const [lower, upper] = liquidity > 0n && pool !== undefined ? ends.slice(end, end + 2) : []
    if (liquidity > 0n && pool !== undefined) end += 2
    if (pool === undefined || state === undefined) {
      broken.set(at, { manager, tokenId, part: 'pool' })
      continue
    }
    let poolNumber = poolNumbers.get(key)
    if (poolNumber === undefined) {
      poolNumber = pools.length
      poolNumbers.set(key, poolNumber)
      const [token0, token1] = [getTokenIndex(decodeAddress(position, 2)), getTokenIndex(decodeAddress(position, 3))]
      pools.push({ manager, address: pool.address, token0, token1, fee: Number(decodeWord(position, 4)), ...state })
    }
    const hasEnds = lower !== undefined && upper !== undefined && hasAnswer(lower, 4) && hasAnswer(upper, 4)
    if (liquidity > 0n && !hasEnds) {
      broken.set(at, { manager, tokenId, part: 'tick' })
      continue
    }
    positions.push({
      manager,
      tokenId,
      owner,
      pool: poolNumber,
      liquidity,
      tickLower: decodeInt24(position, 5),
      tickUpper: decodeInt24(position, 6),
      insideLast: { growth0: decodeWord(position, 8), growth1: decodeWord(position, 9) },
      owed: { amount0: decodeWord(position, 10), amount1: decodeWord(position, 11) },
      outside: hasEnds ? { lower: decodeOutside(lower), upper: decodeOutside(upper) } : undefined,
    })
  }
  const ordered = [...broken.entries()].sort(([a], [b]) => a - b).map(([, each]) => each)
  return { tokens: [...tokenNumbers.keys()], pools, positions, broken: ordered }
}

function decodeOutside({ data }: CallResult) {
  return { growth0: decodeWord(data, 2), growth1: decodeWord(data, 3) }
}
