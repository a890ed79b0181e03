import { type Hex, numberToHex } from 'viem'
import { type BackgroundEndpoint, RpcRefusedError } from '../../../../src/chain/rpc/client.ts'
import { compareLogs } from '../../../../src/history/logs/witness.ts'
import type { HistoryLog } from '../../../../src/history/stream.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { EMITTER, POOL_TOPIC, TOKEN_TOPIC, toTopic } from '../scene.ts'
import { RECEIPT_FIELDS, type SimulatedChain, toHash, WALLETS, word } from './chain.ts'
import type { Random } from './random.ts'

/** How an endpoint refuses a range longer than its cap, by provider. */
export const CAP_DIALECTS: readonly ((cap: number, asked: number, from: number) => Said)[] = [
  (cap, _, from) => ({
    status: 400,
    code: -32600,
    words: `Under the Free tier plan, you can make eth_getLogs requests with up to a ${cap} block range. Based on your parameters, this block range should work: [0x${from.toString(16)}, 0x${(from + cap - 1).toString(16)}].`,
  }),
  (cap, asked) => ({ status: 200, code: -32602, words: `range ${asked} exceeds limit of ${cap}` }),
  (cap) => ({ status: 413, code: -32614, words: `eth_getLogs is limited to a ${cap.toLocaleString('en')} range` }),
  () => ({ status: 200, code: -32000, words: 'Block range limit exceeded. See more details in our documentation' }),
  () => ({ status: 400, code: -32062, words: 'Block range is too large' }),
  (cap) => ({ status: 400, code: 35, words: `ranges over ${cap} blocks are not supported on freetier` }),
  (cap) => ({ status: 200, code: -32001, words: `eth_getLogs is limited to 0 - ${cap} blocks range` }),
  (cap) => ({ status: 200, code: -32047, words: `'fromBlock'-'toBlock' range too large. Max range: ${cap}` }),
  (cap) => ({ status: 200, code: -32603, words: `block range is too wide (maximum ${cap})` }),
]

interface Said {
  readonly status: number
  readonly code: number
  readonly words: string
}

/** What is wrong with one endpoint. */
interface Character {
  /** The longest range. */
  readonly cap: number | undefined
  readonly dialect: (typeof CAP_DIALECTS)[number]
  /** The most logs of an answer. */
  readonly resultsMax: number | undefined
  /** Probability that a request fails, is refused for its rate, or loses one log that this endpoint never lost before. */
  readonly fails: number
  readonly limits: number
  readonly loses: number
  /** Adds logs that never were. */
  readonly lies: boolean
  /** Its receipts hold the logs that it added. */
  readonly makesUp: boolean
  /** It knows no receipts of the logs that it lost or that are in its hole. */
  readonly denies: boolean
  /** It gives the receipts of a block only one by one. */
  readonly givesNoBlocks: boolean
  /** Blocks whose logs no filter finds. */
  readonly hole: { readonly fromBlock: number; readonly toBlock: number } | undefined
  /** It keeps no logs of older blocks. */
  readonly floor: number
  /** From this block on it follows another fork. */
  readonly forkedFrom: number
}

/** Endpoints of a simulated chain: at most one of them is dishonest about any one log, the others are only difficult. */
export function simulateEndpoints(random: Random, chain: SimulatedChain): readonly BackgroundEndpoint[] {
  const count = 1 + random.below(3)
  const dishonest = random.below(count)
  return Array.from({ length: count }, (_, index) => {
    const isDishonest = index === dishonest && count > 1
    const holeAt = 1 + random.below(chain.blocks)
    // Two endpoints on different forks leave the dispute undecided.
    const deceit = isDishonest ? random.below(count > 2 ? 5 : 4) : -1
    return simulateEndpoint(
      index,
      { random, chain },
      {
        // A much narrower endpoint is not a witness for a wide one.
        cap: random.chance(0.4) ? random.pick([100, 200, 500]) : undefined,
        dialect: random.pick(CAP_DIALECTS),
        resultsMax: random.chance(0.3) ? 20 + random.below(100) : undefined,
        fails: random.pick([0, 0, 0.05]),
        limits: random.pick([0, 0, 0.05]),
        loses: count === 1 || deceit === 0 ? 0.3 : 0,
        lies: deceit === 1,
        makesUp: random.chance(0.5),
        denies: count > 1 && random.chance(0.3),
        givesNoBlocks: random.chance(0.3),
        hole: deceit === 2 ? { fromBlock: holeAt, toBlock: holeAt + random.below(100) } : undefined,
        floor: deceit === 3 ? 1 + random.below(chain.blocks) : 0,
        forkedFrom: deceit === 4 ? 1 + random.below(chain.blocks) : Number.POSITIVE_INFINITY,
      },
    )
  })
}

