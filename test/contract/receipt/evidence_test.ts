import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Hex } from 'viem'
import { createWork } from '../../../src/lib/async/work.ts'
import { type Envelope, signEnvelope } from '../../../src/lib/dsse.ts'
import { PAYLOAD_TYPE, type Payload } from '../../../src/receipt/payload.ts'
import { verifyReceipt } from '../../../src/receipt/verify.ts'
import { UNISWAP_V3 } from '../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../support/rpc.ts'
import { slowClock } from '../../support/test_clock.ts'
import { placeSecondManager, SECOND } from '../family/uniswap_v3/second_manager.ts'
import {
  changeFirstResult,
  checked,
  decodePayload,
  encodeReceipt,
  isExistenceCall,
  rowOver,
  runner,
  type Stage,
  stageOver,
} from './stage.ts'

const AGE_SEC = 7_200
const BLOCK_SEC = 12

let devnet: Devnet
let other: Devnet
let stage: Stage
let rpc: FaultyRpc
let position: string
/** A receipt of the newest block, after which more were made. */
let old: Envelope

beforeAll(async () => {
  ;[devnet, other] = await Promise.all([
    startDevnet({ ageSec: AGE_SEC }),
    startDevnet({ chainId: 10, ageSec: AGE_SEC }),
  ])
  stage = stageOver([rowOver([devnet.rpcUrl])])
  rpc = await startFaultyRpc(devnet.rpcUrl)
  position = `/v1/positions/uniswap-v3/${devnet.positions.good}?chain_id=1`
  old = await receive(position)
  for (let block = 0; block < 30; block++) {
    await devnet.rpc.call('evm_increaseTime', BLOCK_SEC)
    await devnet.rpc.call('evm_mine')
  }
}, 240_000)

afterAll(async () => {
  await rpc?.stop()
  await Promise.all([devnet?.stop(), other?.stop()])
}, 60_000)

async function receive(path: string, from: Stage = stage): Promise<Envelope> {
  const { status, body, text } = await from.get(`${path}&receipt=true`)
  expect([path, status, status === 200 ? '' : text]).toEqual([path, 200, ''])
  return body.receipt
}

/** A receipt with a changed payload, signed by a dishonest instance. */
function lied(receipt: Envelope, change: (payload: Payload) => unknown): string {
  const payload = decodePayload(receipt)
  change(payload)
  return encodeReceipt(signEnvelope(PAYLOAD_TYPE, JSON.stringify(payload), stage.signer))
}

/** Verifies without the key of the instance. */
function checkedByStranger(text: string, rpcUrls: readonly string[] = [], blockHashes = new Map<number, string>()) {
  const work = createWork(new AbortController().signal)
  return verifyReceipt(text, { keys: undefined, rpcUrls, blockHashes, clock: slowClock, work, runner })
}

describe('the time that a receipt is about', () => {
  test('is not that of an earlier block, whatever the instance signs: the next block is not later', async () => {
    const { timestamp } = await devnet.client.getBlock()
    const atSec = Number(timestamp) - 3 * BLOCK_SEC
    const oldAtTime = await receive(`${position}&at_time=${await readOldTime()}`)
    // As if the record's block had been the newest one.
    const forged = lied(oldAtTime, ({ request, reads: [read] }) => {
      request.query = `chain_id=1&at_time=${atSec}&receipt=true`
      Object.assign(read ?? {}, { headers: [] })
    })
    const { is, verdicts } = await checked(stage, forged, [devnet.rpcUrl])
    expect({ is, figures: verdicts.figures.is, answers: verdicts.answers.is, block: verdicts.block }).toEqual({
      is: 'false',
      figures: 'true',
      answers: 'true',
      block: { is: 'false', because: expect.stringContaining('is at or before the time that was asked for too') },
    })
    // Without an endpoint there is nothing that tells.
    const hash = decodePayload(oldAtTime).reads[0]?.block.hash ?? ''
    expect((await checked(stage, forged, [], new Map([[1, hash]]))).verdicts.block).toEqual({
      is: 'unknown',
      because: 'which block a time means takes an endpoint (--rpc)',
    })
  })

  test('is that of the block if the next one is later, and undecided while there is none', async () => {
    const { timestamp } = await devnet.client.getBlock()
    for (const [behindSec, is] of [
      [0, 'unknown'],
      [BLOCK_SEC - 1, 'true'],
      [2 * BLOCK_SEC, 'true'],
    ] as const) {
      const receipt = await receive(`${position}&at_time=${Number(timestamp) - behindSec}`)
      const result = await checked(stage, encodeReceipt(receipt), [devnet.rpcUrl])
      expect([behindSec, result.is, result.verdicts.block.is]).toEqual([behindSec, is, is])
    }
  })

  test('takes no proof, which is refused before anything is read', async () => {
    const { timestamp } = await devnet.client.getBlock()
    stage.requests.length = 0
    const { status, body, headers } = await stage.get(`${position}&at_time=${timestamp}&receipt=proof`)
    expect([status, body.error.code]).toEqual([400, 'INVALID_PARAMETER'])
    expect(body.error.message).toContain('name the block with "at_block"')
    expect([headers.get('retry-after'), headers.get('x-credits-charged'), stage.requests]).toEqual([null, '0', []])
  })

  /** Time of the block of `old`. */
  async function readOldTime(): Promise<number> {
    return decodePayload(old).reads[0]?.block.timestamp ?? 0
  }
})

