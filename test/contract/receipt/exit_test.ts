import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Address, Hex } from 'viem'
import { CURRENCY_FEED_ROWS } from '../../../src/finance/currency/table.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { type Envelope, signEnvelope } from '../../../src/lib/dsse.ts'
import { listTold, PAYLOAD_TYPE, type Payload, toChainRecord } from '../../../src/receipt/payload.ts'
import { replayAnswer } from '../../../src/receipt/replay.ts'
import { parseReceiptSettings } from '../../../src/receipt/settings.ts'
import { findSubject } from '../../../src/receipt/subject.ts'
import { verifyReceipt } from '../../../src/receipt/verify.ts'
import { TOKENS, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import type { MorphoDevnet } from '../../devnet/morpho_blue/mod.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import { liquidityWorth } from '../../devnet/uniswap_v4/pools.ts'
import { IS_FULL } from '../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../support/database.ts'
import { slowClock } from '../../support/test_clock.ts'
import { answersBySecondVerifier } from './proof/second_verifier.ts'
import { checked, decodePayload, encodeReceipt, rowOver, runner, type Stage, stageOver } from './stage.ts'

let devnet: Devnet
let morpho: MorphoDevnet
let database: TestDatabase
let stage: Stage
let wallets: Readonly<Record<'debtor' | 'lender' | 'positions' | 'hooked' | 'empty', Address>>

beforeAll(async () => {
  devnet = await startDevnet()
  morpho = await devnet.morpho()
  const { pools, mintMany } = await devnet.uniswapV4()
  const { single, empty } = devnet.wallets
  wallets = {
    debtor: morpho.wallets.both,
    lender: morpho.wallets.supplier,
    positions: devnet.wallets.provider,
    hooked: single,
    empty,
  }
  await mintMany(
    [pools.native, pools.dynamicFee, pools.feeTaking].map((pool) => {
      const range = rangeAround(pool, -900, 900)
      return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 1_000 }), recipient: single }
    }),
  )
  database = await testDatabase()
  stage = stageOver([rowOver([devnet.rpcUrl], { aaveV3: [] })], undefined, { db: database.db })
}, 240_000)

afterAll(async () => {
  await stage?.close()
  await database?.close()
  await devnet?.stop()
}, 60_000)

const toPath = (wallet: Address) => `/v1/portfolio/exit?wallet=${wallet}&chain_id=1`

/** The answer with a receipt, which is the same without one. */
async function requestReceipt(wallet: Address, kind: 'true' | 'proof'): Promise<Envelope> {
  const answer = await stage.get(`${toPath(wallet)}&receipt=${kind}`)
  expect([wallet, answer.status, answer.status === 200 ? '' : answer.text]).toEqual([wallet, 200, ''])
  const { receipt, data } = answer.body
  const plain = await stage.get(`${toPath(wallet)}&at_block=${decodePayload(receipt).reads[0]?.block.number}`)
  expect(data).toEqual(plain.body.data)
  const credits = (each: typeof plain) => Number(each.headers.get('x-credits-charged'))
  expect(credits(answer) - credits(plain)).toBe(kind === 'proof' ? 25 : 2)
  return receipt
}

describe('a receipt of an exit', () => {
  test('names the accounts whose code and state were others, and endpoints answer the same with them', async () => {
    // Every second of them, and each with `SEEDS=full`.
    for (const wallet of Object.values(wallets).filter((_, no) => IS_FULL || no % 2 === 0)) {
      const receipt = await requestReceipt(wallet, 'true')
      const { is, verdicts } = await checked(stage, encodeReceipt(receipt), [devnet.rpcUrl])
      expect([wallet, is, JSON.stringify(verdicts)]).toEqual([wallet, 'true', JSON.stringify(verdicts)])
      const { calls = [] } = decodePayload(receipt).reads[0] ?? {}
      const executed = calls.filter(({ others = [] }) => others.some(({ address }) => address === wallet.toLowerCase()))
      expect(executed.length > 0).toBe(wallet !== wallets.empty)
    }
  }, 120_000)

  test('with a proof needs the hash of the block and the signature alone, also for another machine', async () => {
    for (const name of IS_FULL ? PROVEN : PROVEN.slice(0, 1)) {
      const receipt = await requestReceipt(wallets[name], 'proof')
      const payload = decodePayload(receipt)
      const hashes = new Map(payload.reads.map(({ chain_id, block }) => [chain_id, block.hash]))
      const { is, verdicts } = await checked(stage, encodeReceipt(receipt), [], hashes)
      expect([name, is, verdicts.answers.is]).toEqual([name, 'true', 'true'])
      const { calls = [] } = payload.reads[0] ?? {}
      expect(await answersBySecondVerifier(payload)).toEqual(calls.map(({ answer }) => answer))
    }
  }, 240_000)

  test('rests on the signature for what histories told, and for nothing else', async () => {
    const receipt = await requestReceipt(wallets.debtor, 'true')
    expect(decodePayload(receipt).testimony).toEqual([
      { chain_id: 1, name: 'morpho-blue markets', texts: expect.any(Array) },
      { chain_id: 1, name: 'morpho-midnight markets', texts: [] },
    ])
    const work = createWork(new AbortController().signal)
    const evidence = {
      keys: undefined,
      rpcUrls: [devnet.rpcUrl],
      blockHashes: new Map(),
      clock: slowClock,
      work,
      runner,
    }
    const { is, verdicts } = await verifyReceipt(encodeReceipt(receipt), evidence)
    const { signature, figures, answers, block } = verdicts
    expect([is, signature.is, figures.is, answers.is, block.is]).toEqual(['unknown', 'unknown', 'true', 'true', 'true'])
    expect(signature.because).toContain('nothing else stands for')
  })

  test('is not made for a Solana wallet, nor a proof of a time', async () => {
    const paths = [
      '/v1/portfolio/exit?wallet=11111111111111111111111111111112&chain_id=101&receipt=true',
      `${toPath(wallets.debtor)}&at_time=1&receipt=proof`,
    ]
    for (const path of paths) {
      const { status, body } = await stage.get(path)
      expect([status, body.error.code]).toEqual([400, 'INVALID_PARAMETER'])
      expect(body.error.message).toContain('receipt')
    }
  })
})

