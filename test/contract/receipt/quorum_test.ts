import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { ConfigError, readConfig } from '../../../src/config/config.ts'
import { silentLog } from '../../../src/lib/log.ts'
import { createClients } from '../../../src/service/clients.ts'
import type { AaveDevnet } from '../../devnet/aave_v3/mod.ts'
import { sharedAave } from '../../devnet/aave_v3/shared.ts'
import { type Anvil, startAnvil } from '../../devnet/anvil.ts'
import type { Devnet } from '../../devnet/mod.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import { liquidityWorth } from '../../devnet/uniswap_v4/pools.ts'
import { IS_FULL } from '../../support/cases.ts'
import { testDatabase } from '../../support/database.ts'
import { type Fault, type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../support/rpc.ts'
import { slowClock } from '../../support/test_clock.ts'
import { checked, decodePayload, encodeReceipt, rowOver, type Stage, stageOver } from './stage.ts'

let devnet: Devnet
let aave: AaveDevnet
/** Another node, which follows the chain of the first. */
let fork: Anvil
/** Two before the first node, one before the other. */
let rpcs: readonly FaultyRpc[]
let alone: Stage
let paths: readonly string[]
/** Positions of Uniswap V4 of the borrower. */
let v4Ids: readonly bigint[]

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  aave = shared.aave
  // Its row names Morpho, which portfolios require then.
  await devnet.morpho()
  const v4 = await devnet.uniswapV4()
  v4Ids = await v4.mintMany(
    [v4.pools.native, v4.pools.plain].map((pool) => {
      const range = rangeAround(pool, -900, 900)
      const liquidity = liquidityWorth(pool, { ...range, usd: 1_000 })
      return { pool, ...range, liquidity, recipient: aave.wallets.borrower }
    }),
  )
  fork = await startAnvil({ forkUrl: devnet.rpcUrl })
  rpcs = await Promise.all([devnet.rpcUrl, fork.rpcUrl, devnet.rpcUrl].map((url) => startFaultyRpc(url)))
  alone = stageOver([rowOver([devnet.rpcUrl])])
  paths = [
    `/v1/positions/uniswap-v3/${devnet.positions.good}?chain_id=1`,
    `/v1/positions/uniswap-v3?wallet=${devnet.wallets.provider}`,
    `/v1/lending/aave-v3?wallet=${aave.wallets.borrower}`,
  ]
}, 240_000)

afterAll(async () => {
  await Promise.all((rpcs ?? []).map((rpc) => rpc.stop()))
  await fork?.stop()
}, 60_000)

beforeEach(() => {
  for (const rpc of rpcs) {
    rpc.rule(() => undefined)
    rpc.reset()
  }
})

/** A service that requires the same bytes from two of three endpoints. */
function agreeing(more: object = {}): Stage {
  return stageOver([rowOver(urls(), { quorum: 2, ...more })])
}

function urls(): readonly string[] {
  return rpcs.map(({ url }) => url)
}

const LIE: Fault = { kind: 'change', change: (result) => `${String(result).slice(0, -1)}${lastOther(String(result))}` }

function lastOther(result: string): string {
  return result.endsWith('0') ? '1' : '0'
}

function lies({ method }: SeenRequest): Fault | undefined {
  return method === 'eth_call' ? LIE : undefined
}

const DOWN: Fault = { kind: 'http', status: 502, body: '' }

/** Calls that came to each endpoint. */
function callsSeen(): readonly number[] {
  return rpcs.map(({ seen }) => seen.filter(({ method }) => method === 'eth_call').length)
}

async function readDissents(stage: Stage): Promise<unknown> {
  return (await stage.get('/readyz')).body.quorum['1']
}

test('two endpoints that agree answer what one answers, in as many calls each, and the receipt says two', async () => {
  const stage = agreeing()
  for (const path of paths) {
    for (const rpc of rpcs) rpc.reset()
    const plain = await alone.get(path)
    const answer = await stage.get(path)
    expect([path, answer.status]).toEqual([path, 200])
    expect(JSON.stringify(answer.body.data)).toBe(JSON.stringify(plain.body.data))
    const calls = rpcs.map(({ seen }) => seen.filter(({ method }) => method === 'eth_call'))
    // A slow endpoint may be replaced by the third: two answer in any case.
    expect(calls.filter(({ length }) => length > 0)).toHaveLength(2)
    const blocks = new Set(calls.flat().map(({ params }) => JSON.stringify(params[1])))
    expect([blocks.size, [...blocks][0]]).toEqual([1, expect.stringContaining('blockHash')])
    const { receipt } = (await stage.get(`${path}&receipt=true`)).body
    const payload = decodePayload(receipt)
    expect([payload.level, payload.reads.map(({ agreed }) => agreed)]).toEqual(['agreed', [2]])
    expect((await checked(stage, encodeReceipt(receipt), [devnet.rpcUrl])).is).toBe('true')
  }
  expect(await readDissents(stage)).toEqual({ contradicted: [], absent: [] })
  expect(decodePayload((await alone.get(`${paths[0]}&receipt=true`)).body.receipt).level).toBe('replayable')
})