describe('what decided what is read', () => {
  test('is compared with the endpoint of the verifier: a contract that one of the instance left out', async () => {
    await placeSecondManager(devnet)
    const number = await devnet.client.getBlockNumber()
    const path = `/v1/positions/uniswap-v3?wallet=${devnet.wallets.receiver}&chain_id=1&at_block=${number}`
    const two = { uniswapV3: [{ manager: UNISWAP_V3.manager, factory: UNISWAP_V3.factory }, SECOND] }
    const change = (answer: unknown) => changeFirstResult(String(answer), '010000')
    rpc.rule((request) => (asksWhatExists(request) ? { kind: 'change', change } : undefined))
    const readBy = async (url: string) => {
      const receipt = await receive(path, stageOver([rowOver([url], two)], stage.signer))
      const { is, verdicts } = await checked(stage, encodeReceipt(receipt), [devnet.rpcUrl])
      const { data } = decodePayload(receipt).answer
      const count = Array.isArray(data) ? data.length : undefined
      return { is, count, figures: verdicts.figures.is, answers: verdicts.answers.because }
    }
    const honest = await readBy(devnet.rpcUrl)
    expect(honest).toMatchObject({ is: 'true', figures: 'true', answers: 'the endpoint answers the same bytes' })
    const misled = await readBy(rpc.url)
    expect(misled).toMatchObject({ is: 'false', figures: 'true', answers: 'the endpoint answers other bytes' })
    expect([honest.count, misled.count]).toEqual([2, 1])
    rpc.rule(() => undefined)
  })

  test('is undecided if the endpoint answers nothing about it', async () => {
    const number = (await devnet.client.getBlockNumber()) - 4n
    const receipt = encodeReceipt(await receive(`${position}&at_block=${number}`))
    const isHeader = ({ method }: SeenRequest) => method === 'eth_getBlockByNumber'
    for (const isSilent of [asksWhatExists, isHeader]) {
      const error = { code: -32_000, message: 'down' }
      rpc.rule((request) => (isSilent(request) ? { kind: 'error', error } : undefined))
      expect([isSilent.name, (await checked(stage, receipt, [rpc.url])).is]).toEqual([isSilent.name, 'unknown'])
    }
    rpc.rule(() => undefined)
    expect((await checked(stage, receipt, [rpc.url])).is).toBe('true')
  })

  /** True for the call that asks which contracts exist at a block. */
  function asksWhatExists({ method, params }: SeenRequest): boolean {
    return method === 'eth_call' && isExistenceCall(params[0] as { readonly data: Hex })
  }
})

describe('the answer beside a receipt', () => {
  test('may have its keys in another order and other hosts in its links, and nothing else', async () => {
    const path = `/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}&limit=2&page=2`
    const { body } = await stage.get(`${path}&receipt=true`)
    const says = async (change: object) => (await checked(stage, JSON.stringify({ ...body, ...change }))).is
    const reversed = (value: object) => Object.fromEntries(Object.entries(value).reverse())
    const { pagination, data, counts } = body
    expect(await says({})).toBe('true')
    expect(await says({ data: data.map(reversed), counts: reversed(counts), pagination: reversed(pagination) })).toBe(
      'true',
    )
    const next_page = pagination.next_page.replace(/^http:\/\/[^/]+/, 'https://elsewhere.example/api')
    expect(await says({ pagination: { ...pagination, next_page } })).toBe('true')
    for (const change of [
      { pagination: { ...pagination, total: pagination.total + 1 } },
      { pagination: { ...pagination, next_page: 'https://evil.example/?page=3' } },
      { pagination: { ...pagination, next_page: null } },
      { pagination: { ...pagination, prev_page: `https://evil.example/?x=${pagination.prev_page.slice(17)}` } },
      { pagination: { ...pagination, more: 1 } },
      { pagination: undefined },
      { counts: { ...counts, total: counts.total + 1 } },
      { counts: undefined },
      { data: data.toReversed() },
      { data: undefined },
      { totals: { value_usd: '1' } },
    ]) {
      expect([change, await says(change)]).toEqual([change, 'false'])
    }
  })
})