function simulateEndpoint(
  index: number,
  { random, chain }: { readonly random: Random; readonly chain: SimulatedChain },
  character: Character,
): BackgroundEndpoint {
  const lost = new Set<HistoryLog>()
  const lied: HistoryLog[] = []

  /** Its own view of a transaction: what it lost may be unknown to it, and what it added true. */
  function listLogs(hash: unknown): readonly HistoryLog[] {
    const added = character.makesUp ? lied.filter(({ transactionHash }) => transactionHash === hash) : []
    const true_ = chain.logs.filter(({ transactionHash }) => transactionHash === hash)
    return character.denies && true_.some((log) => lost.has(log) || isInHole(log)) ? [] : [...true_, ...added]
  }

  function isInHole({ blockNumber }: HistoryLog): boolean {
    const { hole } = character
    return hole !== undefined && blockNumber >= hole.fromBlock && blockNumber <= hole.toBlock
  }

  function seen(log: HistoryLog): HistoryLog {
    if (log.blockNumber < character.forkedFrom) return log
    return { ...log, blockHash: toHash(log.blockNumber, 1 + index) }
  }

  function findRefusal({
    fromBlock,
    toBlock,
  }: {
    readonly fromBlock: number
    readonly toBlock: number
  }): Said | undefined {
    const { cap, dialect, floor, limits } = character
    const blocks = toBlock - fromBlock + 1
    if (random.chance(limits)) return { status: 429, code: 0, words: 'Too Many Requests' }
    if (cap !== undefined && blocks > cap) return dialect(cap, blocks, fromBlock)
    if (fromBlock < floor) return { status: 200, code: 4444, words: 'pruned history unavailable' }
    return undefined
  }

  function answer(filter: Filter): readonly HistoryLog[] | Said {
    const range = { fromBlock: Number(filter.fromBlock), toBlock: Number(filter.toBlock) }
    const refusal = findRefusal(range)
    if (refusal !== undefined) return refusal
    const { hole, resultsMax, loses, lies } = character
    const topics = filter.topics.map((each) => (each === null ? null : [each].flat()))
    // An endpoint that invents receipts returns the same ones each time.
    const all = character.makesUp ? [...chain.logs, ...lied].sort(compareLogs) : chain.logs
    const found = all.filter(
      ({ blockNumber, topics: own }) =>
        blockNumber >= range.fromBlock &&
        blockNumber <= range.toBlock &&
        !(hole !== undefined && blockNumber >= hole.fromBlock && blockNumber <= hole.toBlock) &&
        topics.every((each, at) => each === null || each.includes(own[at] ?? '0x')),
    )
    if (resultsMax !== undefined && found.length > resultsMax && range.fromBlock < range.toBlock) {
      return { status: 200, code: -32005, words: `query returned more than ${resultsMax} results` }
    }
    const victim = found[random.below(Math.max(1, found.length))]
    const loss = victim === undefined || lost.has(victim) || !random.chance(loses) ? [] : pickLoss(found, victim)
    for (const log of loss) lost.add(log)
    const given = found.filter((log) => !loss.includes(log))
    return (lies && random.chance(0.3) ? withLie(given, range) : given).map(seen)
  }

  function createHeader(number: number): object {
    const hash = toHash(number, number < character.forkedFrom ? 0 : 1 + index)
    const { transactions, receiptsRoot } = chain.blockOf(number)
    return {
      number: numberToHex(number),
      timestamp: '0x1',
      hash,
      parentHash: toHash(number - 1),
      transactions,
      receiptsRoot,
    }
  }

  function createBlockReceipts(number: number): readonly object[] {
    const hashes = new Set(
      character.makesUp
        ? lied.filter((each) => each.blockNumber === number).map(({ transactionHash }) => transactionHash)
        : [],
    )
    return [...chain.blockOf(number).transactions, ...hashes].map((hash) => createReceipt(listLogs(hash).map(seen)))
  }

  /** One log, which its pair betrays, or both of the pair, which nothing but a second read finds. */
  function pickLoss(found: readonly HistoryLog[], victim: HistoryLog): readonly HistoryLog[] {
    if (random.chance(0.5)) return [victim]
    const step = victim.topics[0] === POOL_TOPIC ? 1 : -1
    return found.filter(
      ({ blockNumber, logIndex }) =>
        blockNumber === victim.blockNumber && [victim.logIndex, victim.logIndex + step].includes(logIndex),
    )
  }

  /** A pair that looks like any other, in a block after the last log of the answer. */
  function withLie(given: readonly HistoryLog[], { toBlock }: { readonly toBlock: number }): readonly HistoryLog[] {
    if ((given.at(-1)?.blockNumber ?? 0) >= toBlock) return given
    const lie = [POOL_TOPIC, TOKEN_TOPIC].map((topic, logIndex) => ({
      address: EMITTER,
      topics: [topic, toTopic(random.pick(WALLETS.slice(0, 1)))],
      data: numberToHex(7, { size: 32 }),
      blockNumber: toBlock,
      blockHash: toHash(toBlock),
      transactionHash: numberToHex(666_000_000 + toBlock, { size: 32 }),
      transactionIndex: 0,
      logIndex,
      timestampSec: null,
    }))
    for (const log of lie)
      if (!lied.some(({ blockNumber, logIndex }) => blockNumber === log.blockNumber && logIndex === log.logIndex))
        lied.push(log)
    return [...given, ...lie]
  }

  return {
    index,
    usable: true,
    async request({ method, params, parse, mapRefusal: refusal }) {
      if (random.chance(character.fails)) throw new UpstreamError('The simulated endpoint failed')
      if (method === 'eth_getTransactionReceipt') {
        const logs = listLogs(params[0]).map(seen)
        return parse(logs.length === 0 ? null : createReceipt(logs))
      }
      if (method === 'eth_getBlockReceipts') {
        if (character.givesNoBlocks) throw new RpcRefusedError(-32601, 'The simulated endpoint knows no such method')
        return parse(createBlockReceipts(Number(params[0])))
      }
      if (method === 'eth_getBlockByNumber') return parse(createHeader(Number(params[0])))
      const said = answer(params[0] as Filter)
      if (Array.isArray(said)) return parse(said.map(toJson))
      const meant = refusal?.({ ...(said as Said), retryAfterMs: undefined })
      throw meant ?? new UpstreamError('The simulated endpoint returned an unknown refusal')
    },
  }
}

interface Filter {
  readonly fromBlock: Hex
  readonly toBlock: Hex
  readonly topics: readonly (Hex | readonly Hex[] | null)[]
}

/** A receipt; one that an endpoint denies within a block has no logs. */
function createReceipt(logs: readonly HistoryLog[]): object {
  const [first] = logs
  const { transactionHash, blockHash, blockNumber } = first ?? {
    transactionHash: word(0),
    blockHash: word(0),
    blockNumber: 0,
  }
  return {
    transactionHash,
    blockHash,
    blockNumber: numberToHex(blockNumber),
    logs: logs.map(toJson),
    ...RECEIPT_FIELDS,
  }
}

const JSONS = new WeakMap<HistoryLog, object>()

function toJson(log: HistoryLog): object {
  const made = JSONS.get(log) ?? makeJson(log)
  JSONS.set(log, made)
  return made
}

function makeJson(log: HistoryLog): object {
  const { blockNumber, transactionIndex, logIndex, timestampSec: _, ...rest } = log
  return {
    ...rest,
    blockNumber: numberToHex(blockNumber),
    transactionIndex: numberToHex(transactionIndex),
    logIndex: numberToHex(logIndex),
    removed: false,
  }
}
