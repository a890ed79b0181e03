import { describe, expect, test } from 'bun:test'
import type { BlockClaim } from '../../../../src/chain/receipt/header.ts'
import type { BlockLogs } from '../../../../src/history/logs/block_logs.ts'
import { createAdaptiveLogSource } from '../../../../src/history/logs/reader.ts'
import { LogsRefusedError } from '../../../../src/history/logs/refusal.ts'
import { createProof } from '../../../../src/history/proof/proof.ts'
import { type HistoryLog, IncompleteError, NoWitnessError } from '../../../../src/history/stream.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { createLogSourceDouble } from '../../../support/history/log_source.ts'
import { toHash, word } from '../../../support/history/simulation/chain.ts'
import { createSkippingClock } from '../../../support/test_clock.ts'
import { logAt, never, toTransactionHash } from './logs.ts'

const RANGE = { fromBlock: 1, toBlock: 40 }
const REQUEST = { key: 'k', filters: [{ addresses: [], topics: [] }], range: RANGE, firstBlocks: 1_000 }
/** One log in each of twenty blocks. */
const TRUTH = Array.from({ length: 20 }, (_, index) => logAt(2 * (index + 1)))
/** A second log of block 4, which only a liar has. */
const FORGED = logAt(4, {
  data: word(666),
  logIndex: 1,
  transactionHash: toTransactionHash(4, 1),
  transactionIndex: 1,
})

/** What one endpoint says, if it is not what is so. */
interface Telling {
  /** The logs of its reads, in their order; the last of them for all further ones. */
  readonly reads?: readonly (readonly HistoryLog[])[]
  /** Logs that its receipts hold; undefined: it knows none. */
  readonly receipts?: readonly HistoryLog[]
  /** Whether it never answers for logs. */
  readonly isSilent?: boolean
  /** It refuses logs of older blocks than this. */
  readonly keptFrom?: number
  /** Whether it gives headers and all receipts of blocks. */
  readonly isProving?: boolean
}

const toRoot = (block: number) => word(7_000 + block)

/** Real readers of endpoints that tell this, on a clock that only pauses move on. */
function open(...tellings: readonly Telling[]) {
  const clock = createSkippingClock()
  clock.time.nowMs = 1
  const asked: string[][] = []
  const healed: number[] = []
  const sources = tellings.map(
    ({ reads = [TRUTH], receipts, isProving = false, isSilent = false, keptFrom = 0 }, index) => {
      const seen: string[] = []
      asked.push(seen)
      const source = createLogSourceDouble({
        index,
        usable: true,
        header: async () => undefined,
        async logs(_, range) {
          if (!('fromBlock' in range)) throw new Error('Expected a range')
          if (isSilent) throw new UpstreamError('No answer')
          if (range.fromBlock < keptFrom) throw new LogsRefusedError(4_444, { kind: 'pruned' })
          seen.push(`${range.fromBlock}-${range.toBlock}`)
          const logs = reads[Math.min(seen.length, reads.length) - 1] ?? []
          return logs.filter(({ blockNumber: at }) => at >= range.fromBlock && at <= range.toBlock)
        },
        async receipt(hash) {
          const logs = receipts?.filter(({ transactionHash }) => transactionHash === hash) ?? []
          return logs.length === 0 ? undefined : logs
        },
        async claim(number): Promise<BlockClaim | undefined> {
          const transactions = [toTransactionHash(number)]
          return isProving
            ? { hash: toHash(number), receiptsRoot: toRoot(number), isProven: true, transactions }
            : undefined
        },
        async blockLogs({ number }): Promise<BlockLogs | undefined> {
          return { root: toRoot(number), logs: TRUTH.filter(({ blockNumber }) => blockNumber === number) }
        },
      })
      return createAdaptiveLogSource({ source, clock })
    },
  )
  const proof = createProof(REQUEST, { sources, onHealed: (logs) => healed.push(logs) })
  return { proof, asked, healed, sources, trusted: () => sources.map((source) => source.mayServe(RANGE)) }
}

const inOrder = (logs: readonly HistoryLog[]) => [...logs].sort((a, b) => a.blockNumber - b.blockNumber)
const without = (...blocks: readonly number[]) => TRUTH.filter(({ blockNumber }) => !blocks.includes(blockNumber))
const inventing: Telling = { reads: [inOrder([...TRUTH, FORGED])], receipts: [...TRUTH, FORGED], isProving: true }
const honest: Telling = { receipts: TRUTH, isProving: true }

