import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Hex, zeroAddress } from 'viem'
import { AAVE_ORACLE_ROWS } from '../../../src/finance/price/table/aave_oracles.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { type Envelope, signEnvelope } from '../../../src/lib/dsse.ts'
import { PAYLOAD_TYPE, type Payload } from '../../../src/receipt/payload.ts'
import { verifyReceipt } from '../../../src/receipt/verify.ts'
import { TOKENS, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import { liquidityWorth } from '../../devnet/uniswap_v4/pools.ts'
import { caseCount } from '../../support/cases.ts'
import { slowClock } from '../../support/test_clock.ts'
import { waitFor } from '../../support/wait_for.ts'
import { type PnlScene, startPnlScene, toFeeds } from '../family/uniswap_v3/pnl/scene.ts'
import { sumUncollected } from '../family/uniswap_v3/pnl/truth.ts'
import { checked, decodePayload, encodeReceipt, rowOver, runner, type Stage, stageOver } from './stage.ts'

/** Compared fields of a position in full. */
interface Full {
  readonly token_id: string
  readonly uncollected_fees: object | null
  readonly usd: Record<string, string | null>
  readonly pnl: Record<string, string>
  readonly pnl_status: string
}

/** Code of a contract that answers every call with zero. */
const ANSWERS_ZERO = '0x60206000f3'

const PNL = ['pnl', 'pnl_status']
const SPLIT = ['uncollected_fees', 'withdrawn_principal', 'usd.uncollected_fees', 'usd.withdrawn_principal']
const formatPaths = (base: string, fields: readonly string[]) => fields.map((field) => `${base}.${field}`)

let scene: PnlScene
let stage: Stage
/** Active positions of one wallet: what state tells whole, what it does not split, and one that a pool prices. */
let wallet: string
let told: bigint
let unsplit: bigint
let pooled: bigint
let plain: bigint
let hooked: bigint

beforeAll(async () => {
  scene = await startPnlScene({ seed: 9, count: caseCount(48, 30) })
  const { devnet, lives, database } = scene
  const usdFeeds = toFeeds(lives.tokens)
  const quotes = [TOKENS.weth, TOKENS.usdc].map(({ address }) => address)
  const prices = { usdFeeds, stablecoins: [], wrappers: [], uniswapV3Factory: UNISWAP_V3.factory, quotes }
  stage = stageOver([rowOver([devnet.rpcUrl], { prices, finality: { depth: 12 } })], undefined, { db: database.db })
  const held = lives.positions.filter(({ isBurned }) => !isBurned)
  const states = await devnet.v3.readPositions(held.map(({ tokenId }) => tokenId))
  const active = states.filter(({ liquidity }) => liquidity > 0n)
  const isUnsplit = ({ tokensOwed0, tokensOwed1 }: (typeof active)[number]) => tokensOwed0 + tokensOwed1 > 0n
  const found = [...new Set(active.map(({ owner }) => owner))].find((owner) => {
    const own = active.filter((each) => each.owner === owner)
    return own.some(isUnsplit) && own.some((each) => !isUnsplit(each))
  })
  const findOwn = (isIt: (each: (typeof active)[number]) => boolean) =>
    active.find((each) => each.owner === found && isIt(each))?.tokenId ?? 0n
  wallet = found ?? ''
  unsplit = findOwn(isUnsplit)
  told = findOwn((each) => !isUnsplit(each))
  const unfed = lives.tokens.filter(({ feed }) => feed === undefined)
  const byPool = held.find(({ tokenId, pool }) => {
    return active.some((each) => each.tokenId === tokenId) && pool.tokens.some((token) => unfed.includes(token))
  })
  pooled = byPool?.tokenId ?? 0n
  const { pools, mintMany } = await devnet.uniswapV4()
  const minted = await mintMany(
    [pools.native, pools.feeTaking].map((pool) => {
      const range = rangeAround(pool, -900, 900)
      return {
        pool,
        ...range,
        liquidity: liquidityWorth(pool, { ...range, usd: 1_000 }),
        recipient: wallet as `0x${string}`,
      }
    }),
  )
  plain = minted[0] ?? 0n
  hooked = minted[1] ?? 0n
  for (let block = 0; block < 2; block++) {
    await devnet.rpc.call('evm_increaseTime', 12)
    await devnet.rpc.call('evm_mine')
  }
}, 240_000)

afterAll(async () => {
  await stage.close()
  await scene.close()
})

const v3 = (tokenId: bigint) => `/v1/positions/uniswap-v3/${tokenId}?chain_id=1&full=true`
const v4 = (tokenId: bigint) => `/v1/positions/uniswap-v4/${tokenId}?chain_id=1&full=true`
const listed = () => `/v1/positions/uniswap-v3?wallet=${wallet}&full=true&limit=25`

/** Retries until profit and loss are computed from histories. */
async function ready(path: string): Promise<Awaited<ReturnType<Stage['get']>>> {
  let answer = await stage.get(path)
  await waitFor(
    path,
    async () => {
      answer = await stage.get(path)
      return answer.status === 200 && [answer.body.data].flat().every(({ pnl_status }) => pnl_status !== 'pending')
    },
    60_000,
  )
  return answer
}

/** The receipt of an answer in full, which is the same with it and without. */
async function requestReceipt(path: string, kind = 'true'): Promise<Envelope> {
  const before = await ready(path)
  const answer = await stage.get(`${path}&receipt=${kind}`)
  expect([path, answer.status, answer.status === 200 ? '' : answer.text]).toEqual([path, 200, ''])
  const { receipt, data, counts } = answer.body
  expect(JSON.stringify(data)).toBe(JSON.stringify(before.body.data))
  expect(JSON.stringify(counts)).toBe(JSON.stringify(before.body.counts))
  expect(answer.headers.get('x-as-of')).toBe(before.headers.get('x-as-of'))
  const credits = (of: typeof answer) => Number(of.headers.get('x-credits-charged'))
  expect(credits(answer)).toBe(credits(before) + (kind === 'proof' ? 25 : 2))
  expect(JSON.stringify(decodePayload(receipt).answer.data)).toBe(JSON.stringify(data))
  return receipt
}

/** Result of a verifier with the key, or without one. */
async function said(receipt: Envelope, rpcUrls: readonly string[] = []) {
  return await checked(stage, encodeReceipt(receipt), rpcUrls)
}

async function saidWithoutKey(receipt: Envelope) {
  const work = createWork(new AbortController().signal)
  const evidence = { keys: undefined, rpcUrls: [], blockHashes: new Map(), clock: slowClock, work, runner }
  return await verifyReceipt(encodeReceipt(receipt), evidence)
}

describe('a receipt of an answer in full', () => {
  test('covers all of a position but profit and loss, and verifies with no history', async () => {
    const receipt = await requestReceipt(v3(told))
    const { uncovered, answer, reads } = decodePayload(receipt)
    expect(uncovered).toEqual(formatPaths('data', PNL))
    const { pnl_status, uncollected_fees } = answer.data as Full
    expect([pnl_status, uncollected_fees]).toEqual(['ready', expect.anything()])
    expect(reads.map(({ calls }) => calls.length)).toEqual([1])
    const { is, verdicts } = await said(receipt, [scene.devnet.rpcUrl])
    expect({ is, ...verdicts }).toMatchObject({
      is: 'true',
      figures: { is: 'true', because: expect.stringContaining('but for what is not covered') },
      answers: { is: 'true' },
      block: { is: 'true' },
    })
  }, 120_000)

  test('leaves out what the manager keeps together, and covers the total', async () => {
    const receipt = await requestReceipt(v3(unsplit))
    expect(decodePayload(receipt).uncovered).toEqual(formatPaths('data', [...PNL, ...SPLIT]))
    expect((await said(receipt)).is).toBe('true')
    const total = (payload: Payload) => {
      const { usd } = payload.answer.data as Full
      usd['total'] = '1.000000'
    }
    expect((await said(lied(receipt, total))).verdicts.figures.is).toBe('false')
  }, 120_000)

  test('covers prices by pools, with the earlier blocks that they rest on', async () => {
    const { devnet } = scene
    const setOracle = async (bytecode: Hex) => {
      await devnet.client.setCode({ address: AAVE_ORACLE_ROWS[1] ?? zeroAddress, bytecode })
      // Blocks of one second would share the moment that a later test asks for.
      await devnet.rpc.call('evm_increaseTime', 12)
      await devnet.rpc.call('evm_mine')
    }
    // An oracle without a contract is a source that failed, and pools replace none: this one says that it has none.
    await setOracle(ANSWERS_ZERO)
    try {
      const receipt = await requestReceipt(v3(pooled))
      const { reads, answer } = decodePayload(receipt)
      const { usd } = answer.data as Full
      expect([usd['token0_price_source'], usd['token1_price_source']]).toContain('pool')
      expect(reads.length).toBe(1)
      for (const { block, calls } of reads) {
        const earlier = calls.flatMap((call) => call.block?.number ?? [])
        expect(earlier.length).toBeGreaterThan(0)
        expect(Math.max(...earlier)).toBeLessThan(block.number)
      }
      expect((await said(receipt, [devnet.rpcUrl])).is).toBe('true')
      const proof = await stage.get(`${v3(pooled)}&receipt=proof`)
      expect([proof.status, proof.body.error.message]).toEqual([400, expect.stringContaining('rest on earlier blocks')])
    } finally {
      await setOracle('0x')
    }
  }, 120_000)

  test('names the positions of a list whose fees and principal it leaves out', async () => {
    const receipt = await requestReceipt(listed())
    const { uncovered, answer } = decodePayload(receipt)
    const items = answer.data as readonly Full[]
    const owed = await scene.devnet.v3.readPositions(items.map(({ token_id }) => BigInt(token_id)))
    const apart = owed.flatMap(({ tokensOwed0, tokensOwed1 }, at) =>
      tokensOwed0 + tokensOwed1 > 0n ? formatPaths(`data[${at}]`, SPLIT) : [],
    )
    expect(uncovered).toEqual([...formatPaths('data[*]', PNL), ...apart])
    expect(apart.length).toBeGreaterThan(0)
    expect(apart.length).toBeLessThan(items.length * SPLIT.length)
    expect(
      items.some(({ token_id }) => sumUncollected(scene.flows.get(BigInt(token_id)) ?? []).some((each) => each > 0n)),
    ).toBeTrue()
    expect((await said(receipt, [scene.devnet.rpcUrl])).is).toBe('true')
  }, 120_000)

  test('is of a past block too, and of a wallet that has nothing', async () => {
    const height = (await scene.devnet.client.getBlockNumber({ cacheTime: 0 })) - 1n
    const { timestamp } = await scene.devnet.client.getBlock({ blockNumber: height })
    for (const moment of [`at_block=${height}`, `at_time=${timestamp}`]) {
      const receipt = await requestReceipt(`${v3(unsplit)}&${moment}`)
      expect(decodePayload(receipt).reads[0]?.block.number).toBe(Number(height))
      expect((await said(receipt)).is).toBe('true')
    }
    const nothing = await stage.get(`/v1/positions/uniswap-v3?wallet=${TOKENS.weth.feed}&full=true&receipt=true`)
    expect(decodePayload(nothing.body.receipt).uncovered).toEqual([])
    expect((await said(nothing.body.receipt)).is).toBe('true')
  }, 120_000)

  test('is of the block of the answer, whatever comes between', async () => {
    await ready(v3(told))
    const asked = stage.get(`${v3(told)}&receipt=true`)
    await scene.devnet.rpc.call('evm_mine')
    const { status, body, headers } = await asked
    expect(status).toBe(200)
    expect(headers.get('x-as-of')).toBe(`1:${decodePayload(body.receipt).reads[0]?.block.number}`)
  }, 60_000)

  test('of Uniswap V4 leaves out what a withdrawal pays where a hook sees it', async () => {
    const receipt = await requestReceipt(v4(plain))
    expect(decodePayload(receipt).uncovered).toEqual(formatPaths('data', PNL))
    expect((await said(receipt, [scene.devnet.rpcUrl])).is).toBe('true')
    const seen = await requestReceipt(v4(hooked))
    const executed = ['withdrawable', 'withdrawable_error', 'usd.total']
    expect(decodePayload(seen).uncovered).toEqual(formatPaths('data', [...PNL, ...executed]))
    expect(decodePayload(seen).answer.data).toMatchObject({ withdrawable: expect.anything(), withdrawable_error: null })
    expect((await said(seen)).is).toBe('true')
  }, 120_000)

  test('is proven', async () => {
    for (const path of [v3(unsplit), v4(plain), listed()]) {
      const receipt = await requestReceipt(path, 'proof')
      const { level, reads } = decodePayload(receipt)
      const believed = new Map(reads.map(({ chain_id, block }) => [chain_id, block.hash]))
      const { is, verdicts } = await checked(stage, encodeReceipt(receipt), [], believed)
      expect([level, is, verdicts.answers.is, verdicts.figures.is]).toEqual(['proven', 'true', 'true', 'true'])
    }
  }, 120_000)
})

test('a tool returns the receipt of an answer in full', async () => {
  await ready(v3(told))
  const asked = { protocol: 'uniswap-v3', id: String(told), chain_id: 1, full: true, receipt: 'true' }
  const { data, receipt } = await stage.tool('read_liquidity_position', asked)
  expect(decodePayload(receipt)).toMatchObject({ answer: { data }, uncovered: formatPaths('data', PNL) })
  expect((await said(receipt)).is).toBe('true')
}, 60_000)

/** A receipt of a dishonest instance. */
function lied(receipt: Envelope, change: (payload: Payload) => void): Envelope {
  return signEnvelope(PAYLOAD_TYPE, JSON.stringify(changed(receipt, change)), stage.signer)
}

/** A receipt that was changed after signing. */
function altered(receipt: Envelope, change: (payload: Payload) => void): Envelope {
  return { ...receipt, payload: Buffer.from(JSON.stringify(changed(receipt, change))).toString('base64') }
}

function changed(receipt: Envelope, change: (payload: Payload) => void): Payload {
  const payload = decodePayload(receipt)
  change(payload)
  return payload
}

const profit = ({ answer }: Payload) => {
  const data = answer.data as Full
  data.pnl['pnl_usd_value'] = '1000000.000000'
}

describe('a receipt of an answer in full that was changed', () => {
  test('is refused by its signature if an uncovered field differs, and is unknown without a key', async () => {
    const receipt = altered(await requestReceipt(v3(told)), profit)
    const { is, verdicts } = await said(receipt)
    expect([is, verdicts.signature.is]).toEqual(['false', 'false'])
    const keyless = await saidWithoutKey(receipt)
    expect([keyless.is, keyless.verdicts.signature, keyless.verdicts.figures]).toEqual([
      'unknown',
      { is: 'unknown', because: 'no keys were given (--key): nothing else stands for what is not covered' },
      { is: 'true', because: 'counted again from the recorded answers, but for what is not covered' },
    ])
    expect(keyless.payload?.uncovered).toEqual(formatPaths('data', PNL))
  }, 60_000)

  test('is refused if any other figure differs, of a position and of a list', async () => {
    const one = await requestReceipt(v3(told))
    const lies: readonly ((data: Full) => unknown)[] = [
      (data) => Object.assign(data, { uncollected_fees: null }),
      (data) => Object.assign(data.usd, { uncollected_fees: '9.000000' }),
      (data) => Object.assign(data.usd, { total: '9.000000' }),
      (data) => Object.assign(data, { in_range: 'yes' }),
      (data) => Object.assign(data, { more: 1 }),
      (data) => Reflect.deleteProperty(data, 'pnl'),
    ]
    for (const lie of lies) {
      const receipt = lied(one, ({ answer }) => lie(answer.data as Full))
      expect([String(lie), (await said(receipt)).verdicts.figures.is]).toEqual([String(lie), 'false'])
    }
    const all = await requestReceipt(listed())
    const items = decodePayload(all).answer.data as readonly Full[]
    for (const at of items.keys()) {
      const receipt = lied(all, ({ answer }) => {
        const data = (answer.data as readonly Full[])[at]
        if (data !== undefined) data.usd['total'] = '9.000000'
      })
      expect([at, (await said(receipt)).verdicts.figures.is]).toEqual([at, 'false'])
    }
    const shorter = lied(all, ({ answer }) => {
      const rest = answer.data as Full[]
      rest.pop()
    })
    expect((await said(shorter)).verdicts.figures.is).toBe('false')
  }, 60_000)

  test('is refused if it claims to cover less than its route does, or more', async () => {
    const one = await requestReceipt(v3(told))
    const others: readonly string[][] = [
      [],
      ['data.pnl'],
      [...formatPaths('data', PNL), 'data.usd.total'],
      ['data'],
      ['*'],
      [''],
      formatPaths('data', [...PNL, ...SPLIT]),
      formatPaths('data', PNL).reverse(),
    ]
    for (const uncovered of others) {
      const { verdicts, is } = await said(lied(one, (payload) => Object.assign(payload, { uncovered })))
      expect([uncovered, is, verdicts.figures.because]).toEqual([
        uncovered,
        'false',
        'it says to leave out what it does not',
      ])
    }
    const state = await stage.get(`/v1/positions/uniswap-v3/${told}?chain_id=1&receipt=true`)
    const more = lied(state.body.receipt, (payload) => Object.assign(payload, { uncovered: formatPaths('data', PNL) }))
    expect((await said(more)).is).toBe('false')
  }, 60_000)

  test('is refused beside other figures, whether it covers them or not', async () => {
    await ready(v3(told))
    const { body } = await stage.get(`${v3(told)}&receipt=true`)
    expect((await checked(stage, JSON.stringify(body))).is).toBe('true')
    const beside = { ...body, data: { ...body.data, pnl: { ...body.data.pnl, pnl_usd_value: '1.000000' } } }
    expect((await checked(stage, JSON.stringify(beside))).is).toBe('false')
  }, 60_000)
})