for (const place of [0, 1]) {
  test(`one dishonest endpoint of three, number ${place + 1}, is outvoted and named`, async () => {
    rpcs[place]?.rule(lies)
    const stage = agreeing()
    for (const path of paths) {
      const answer = await stage.get(`${path}&receipt=true`)
      expect([path, answer.status]).toEqual([path, 200])
      expect(JSON.stringify(answer.body.data)).toBe(JSON.stringify((await alone.get(path)).body.data))
      expect((await checked(stage, encodeReceipt(answer.body.receipt), [devnet.rpcUrl])).is).toBe('true')
    }
    expect(await readDissents(stage)).toEqual({ contradicted: [place + 1], absent: [] })
    const { text } = await stage.get('/metrics')
    expect(text).toMatch(
      new RegExp(`quorum_dissents_total{chain_id="1",endpoint="${place + 1}",dissent="contradicted"} [1-9]`),
    )
    expect(text).not.toMatch(/127\.0\.0\.1|localhost/)
  })

  test(`one unreachable endpoint of three, number ${place + 1}, is passed over`, async () => {
    rpcs[place]?.rule(() => DOWN)
    const stage = agreeing()
    for (const path of paths) {
      const answer = await stage.get(path)
      expect([path, answer.status]).toEqual([path, 200])
      expect(JSON.stringify(answer.body.data)).toBe(JSON.stringify((await alone.get(path)).body.data))
    }
    expect(await readDissents(stage)).toEqual({ contradicted: [], absent: [] })
  })

  test(`one endpoint of three that lags by a block, number ${place + 1}, is passed over, or decides the block`, async () => {
    rpcs[place]?.rule(() => ({ kind: 'lag', blocks: 1 }))
    const stage = agreeing()
    const head = await devnet.client.getBlockNumber()
    const answer = await stage.get(paths[0] ?? '')
    expect([answer.status, answer.headers.get('x-as-of')]).toEqual([200, `1:${place === 0 ? head - 1n : head}`])
    expect(await readDissents(stage)).toEqual({ contradicted: [], absent: [] })
    // The service does not wait for its block but asks another endpoint.
    if (place === 1) expect(callsSeen()).toEqual([1, 1, 1])
  })
}

test('if all other endpoints lag, they are retried until they have the block', async () => {
  for (const rpc of rpcs.slice(1)) {
    let times = 0
    rpc.rule(({ method }) => (method === 'eth_call' && times++ < 2 ? { kind: 'lag', blocks: 1 } : undefined))
  }
  const stage = agreeing()
  const head = await devnet.client.getBlockNumber()
  const answer = await stage.get(paths[0] ?? '')
  expect([answer.status, answer.headers.get('x-as-of')]).toEqual([200, `1:${head}`])
  expect(callsSeen().slice(1).sort().at(-1)).toBe(3)
  expect(await readDissents(stage)).toEqual({ contradicted: [], absent: [] })
})