test('a receipt of an exit holds what its sale brings too, and a changed figure of it is false', async () => {
  const quotes = (['weth', 'usdc', 'usdt', 'dai'] as const).map((name) => TOKENS[name].address)
  const { prices, ...row } = rowOver([devnet.rpcUrl], { aaveV3: [] })
  const pools = { uniswapV3Factory: UNISWAP_V3.factory, quotes }
  const selling = stageOver([{ ...row, prices: { ...prices, ...pools } }], stage.signer, { db: database.db })
  const { status, body, text } = await selling.get(`${toPath(wallets.positions)}&sell_into=USDC&receipt=true`)
  expect([status, status === 200 ? '' : text]).toEqual([200, ''])
  expect(body.data.sale.sold.filter(({ brings }: Sold) => brings !== null).length).toBeGreaterThan(0)
  const { is, verdicts } = await checked(selling, encodeReceipt(body.receipt), [devnet.rpcUrl])
  expect([is, verdicts.figures.is, verdicts.answers.is]).toEqual(['true', 'true', 'true'])
  const offline = await checked(selling, encodeReceipt(body.receipt))
  expect([offline.verdicts.signature.is, offline.verdicts.figures.is]).toEqual(['true', 'true'])
  for (const change of SALE_LIES) {
    const payload = decodePayload(body.receipt)
    change((payload.answer.data as { readonly sale: Sale }).sale)
    const lie = signEnvelope(PAYLOAD_TYPE, JSON.stringify(payload), stage.signer)
    const forged = await checked(selling, encodeReceipt(lie))
    expect([forged.is, forged.verdicts.signature.is, forged.verdicts.figures.is]).toEqual(['false', 'true', 'false'])
  }
  await selling.close()
}, 60_000)

test('a receipt of an exit in a currency holds the round of its feed, and another rate is false', async () => {
  const feed = CURRENCY_FEED_ROWS[1]?.find(([currency]) => currency === 'EUR')?.[1] ?? STRANGER
  const bytecode = (await devnet.client.getCode({ address: TOKENS.usdc.feed })) ?? '0x'
  await devnet.client.setCode({ address: feed, bytecode })
  const { timestamp } = await devnet.client.getBlock()
  await devnet.setFeed(feed, { answer: 108_345_678n, updatedAtSec: timestamp })
  const { status, body, text } = await stage.get(`${toPath(wallets.positions)}&currency=EUR&receipt=true`)
  expect([status, status === 200 ? '' : text]).toEqual([200, ''])
  expect([body.fx.rate, typeof body.data.arrives_eur]).toEqual(['1.08345678', 'string'])
  const { is, verdicts } = await checked(stage, encodeReceipt(body.receipt), [devnet.rpcUrl])
  expect([is, verdicts.figures.is, verdicts.answers.is]).toEqual(['true', 'true', 'true'])
  const payload = decodePayload(body.receipt)
  Object.assign(payload.answer.fx ?? {}, { rate: '1.08345679' })
  const lie = signEnvelope(PAYLOAD_TYPE, JSON.stringify(payload), stage.signer)
  const forged = await checked(stage, encodeReceipt(lie))
  expect([forged.is, forged.verdicts.signature.is, forged.verdicts.figures.is]).toEqual(['false', 'true', 'false'])
}, 60_000)

interface Sold {
  readonly brings: { raw: string } | null
  price_impact_percentage: string | null
}

interface Sale {
  readonly brings: { raw: string }
  readonly sold: Sold[]
}