describe('logs()', () => {
  test('reads two endpoints once each if they give the same', async () => {
    const { proof, asked, healed, trusted } = open(honest, honest, honest)
    expect(await proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 2 })
    expect(asked.map(({ length }) => length)).toEqual([1, 1, 0])
    expect([healed, trusted()]).toEqual([[], [true, true, true]])
  })

  test('reads the only endpoint twice, divided at other blocks, as one’s word', async () => {
    const { proof, asked } = open(honest)
    expect(await proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 1 })
    expect(asked).toEqual([['1-40', '1-40']])
  })

  test('parses one of two reads with the same text, and believes no single endpoint for a broken text of another', async () => {
    const [parsed, clock] = [[] as string[], createSkippingClock()]
    const openWritten = (texts: readonly string[], isBroken = false) => {
      const sources = texts.map((text, index) => {
        const logs = async () => TRUTH
        const [header, receipt, claim, blockLogs] = Array.from({ length: 4 }, () => async () => undefined) as never[]
        const double = createLogSourceDouble({ index, usable: true, logs, header, receipt, claim, blockLogs } as never)
        const read = async () => {
          parsed.push(text)
          if (isBroken && index === 1) throw new UpstreamError('Not JSON')
          return TRUTH
        }
        const written = async () => ({ count: TRUTH.length, text, read })
        return createAdaptiveLogSource({ source: { ...double, written }, clock })
      })
      return { sources, proof: createProof(REQUEST, { sources, onHealed: () => {} }) }
    }
    expect(await openWritten(['a', 'a']).proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 2 })
    expect(parsed.splice(0)).toEqual(['a'])
    expect(await openWritten(['a', 'b']).proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 2 })
    expect(parsed.splice(0)).toEqual(['a', 'b'])
    const broken = openWritten(['a', 'b', 'c'], true)
    expect(await broken.proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 2 })
    expect(broken.sources.map((source) => source.mayServe(RANGE))).toEqual([true, true, true])
    await expect(openWritten(['a', 'b'], true).proof.logs(never)).rejects.toBeInstanceOf(NoWitnessError)
  })

  test.each([0, 1])('leaves an inventor alone, and believes the others: it is endpoint %i', async (liar) => {
    const [two, three] = [2, 3].map((count) =>
      open(...Array.from({ length: count }, (_, index) => (index === liar ? inventing : honest))),
    )
    expect(await two?.proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 1 })
    expect(two?.trusted()).toEqual([liar !== 0, liar !== 1])
    expect(two?.healed).toEqual([])
    expect(await three?.proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 2 })
    expect(three?.trusted()).toEqual([liar !== 0, liar !== 1, true])
    expect(three?.asked[liar]).toHaveLength(1)
  })

  test('trusts a log from one endpoint if the receipt of another contains it, and distrusts no endpoint', async () => {
    const { proof, healed, trusted } = open(honest, { ...honest, reads: [without(6), TRUTH] })
    expect(await proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 2 })
    expect([healed, trusted()]).toEqual([[1], [true, true]])
  })

  test('takes a log that its block proves, and leaves an endpoint alone that lacks those of eight blocks', async () => {
    const lacking = (count: number): Telling => {
      const blocks = Array.from({ length: count }, (_, index) => 2 * (index + 1))
      return { reads: [without(...blocks), TRUTH], isProving: true }
    }
    const seven = open(honest, lacking(7))
    expect(await seven.proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 2 })
    expect([seven.healed, seven.trusted()]).toEqual([[7], [true, true]])
    const eight = open(honest, lacking(8))
    expect(await eight.proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 1 })
    expect([eight.healed, eight.trusted()]).toEqual([[], [true, false]])
  })

  test('takes a log that two endpoints give, though neither a receipt nor a block holds it', async () => {
    const { proof, healed, trusted } = open({}, { reads: [without(6)] }, {})
    expect(await proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 3 })
    expect([healed, trusted()]).toEqual([[1], [true, true, true]])
  })

  test('of the only endpoint takes what its blocks prove, however much one of its reads lacked', async () => {
    const blocks = Array.from({ length: 9 }, (_, index) => 2 * (index + 1))
    const { proof, healed } = open({ reads: [without(...blocks), TRUTH], isProving: true })
    expect(await proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 1 })
    expect(healed).toEqual([9])
  })

  test('names the block of an undecided log, and distrusts no endpoint', async () => {
    const silent = { isProving: false }
    const { proof, asked, trusted } = open({ ...inventing, ...silent }, { ...honest, ...silent })
    const failure = await proof.logs(never).catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(IncompleteError)
    expect(failure).toMatchObject({ check: 'second witness', fromBlock: 4, toBlock: 4 })
    expect(asked.map(({ length }) => length)).toEqual([2, 2])
    expect(trusted()).toEqual([true, true])
  })

  test('proves halves of a range in which each read lacks something else', async () => {
    const lacking = (...blocks: readonly number[]): Telling => ({
      ...honest,
      reads: [...blocks.map((block) => without(block)), TRUTH],
    })
    const { proof, asked } = open(lacking(2, 20), lacking(22, 40))
    const { logs, witnesses } = await proof.logs(never)
    expect([logs, witnesses]).toEqual([TRUTH, 2])
    expect(new Set(asked.flat())).toContain('1-20')
    expect(new Set(asked.flat())).toContain('21-40')
  })

  test('counts halves as what the fewest endpoints gave: one keeps no older logs', async () => {
    const reads = [2, 20, 22, 40].map((block) => without(block))
    const { proof, asked, sources } = open({ ...honest, reads: [...reads, TRUTH] }, { ...honest, keptFrom: 21 })
    // It is known which those are.
    const older = { ...REQUEST, range: { fromBlock: 1, toBlock: 20 }, turn: 0 }
    await expect(sources[1]?.read(older, never)).rejects.toBeInstanceOf(UpstreamError)
    expect(await proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 1 })
    expect(asked[1]).toEqual(['21-40'])
  })

  test('does without no second endpoint that only pauses, and reads no more than it takes to know that', async () => {
    const { proof, asked, trusted } = open(
      { ...honest, reads: [without(6), without(8), TRUTH] },
      { ...honest, isSilent: true },
    )
    await expect(proof.logs(never)).rejects.toThrow('A second endpoint does not answer now')
    expect([asked[0]?.length, trusted()]).toEqual([4, [true, true]])
  })
})