test('three of five agree if two give the same false bytes; of three, all must be honest and reachable', async () => {
  const all = [...rpcs, ...(await Promise.all([fork.rpcUrl, devnet.rpcUrl].map((url) => startFaultyRpc(url))))]
  try {
    const stage = () =>
      stageOver([
        rowOver(
          all.map(({ url }) => url),
          { quorum: 3 },
        ),
      ])
    const path = paths[2] ?? ''
    const truth = JSON.stringify((await alone.get(path)).body.data)
    for (const liars of [[], [0, 1], [1, 2], [0, 3]]) {
      for (const [index, rpc] of all.entries()) rpc.rule(liars.includes(index) ? lies : () => undefined)
      const here = stage()
      const { status, body } = await here.get(`${path}&receipt=true`)
      expect([liars, status]).toEqual([liars, 200])
      expect(JSON.stringify(body.data)).toBe(truth)
      expect(decodePayload(body.receipt).reads.map(({ agreed }) => agreed)).toEqual([3])
      const { contradicted } = (await readDissents(here)) as { readonly contradicted: readonly number[] }
      // An endpoint that was not needed was not asked.
      expect(contradicted.every((place) => liars.includes(place - 1))).toBe(true)
      if (liars.includes(0)) expect(contradicted).toContain(1)
    }
    for (const rule of [lies, () => DOWN]) {
      for (const rpc of all) rpc.rule(() => undefined)
      all[1]?.rule(rule)
      const three = stageOver([rowOver(urls(), { quorum: 3 })])
      const { status, body } = await three.get(path)
      expect([status, body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
      expect(body.error.message).toContain('3 endpoints must give the same bytes')
    }
  } finally {
    await Promise.all(all.slice(rpcs.length).map((rpc) => rpc.stop()))
  }
})

test('positions of Uniswap V4 and portfolios reach the quorum, with a dishonest endpoint too', async () => {
  const owner = aave.wallets.borrower
  const asked = [
    ...v4Ids.map((id) => `/v1/positions/uniswap-v4/${id}`),
    `/v1/positions/uniswap-v4?wallet=${owner}`,
    `/v1/portfolio/balance?wallet=${owner}&chain_id=1`,
    `/v1/portfolio/balance?wallet=${devnet.wallets.provider}`,
  ]
  const { db, close } = await testDatabase()
  const plainly = stageOver([rowOver([devnet.rpcUrl])], undefined, { db })
  try {
    const [last, ...others] = [
      [1, () => ({ kind: 'lag', blocks: 1 }) as const],
      [0, () => undefined],
      [0, lies],
      [1, lies],
    ] as const
    for (const [place, rule] of IS_FULL ? [...others, last] : [others[1], last]) {
      for (const rpc of rpcs) rpc.rule(() => undefined)
      rpcs[place]?.rule(rule)
      const stage = stageOver([rowOver(urls(), { quorum: 2 })], undefined, { db })
      for (const path of asked) {
        const [truth, answer] = [await plainly.get(path), await stage.get(path)]
        expect([place, path, answer.status, truth.status]).toEqual([place, path, 200, 200])
        expect(JSON.stringify(answer.body.data)).toBe(JSON.stringify(truth.body.data))
      }
      await stage.close()
    }
    const blocks = rpcs.flatMap(({ seen }) => seen.filter(({ method }) => method === 'eth_call'))
    expect(blocks.every(({ params }) => typeof params[1] === 'object')).toBe(true)
  } finally {
    await plainly.close()
    await close()
  }
}, 120_000)

test('a proof is made of answers with a quorum', async () => {
  rpcs[0]?.rule(lies)
  const { status, body } = await agreeing().get(`${paths[0]}&receipt=proof`)
  expect(status).toBe(200)
  const payload = decodePayload(body.receipt)
  expect([payload.level, payload.reads.map(({ agreed }) => agreed)]).toEqual(['proven', [2]])
})

test('without a quorum the answer is 503 with endpoint numbers and no URL, and nothing is charged', async () => {
  const cases: readonly (readonly [rules: readonly (Fault | undefined | 'lie')[], said: RegExp, told: object])[] = [
    [['lie', undefined, DOWN], /endpoints 1 and 2 contradict each other/, { contradicted: [1, 2], absent: [] }],
    [[undefined, 'lie', DOWN], /endpoints 1 and 2 contradict each other/, { contradicted: [1, 2], absent: [] }],
    [[undefined, DOWN, DOWN], /endpoints 2 and 3 did not answer/, { contradicted: [], absent: [2, 3] }],
  ]
  for (const [rules, said, told] of cases) {
    for (const [index, rule] of rules.entries()) {
      rpcs[index]?.rule((request) => (rule === 'lie' ? lies(request) : rule))
    }
    const stage = agreeing()
    const answer = await stage.get(paths[0] ?? '')
    expect([answer.status, answer.body.error.code]).toEqual([503, 'SERVICE_UNAVAILABLE'])
    expect(answer.body.error.message).toMatch(said)
    expect(answer.body.error.message).toContain('2 endpoints must give the same bytes')
    expect(answer.text).not.toMatch(/127\.0\.0\.1|localhost/)
    expect(answer.headers.get('x-credits-charged')).toBe('0')
    expect(await readDissents(stage)).toEqual(told)
  }
})

test('a block that only one endpoint has is not used', async () => {
  rpcs[0]?.rule(({ method }) =>
    method === 'eth_getBlockByNumber'
      ? { kind: 'change', change: (result) => ({ ...(result as object), hash: `0x${'ab'.repeat(32)}` }) }
      : undefined,
  )
  const answer = await agreeing().get(paths[0] ?? '')
  expect(answer.status).toBe(200)
  expect(JSON.stringify(answer.body.data)).toBe(JSON.stringify((await alone.get(paths[0] ?? '')).body.data))
})

test('endpoints that run lenses in different ways agree', async () => {
  for (const place of [0, 1]) {
    for (const rpc of rpcs) rpc.rule(() => undefined)
    for (const how of ['refuse', 'ignore'] as const) {
      rpcs[place]?.rule(({ params }) => (params.length > 2 ? { kind: 'no_overrides', how } : undefined))
      const stage = agreeing()
      const answer = await stage.get(paths[1] ?? '')
      expect([place, how, answer.status]).toEqual([place, how, 200])
      expect(JSON.stringify(answer.body.data)).toBe(JSON.stringify((await alone.get(paths[1] ?? '')).body.data))
      expect(await readDissents(stage)).toEqual({ contradicted: [], absent: [] })
    }
  }
})

test('concurrent callers with a dishonest endpoint all get the honest answer', async () => {
  rpcs[0]?.rule(lies)
  const stage = agreeing()
  const truth = await Promise.all(paths.map(async (path) => JSON.stringify((await alone.get(path)).body.data)))
  const asked = Array.from({ length: 24 }, (_, index) => index % paths.length)
  const answers = await Promise.all(asked.map((index) => stage.get(paths[index] ?? '')))
  expect(answers.map(({ status }) => status)).toEqual(asked.map(() => 200))
  expect(answers.map(({ body }) => JSON.stringify(body.data))).toEqual(asked.map((index) => truth[index] ?? ''))
})

test('reads of a past block require a quorum too', async () => {
  rpcs[0]?.rule(lies)
  const height = await devnet.client.getBlockNumber()
  const path = `${paths[0]}&at_block=${height - 3n}`
  const answer = await agreeing().get(path)
  expect([answer.status, answer.headers.get('x-as-of')]).toEqual([200, `1:${height - 3n}`])
  expect(JSON.stringify(answer.body.data)).toBe(JSON.stringify((await alone.get(path)).body.data))
})

test('a chain’s row sets the quorum; mistakes are reported at the start, without URLs', () => {
  const config = (more: object, env: object = {}) =>
    readConfig({ CHAINS_FILE: 'rows', CHAINS: '1', ...env }, () =>
      JSON.stringify({ chains: [rowOver(['http://a.test/secret', 'http://b.test/secret'], more)] }),
    )
  const listMistakes = (more: object, env: object = {}): readonly string[] => {
    try {
      config(more, env)
      return []
    } catch (error) {
      if (error instanceof ConfigError) return error.mistakes
      throw error
    }
  }
  for (const quorum of [0, -1, 1.5, 6, '2', null]) {
    expect([quorum, listMistakes({ quorum })]).toEqual([
      quorum,
      ['CHAINS_FILE: chains.0.quorum: expected a whole number from 1 to 5'],
    ])
  }
  expect(listMistakes({ quorum: 3 })).toEqual([
    expect.stringMatching(/chain 1: expected at least 3 endpoints.*are 2, 2/),
  ])
  expect(listMistakes({ quorum: 2 }, { RPC_URL_1: 'http://c.test/secret' })).toHaveLength(1)
  const twice = { quorum: 2, rpcUrls: ['http://a.test/secret', 'http://a.test/secret'] }
  expect(listMistakes(twice)).toEqual([expect.stringMatching(/are 2, 1 of them/)])
  expect(listMistakes({ quorum: 2 })).toEqual([])
  const options = { clock: slowClock, log: silentLog, recorder: () => () => {} }
  const listQuorums = (more: object) => {
    const clients = createClients(config(more), options)
    clients.close()
    return [...clients.evm.values()].map(({ agreed }) => agreed)
  }
  expect([listQuorums({}), listQuorums({ quorum: 1 }), listQuorums({ quorum: 2 })]).toEqual([
    [undefined],
    [undefined],
    [2],
  ])
})
