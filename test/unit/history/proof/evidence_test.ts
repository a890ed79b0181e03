import { describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import type { BlockClaim } from '../../../../src/chain/receipt/header.ts'
import { RpcRefusedError } from '../../../../src/chain/rpc/client.ts'
import type { LogSource } from '../../../../src/history/logs/source.ts'
import { createEvidence, type Witness } from '../../../../src/history/proof/evidence.ts'
import { type HistoryLog, IncompleteError } from '../../../../src/history/stream.ts'
import { UpstreamError } from '../../../../src/lib/error.ts'
import { toHash, word } from '../../../support/history/simulation/chain.ts'
import { logAt, never, toTransactionHash } from './logs.ts'

const LOG = logAt(5)
const WANTED = new Map([[LOG.transactionHash, LOG]])
const OTHER = logAt(5, { logIndex: 1, data: word(66) })
const FORGED = logAt(5, { logIndex: 1, data: word(77), transactionHash: toTransactionHash(5, 1), transactionIndex: 1 })
const ROOT = word(1)
const CLAIM: BlockClaim = {
  hash: toHash(5),
  receiptsRoot: ROOT,
  isProven: true,
  transactions: [toTransactionHash(5), toTransactionHash(5, 1)],
}
/** The same of a header that cannot be computed. */
const UNPROVEN: BlockClaim = { ...CLAIM, isProven: false }

/** What one endpoint has; an error is thrown. */
interface Told {
  readonly receipt?: readonly HistoryLog[] | Error
  readonly claim?: BlockClaim | Error
  readonly block?: { readonly logs: readonly HistoryLog[]; readonly root: Hex }
}

/** Endpoints that have this, and what each of them was asked for. */
function open(...all: readonly Told[]) {
  const asked: string[] = []
  const told = <T>(answer: T | Error | undefined): T | undefined => {
    if (answer instanceof Error) throw answer
    return answer
  }
  const witnesses = all.map(({ receipt, claim, block }, index): Witness => {
    const source = {
      index,
      async receipt() {
        asked.push(`receipt ${index}`)
        return told(receipt)
      },
      async claim() {
        asked.push(`claim ${index}`)
        return told(claim)
      },
      async blockLogs({ receiptsRoot }: BlockClaim) {
        asked.push(`block ${index} ${Number(receiptsRoot)}`)
        return block
      },
    }
    return { source, ask: (task) => task(source as Partial<LogSource> as LogSource) }
  })
  return { evidence: createEvidence(() => witnesses), asked }
}

describe('isVouched()', () => {
  const isVouched = (givers: readonly number[], ...all: readonly Told[]) =>
    open(...all).evidence.isVouched(FORGED, new Set(givers), never)

  test('counts no receipt of an endpoint that gave the log', async () => {
    const receipt = [FORGED]
    expect(await isVouched([0], { receipt }, { receipt })).toBe(true)
    expect(await isVouched([0], { receipt }, {})).toBe(false)
    expect(await isVouched([1], {}, { receipt })).toBe(false)
    expect(await isVouched([0, 1], { receipt }, { receipt }, { receipt: [LOG] })).toBe(false)
  })

  test('of the only endpoint takes its own', async () => {
    expect(await isVouched([0], { receipt: [LOG, FORGED] })).toBe(true)
    expect(await isVouched([0], { receipt: [LOG] })).toBe(false)
  })

  test('is not kept from the truth by others that are silent or refuse', async () => {
    const [silent, refusing] = [new UpstreamError('No answer'), new RpcRefusedError(-32_601, 'No such method')]
    expect(await isVouched([0], {}, { receipt: silent }, { receipt: refusing }, { receipt: [FORGED] })).toBe(true)
    expect(await isVouched([0], {}, { receipt: silent }, { receipt: refusing })).toBe(false)
    const fault = new TypeError('That is no function')
    await expect(isVouched([0], {}, { receipt: fault })).rejects.toBe(fault)
  })
})

describe('isProven()', () => {
  const isProven = (log: HistoryLog, ...all: readonly Told[]) => open(...all).evidence.isProven(log, never)
  const block = { logs: [LOG], root: ROOT }
  const wrong = { logs: [LOG, FORGED], root: word(2) }

  test('tells true logs from forged ones by the receipts that the header is rooted in', async () => {
    const all = [
      { claim: CLAIM, block: wrong },
      { claim: CLAIM, block },
    ]
    expect([await isProven(LOG, ...all), await isProven(FORGED, ...all)]).toEqual([true, false])
    expect(await isProven(LOG, { claim: CLAIM, block })).toBe(true)
  })

  test('says nothing about a header that one of several endpoints has, or that two have differently', async () => {
    const fork = { ...CLAIM, hash: toHash(5, 1) }
    const moved = { ...CLAIM, transactions: [...CLAIM.transactions].reverse() }
    const shorter = { ...CLAIM, transactions: CLAIM.transactions.slice(0, 1) }
    for (const claim of [undefined, new UpstreamError('No answer'), fork, moved, shorter]) {
      const told = claim === undefined ? {} : { claim }
      expect(await isProven(LOG, { claim: CLAIM, block }, { ...told, block })).toBeUndefined()
    }
    expect(await isProven(LOG, { claim: fork, block }, { claim: CLAIM, block }, { claim: CLAIM, block })).toBe(true)
  })

  test('takes the root of a header that can be computed, else the one that two endpoints say', async () => {
    const lied = { ...UNPROVEN, receiptsRoot: word(2) }
    expect(await isProven(LOG, { claim: lied, block: wrong }, { claim: CLAIM, block })).toBe(true)
    expect(await isProven(LOG, { claim: lied, block: wrong }, { claim: UNPROVEN, block })).toBeUndefined()
    expect(
      await isProven(FORGED, { claim: lied, block: wrong }, { claim: UNPROVEN, block }, { claim: UNPROVEN, block }),
    ).toBe(false)
  })

  test('of receipts with another root believes those that two endpoints give', async () => {
    const unrooted = { logs: [LOG], root: word(3) }
    expect(await isProven(LOG, { claim: CLAIM, block: unrooted }, { claim: CLAIM, block: unrooted })).toBe(true)
    expect(await isProven(LOG, { claim: CLAIM, block: unrooted }, { claim: CLAIM, block: wrong })).toBeUndefined()
    expect(await isProven(LOG, { claim: CLAIM, block: unrooted }, { claim: CLAIM })).toBeUndefined()
  })

  test('proves a block once for all its logs, and again if it could not', async () => {
    const { evidence, asked } = open({ claim: CLAIM, block }, { claim: CLAIM, block })
    await Promise.all([evidence.isProven(LOG, never), evidence.isProven(FORGED, never)])
    await evidence.isProven(OTHER, never)
    expect(asked).toEqual(['claim 0', 'claim 1', 'block 0 1'])
    const failing = open({ claim: CLAIM, block }, {})
    await failing.evidence.isProven(LOG, never)
    await failing.evidence.isProven(LOG, never)
    expect(failing.asked).toHaveLength(4)
  })
})

describe('receipts()', () => {
  const listLogs = async (...all: readonly Told[]) => {
    const { evidence, asked } = open(...all)
    const { logs, witnesses } = await evidence.receipts(WANTED, never)
    return { found: { logs: logs.get(LOG.transactionHash), witnesses }, asked }
  }
  const whole = [LOG, OTHER]

  test('asks two endpoints, and the others only if those do not give the same', async () => {
    const agreed = await listLogs({ receipt: whole }, { receipt: whole }, { receipt: whole })
    expect(agreed).toEqual({ found: { logs: whole, witnesses: 2 }, asked: ['receipt 0', 'receipt 1'] })
    for (const second of [{ receipt: [LOG] }, {}, { receipt: new UpstreamError('No answer') }]) {
      const { found, asked } = await listLogs({ receipt: whole }, second, { receipt: whole }, {})
      expect(found).toEqual({ logs: whole, witnesses: 2 })
      expect(asked).toEqual([0, 1, 2, 3].map((index) => `receipt ${index}`))
    }
  })

  test('takes the word of the only endpoint, marked as one’s', async () => {
    expect((await listLogs({ receipt: whole })).found).toEqual({ logs: whole, witnesses: 1 })
  })

  test('takes no time from one endpoint alone: all have that of the log that was read', async () => {
    const timed = whole.map((log) => ({ ...log, timestampSec: 9 }))
    expect((await listLogs({ receipt: timed }, { receipt: timed })).found.logs).toEqual(whole)
    expect((await listLogs({ receipt: timed })).found.logs).toEqual(timed)
  })

  test('without such receipts gives what the block proves, of the only endpoint as one’s word', async () => {
    const told = { claim: CLAIM, block: { logs: [...whole, FORGED], root: ROOT } }
    expect((await listLogs(told)).found).toEqual({ logs: whole, witnesses: 1 })
    expect((await listLogs(told, told)).found).toEqual({ logs: whole, witnesses: 2 })
    expect((await listLogs(told, { ...told, receipt: [LOG] }, told)).found).toEqual({ logs: whole, witnesses: 2 })
  })

  test('throws if endpoints differ, and waits for one that is silent', async () => {
    await expect(listLogs({ receipt: whole }, { receipt: [LOG] })).rejects.toThrow(IncompleteError)
    // A block that does not hold the log proves another log's transaction.
    const block = { logs: [FORGED], root: ROOT }
    await expect(listLogs({ claim: CLAIM, block }, { claim: CLAIM, block })).rejects.toThrow(IncompleteError)
    const silent = new UpstreamError('No answer')
    await expect(listLogs({ receipt: whole }, { receipt: silent })).rejects.toBe(silent)
    // Refused, it is not silent.
    const refused = new RpcRefusedError(-32_601, 'No such method')
    await expect(listLogs({ receipt: whole }, { receipt: refused })).rejects.toThrow(IncompleteError)
  })

  test('asks for a receipt once, and again if the endpoint did not have it', async () => {
    const { evidence, asked } = open({ receipt: whole }, {})
    const ask = () =>
      evidence.receipts(WANTED, never).catch((error: unknown) => expect(error).toBeInstanceOf(IncompleteError))
    await Promise.all([ask(), ask()])
    expect(asked.filter((each) => each.startsWith('receipt'))).toEqual(['receipt 0', 'receipt 1'])
    await ask()
    expect(asked.filter((each) => each.startsWith('receipt'))).toEqual(['receipt 0', 'receipt 1', 'receipt 1'])
  })
})