describe('doubt()', () => {
  test('has a range read again by both endpoints, twice, and then says that it was enough', async () => {
    const { proof, asked } = open(honest, honest)
    const lengths = () => asked.map(({ length }) => length)
    await proof.logs(never)
    expect(lengths()).toEqual([1, 1])
    expect(proof.requestMoreReads()).toBe(true)
    expect(await proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 2 })
    expect(lengths()).toEqual([2, 2])
    expect(proof.requestMoreReads()).toBe(true)
    await proof.logs(never)
    expect(lengths()).toEqual([3, 3])
    expect(proof.requestMoreReads()).toBe(false)
    await proof.logs(never)
    expect(lengths()).toEqual([3, 3])
  })

  test('finds a log that both endpoints lacked at first', async () => {
    const behind: Telling = { ...honest, reads: [without(6), TRUTH] }
    const { proof, healed } = open(behind, behind)
    expect((await proof.logs(never)).logs).toEqual(without(6))
    proof.requestMoreReads()
    expect(await proof.logs(never)).toEqual({ logs: TRUTH, witnesses: 2 })
    expect(healed).toEqual([1])
  })
})

describe('receipts()', () => {
  const wanted = new Map(TRUTH.slice(0, 2).map((log) => [log.transactionHash, log]))

  test('gives all logs of transactions, and how many endpoints said so of each', async () => {
    const { proof } = open(honest, honest)
    expect(proof.receiptWitnesses).toBe(Number.POSITIVE_INFINITY)
    const found = await proof.receipts(wanted, never)
    expect([...found]).toEqual([...wanted].map(([hash, log]) => [hash, [log]]))
    expect(proof.receiptWitnesses).toBe(2)
    const alone = open(honest)
    await alone.proof.receipts(wanted, never)
    expect(alone.proof.receiptWitnesses).toBe(1)
  })

  test('names the block of one that endpoints do not agree about', async () => {
    const { proof } = open({ receipts: TRUTH }, {})
    await expect(proof.receipts(wanted, never)).rejects.toMatchObject({ check: 'receipt', fromBlock: 2, toBlock: 2 })
  })
})

test('without a usable endpoint, the proof fails', async () => {
  await expect(open().proof.logs(never)).rejects.toBeInstanceOf(UpstreamError)
})