/** Changes of one figure of a sale. */
const SALE_LIES: readonly ((sale: Sale) => unknown)[] = [
  ({ brings }) => {
    brings.raw += '0'
  },
  ({ sold }) => {
    for (const { brings } of sold) if (brings !== null) brings.raw = String(BigInt(brings.raw) + 1n)
  },
  ({ sold }) => {
    for (const each of sold) each.price_impact_percentage = '0.0000'
  },
  ({ sold }) => sold.pop(),
]

/** Wallets whose exits are proven; a run proves the first, and all with `SEEDS=full`. */
const PROVEN = ['debtor', 'hooked', 'positions'] as const

const WORD: Hex = `0x${'34'.repeat(32)}`
const STRANGER: Hex = `0x${'12'.repeat(20)}`

type Read = Payload['reads'][number]
type Call = Read['calls'][number]

function getRead({ reads: [read] }: Payload): Read {
  if (read === undefined) throw new Error('Expected a read')
  return read
}

/** The first call during which another account had other code or storage. */
function getExecuted(payload: Payload): Call & Required<Pick<Call, 'others'>> {
  const call = getRead(payload).calls.find(({ others }) => others !== undefined)
  if (call?.others === undefined) throw new Error('Expected a call that executes')
  return call as ReturnType<typeof getExecuted>
}

function changeOther(payload: Payload, fields: object): void {
  Object.assign(getExecuted(payload).others[0] ?? {}, fields)
}

/** Forgeries by an instance, which signs them. */
const LIES: readonly (readonly [what: string, change: (payload: Payload) => unknown])[] = [
  [
    'an amount that arrives',
    ({ answer }) => {
      const { rows } = answer.data as { readonly rows: readonly { readonly arrives: { raw: string } | null }[] }
      for (const { arrives } of rows) if (arrives !== null) arrives.raw += '0'
    },
  ],
  ['no account with other code', (payload) => delete (getExecuted(payload) as Call).others],
  ['an account more', (payload) => getExecuted(payload).others.push({ address: STRANGER })],
  ['another account', (payload) => changeOther(payload, { address: STRANGER })],
  ['other code', (payload) => changeOther(payload, { code: WORD })],
  ['a word of storage', (payload) => changeOther(payload, { storage: [{ slot: WORD, word: WORD }] })],
  [
    'a call that executes dropped',
    (payload) => {
      const read = getRead(payload)
      read.calls = read.calls.filter((call) => call !== getExecuted(payload))
    },
  ],
  [
    'a market dropped',
    ({ testimony }) => {
      testimony?.[0]?.texts.pop()
    },
  ],
  ['a market added', ({ testimony }) => testimony?.[0]?.texts.push(WORD)],
  [
    'no markets',
    (payload) => {
      delete payload.testimony
    },
  ],
  ['what no history is asked for', ({ testimony }) => testimony?.push({ chain_id: 1, name: 'other', texts: [] })],
]

test('a forged exit is false, although its instance signs it', async () => {
  const receipt = await requestReceipt(wallets.debtor, 'true')
  for (const [what, change] of LIES) {
    const payload = decodePayload(receipt)
    change(payload)
    const lie = signEnvelope(PAYLOAD_TYPE, JSON.stringify(payload), stage.signer)
    const { is, verdicts } = await checked(stage, encodeReceipt(lie))
    expect([what, is, verdicts.signature.is, verdicts.figures.is]).toEqual([what, 'false', 'true', 'false'])
  }
  const payload = decodePayload(receipt)
  payload.family.revision++
  const other = signEnvelope(PAYLOAD_TYPE, JSON.stringify(payload), stage.signer)
  expect((await checked(stage, encodeReceipt(other))).is).toBe('unknown')
})

test('an answer of an execution that is forged together with its figures is contradicted by an endpoint', async () => {
  const receipt = await requestReceipt(wallets.positions, 'true')
  const payload = decodePayload(receipt)
  const call = getExecuted(payload)
  // The answer ends with the word by which a balance grew.
  const digit = Number.parseInt(call.answer.slice(-1), 16)
  call.answer = `0x${call.answer.slice(2, -1)}${(digit ^ 1).toString(16)}`
  const subject = findSubject(payload.family.name)
  const settings = subject && parseReceiptSettings(subject, payload.settings)
  if (settings === undefined || 'mistakes' in settings) throw new Error('Expected settings')
  const records = payload.reads.map(toChainRecord)
  const request = { statement: payload.request, records, told: listTold(payload), clock: slowClock }
  payload.answer = JSON.parse(JSON.stringify((await replayAnswer(settings, request)).answer))
  const lie = encodeReceipt(signEnvelope(PAYLOAD_TYPE, JSON.stringify(payload), stage.signer))
  const { is, verdicts } = await checked(stage, lie, [devnet.rpcUrl])
  expect([is, verdicts.figures.is, verdicts.answers.is]).toEqual(['false', 'true', 'false'])
})