describe('a receipt over two chains', () => {
  test('is true by an endpoint of each, and undecided by one of them', async () => {
    const rows = [rowOver([devnet.rpcUrl]), rowOver([other.rpcUrl], { id: 10, name: 'OP Mainnet' })]
    const both = stageOver(rows, stage.signer)
    const receipt = await receive(`/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}&limit=25`, both)
    const { reads } = decodePayload(receipt)
    expect(reads.map(({ chain_id }) => chain_id).sort()).toEqual([1, 10])
    const text = encodeReceipt(receipt)
    const urls = [devnet.rpcUrl, other.rpcUrl]
    expect((await checked(both, text, urls)).is).toBe('true')
    expect((await checked(both, text, urls.toReversed())).is).toBe('true')
    const one = await checked(both, text, [other.rpcUrl])
    expect([one.is, one.verdicts.answers.because, one.verdicts.block.is]).toEqual([
      'unknown',
      'no endpoint of chain 1 was given (--rpc)',
      'unknown',
    ])
    const away = await checked(both, text, [...urls, 'http://127.0.0.1:9'])
    expect([away.is, away.verdicts.block.because]).toEqual([
      'unknown',
      'an endpoint does not say which chain it serves',
    ])
    const forged = lied(receipt, ({ reads: [, read] }) => {
      const [call] = read?.calls ?? []
      if (call !== undefined) call.answer = `${call.answer.slice(0, -1)}${call.answer.endsWith('0') ? 1 : 0}` as '0x'
    })
    expect((await checked(both, forged, urls)).is).toBe('false')
  }, 60_000)
})

describe('a level that a receipt does not have', () => {
  test('is false: figures of an EVM chain are not believed by a signature alone', async () => {
    const signed = lied(old, (payload) => Object.assign(payload, { level: 'signed', reads: [] }))
    for (const urls of [[], [devnet.rpcUrl]]) {
      const { is, verdicts } = await checked(stage, signed, urls)
      expect([is, verdicts.figures.because]).toEqual(['false', 'its level is not that of what it holds: signed'])
    }
    const agreed = lied(old, (payload) => Object.assign(payload, { level: 'agreed' }))
    expect((await checked(stage, agreed)).is).toBe('false')
    const hidden = lied(old, ({ reads: [read] }) => Object.assign(read ?? {}, { agreed: 2 }))
    expect((await checked(stage, hidden)).is).toBe('false')
    const asked = lied(old, ({ request }) => {
      request.query = request.query.replace('receipt=true', 'receipt=proof')
    })
    expect((await checked(stage, asked)).is).toBe('false')
  })
})

describe('a verifier', () => {
  test('with nothing independent cannot tell', async () => {
    const { is, isIndependent, verdicts } = await checkedByStranger(encodeReceipt(old))
    expect([is, isIndependent, verdicts.figures.is]).toEqual(['unknown', false, 'true'])
    // The hash of a block is public: it stands for no answer that is not proven.
    const hash = decodePayload(old).reads[0]?.block.hash ?? ''
    const byHash = await checkedByStranger(encodeReceipt(old), [], new Map([[1, hash]]))
    expect([byHash.is, byHash.verdicts.block.is]).toEqual(['unknown', 'true'])
    expect((await checkedByStranger(encodeReceipt(old), [devnet.rpcUrl])).is).toBe('true')
  })

  test('refuses calls with other gas, at which contracts fail that are right', async () => {
    const frugal = lied(old, ({ reads: [read] }) => {
      for (const call of read?.calls ?? []) call.gas -= 1
    })
    expect((await checked(stage, frugal, [devnet.rpcUrl])).is).toBe('false')
  })
})
