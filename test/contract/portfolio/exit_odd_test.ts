import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, getAddress, parseAbi } from 'viem'
import { executeUnits } from '../../../src/chain/call/exit/execute.ts'
import type { ExitStep } from '../../../src/chain/call/exit/step.ts'
import { readLatestBlock } from '../../../src/chain/evm/read_block.ts'
import { defineFamily, type Testimony } from '../../../src/family/contract.ts'
import { explainBy, type HoldingExit } from '../../../src/family/exit.ts'
import type { Holding, HoldingsReader } from '../../../src/family/holding.ts'
import type { FinanceClient } from '../../../src/finance/chain.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import type { Clock } from '../../../src/lib/clock.ts'
import { UnavailableError } from '../../../src/lib/error.ts'
import { recordTestimony } from '../../../src/receipt/testimony.ts'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { ownCreationCode } from '../../devnet/artifacts.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { amounts } from '../../devnet/scenario.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import { type FaultyRpc, startFaultyRpc } from '../../support/rpc.ts'
import { createPatientClock, slowClock } from '../../support/test_clock.ts'
import { countedClient, createPortfolio } from './support.ts'

const ABI = parseAbi(['function setMood(uint8)', 'function pay(uint256)'])
const MOODS = ['Plain', 'Loops', 'RevertsMebibyte', 'ReturnsMebibyte', 'Reenters', 'Lies', 'Refuses', 'Keeps'] as const
const WALLET = toWalletAddress('odd exit')
const UNITS_MAX = 300
const AMOUNT = 5n * 10n ** 18n

let devnet: Devnet
let faulty: FaultyRpc
let mood: Address
let contract: Address

beforeAll(async () => {
  devnet = await startDevnet({ chainId: 10 })
  faulty = await startFaultyRpc(devnet.rpcUrl)
  const receipts = await devnet.send([
    { from: BANK, data: ownCreationCode('MoodToken') },
    { from: BANK, data: ownCreationCode('Actor') },
  ])
  ;[mood = '0x', contract = '0x'] = receipts.map(({ contractAddress }) => getAddress(contractAddress ?? '0x'))
  const [pool] = Object.values(devnet.pools)
  if (pool === undefined) throw new Error('Cannot find a pool')
  const range = rangeAround(pool, -600, 600)
  await devnet.v3.mintMany(
    [WALLET, contract].map((recipient) => ({ pool, ...range, ...amounts(pool, 900), recipient })),
  )
}, 60_000)

afterAll(async () => {
  await faulty?.stop()
  await devnet?.stop()
})

/** A family that is made up: each wallet has the same of one token in it. */
function createMoodFamily({ tellsExits = true } = {}) {
  const position = { family: 'mood' }
  const token = { address: mood, symbol: 'MOOD', name: 'Mood', decimals: 18 }
  const price = { kind: 'price', price: { units: 2n, scale: 0, source: 'feed' } } as const
  const row: Holding = { kind: 'supplied', token, amount: AMOUNT, position, price }
  const data = encodeFunctionData({ abi: ABI, functionName: 'pay', args: [AMOUNT] })
  const exit: HoldingExit = {
    position,
    steps: [{ kind: 'supplied', tokens: [mood], calls: [{ to: mood, data }] }],
    suspects: [mood],
    explain: explainBy({ Refused: 'paused' }),
  }
  return defineFamily({
    name: 'mood',
    aliases: [],
    network: 'evm',
    entries: {},
    builtIn: new Map([[10, true]]),
    getSetting: () => undefined,
    routes: () => [],
    holdings: ({ settings }): HoldingsReader => ({
      chainIds: new Set(settings.keys()),
      open:
        async (_, { client }) =>
        async ({ endpoint, block }, work) => ({
          block: block ?? (await readLatestBlock(endpoint, client.chain.id, work)),
          rows: [row],
          ownTokens: [],
          notRead: [],
          ...(tellsExits && { listExits: () => [exit] }),
        }),
    }),
  })
}

interface Answer {
  readonly complete: boolean
  readonly executed_as: string | null
  readonly arrives_usd: string
  readonly blocked_usd: string
  readonly rows: readonly {
    readonly position: { readonly family: string; readonly token_id?: string } | null
    readonly arrives: { readonly raw: string; readonly usd: string } | null
    readonly blocked_by: string | null
    readonly detail: string | null
  }[]
}

function createClient(rpcUrls: readonly string[] = [faulty.url]): FinanceClient {
  return countedClient({ ...createDevnetChain(devnet), rpcUrls }).client
}

async function ask(
  wallet: Address,
  options?: {
    readonly tellsExits?: boolean
    readonly more?: readonly []
    readonly at?: string
    readonly rpcUrls?: readonly string[]
    readonly clock?: Clock
    readonly client?: FinanceClient
    readonly testimony?: Testimony
  },
) {
  const { client = createClient(options?.rpcUrls) } = options ?? {}
  const { more = [createMoodFamily(options)], at = '', clock = slowClock, testimony } = options ?? {}
  const portfolio = createPortfolio([client], { more, clock, ...(testimony && { testimony }) })
  const { reply, credits } = await portfolio.exit(`wallet=${wallet}&chain_id=10${at}`)
  return { ...(reply.data as Answer), credits }
}

const setMood = (name: (typeof MOODS)[number]) => {
  const data = encodeFunctionData({ abi: ABI, functionName: 'setMood', args: [MOODS.indexOf(name)] })
  return devnet.send([{ from: BANK, to: mood, data }])
}

const find = ({ rows }: Answer, family: string) => {
  const [first] = rows.filter(({ position }) => position?.family === family)
  return first && { arrives: first.arrives?.raw ?? null, blocked_by: first.blocked_by, detail: first.detail }
}

test('a made-up family needs no more than its steps', async () => {
  await setMood('Plain')
  const answer = await ask(WALLET)
  expect(find(answer, 'mood')).toEqual({ arrives: String(AMOUNT), blocked_by: null, detail: null })
  expect(answer).toMatchObject({ executed_as: 'own_code', complete: true, blocked_usd: '0.000000', credits: 15 })
  expect(answer.rows.find(({ position }) => position?.family === 'mood')?.arrives?.usd).toBe('10.000000')
})

for (const [name, blocked_by, arrives] of [
  ['Refuses', 'paused', null],
  ['Loops', 'too_costly', null],
  ['RevertsMebibyte', 'too_costly', null],
  ['Keeps', 'token_refuses', null],
  ['Lies', null, String(AMOUNT)],
] as const) {
  test(`a contract that ${name} blocks its own row only`, async () => {
    await setMood(name)
    const answer = await ask(WALLET)
    expect(find(answer, 'mood')).toMatchObject({ arrives, blocked_by })
    expect(find(answer, 'uniswap-v3')).toMatchObject({ blocked_by: null })
    expect(answer.complete).toBeTrue()
  })
}

test('what a family does not tell, and what no endpoint executes, is unsupported by name', async () => {
  await setMood('Plain')
  const silent = await ask(WALLET, { tellsExits: false })
  expect(find(silent, 'mood')).toMatchObject({ arrives: null, blocked_by: 'unsupported' })
  expect(find(silent, 'uniswap-v3')).toMatchObject({ blocked_by: null })
  expect(silent).toMatchObject({ complete: false, executed_as: 'own_code' })
  for (const how of ['ignore', 'refuse'] as const) {
    faulty.rule(({ method }) => (method === 'eth_simulateV1' ? NO_METHOD : { kind: 'no_overrides', how }))
    const refused = await ask(WALLET)
    faulty.rule(() => undefined)
    expect(find(refused, 'mood')).toMatchObject({ arrives: null, blocked_by: 'unsupported' })
    // The manager of Uniswap V3 answers for itself, to any call that says it is the wallet's.
    expect(find(refused, 'uniswap-v3')).toEqual(find(silent, 'uniswap-v3'))
    expect(refused).toMatchObject({ complete: false, executed_as: 'protocol_multicall' })
    faulty.rule(({ method, params: [call] }) => {
      const isOwn = method === 'eth_call' && 'from' in (call as object)
      return method === 'eth_simulateV1' || isOwn ? NO_METHOD : { kind: 'no_overrides', how }
    })
    const none = await ask(WALLET)
    faulty.rule(() => undefined)
    for (const family of ['mood', 'uniswap-v3']) {
      expect(find(none, family)).toMatchObject({ arrives: null, blocked_by: 'unsupported' })
    }
    expect(none).toMatchObject({ complete: false, executed_as: null, arrives_usd: '0.000000' })
  }
})

const NO_METHOD = { kind: 'error', error: { code: -32_601, message: 'the method does not exist' } } as const

for (const name of MOODS.filter((each) => each !== 'Reenters')) {
  test(`what no endpoint executes is simulated: a contract that ${name}`, async () => {
    await setMood(name)
    const executed = await ask(WALLET)
    faulty.rule(() => ({ kind: 'no_overrides', how: 'refuse' }))
    const simulated = await ask(WALLET)
    faulty.rule(() => undefined)
    expect({ ...simulated, executed_as: executed.executed_as }).toEqual(executed)
    expect(simulated).toMatchObject({ executed_as: 'simulated', complete: true })
  })
}

test('in one call, what used up the gas of two steps is not tried again, nor is any suspect after ten', async () => {
  await setMood('Loops')
  const pay = encodeFunctionData({ abi: ABI, functionName: 'pay', args: [AMOUNT] })
  const loops = (suspects: readonly Address[]): ExitStep => ({ tokens: [], calls: [{ to: mood, data: pay }], suspects })
  const trusted: ExitStep = { tokens: [TOKENS.usdc.address], calls: [] }
  const client = createClient()
  const work = createWork(new AbortController().signal)
  const run = async (steps: readonly ExitStep[]) => {
    const outcome = await client.read(
      async (endpoint, own) => {
        const block = await readLatestBlock(endpoint, 10, own)
        const untilMs = slowClock.monotonicMs() + 20_000
        const query = { wallet: WALLET, units: [{ steps }], lenders: [], block, clock: slowClock, untilMs }
        return await executeUnits(endpoint, query, own)
      },
      { work, budgetMs: 20_000 },
    )
    const [unit] = outcome.units
    return unit?.kind === 'run' ? unit.steps.map(({ kind }): string => kind) : unit?.kind
  }
  const [first, second] = [toWalletAddress('suspect 1'), toWalletAddress('suspect 2')]
  expect(
    await run([...Array.from({ length: 40 }, () => loops([first])), loops([second]), loops([first, second]), trusted]),
  ).toEqual([
    ...['too_costly', 'too_costly'],
    ...Array.from({ length: 38 }, () => 'suspected'),
    ...['too_costly', 'too_costly', 'done'],
  ])
  const others = Array.from({ length: 40 }, (_, index) => loops([toWalletAddress(`suspect of its own ${index}`)]))
  expect(await run([...others, trusted])).toEqual([
    ...Array.from({ length: 10 }, () => 'too_costly'),
    ...Array.from({ length: 30 }, () => 'suspected'),
    'done',
  ])
  // Without suspects the gas of the call is used up, so that nothing of it is known.
  expect(await run([...Array.from({ length: 40 }, () => loops([])), trusted])).toBe('too_costly')
}, 30_000)

test('an endpoint that simulates later times alone is asked for a second later from then on', async () => {
  await setMood('Plain')
  const { timestamp } = await devnet.client.getBlock()
  const error = { code: -38_021, message: 'block timestamps must be in order' }
  const times: bigint[] = []
  faulty.rule(({ method, params: [simulation] }) => {
    if (method !== 'eth_simulateV1') return { kind: 'no_overrides', how: 'refuse' }
    const { blockStateCalls } = simulation as { readonly blockStateCalls: readonly Simulated[] }
    const time = BigInt(blockStateCalls[0]?.blockOverrides.time ?? 0)
    times.push(time - timestamp)
    return time <= timestamp ? { kind: 'error', error } : undefined
  })
  const answer = await ask(WALLET)
  faulty.rule(() => undefined)
  expect(answer).toMatchObject({ executed_as: 'simulated', complete: true, blocked_usd: '0.000000' })
  expect([times[0], new Set(times.slice(1))]).toEqual([0n, new Set([1n])])
})

interface Simulated {
  readonly blockOverrides: { readonly time: string }
}

test('an endpoint that does not execute leaves it to another', async () => {
  await setMood('Plain')
  for (const how of ['ignore', 'refuse'] as const) {
    faulty.rule(() => ({ kind: 'no_overrides', how }))
    const answer = await ask(WALLET, { rpcUrls: [faulty.url, devnet.rpcUrl] })
    faulty.rule(() => undefined)
    expect(find(answer, 'mood')).toEqual({ arrives: String(AMOUNT), blocked_by: null, detail: null })
    expect(answer).toMatchObject({ complete: true, executed_as: 'own_code' })
  }
})

test('while an endpoint that may execute it does not answer, the chain cannot be read', async () => {
  await setMood('Plain')
  const executing = await startFaultyRpc(devnet.rpcUrl)
  const client = createClient([executing.url, faulty.url])
  faulty.rule(({ method }) => (method === 'eth_simulateV1' ? NO_METHOD : { kind: 'no_overrides', how: 'refuse' }))
  expect(await ask(WALLET, { client })).toMatchObject({ executed_as: 'own_code' })
  executing.rule(() => ({ kind: 'http', status: 502, body: '' }))
  for (let request = 0; request < 6; request++) {
    executing.reset()
    expect(await ask(WALLET, { client }).catch((error: unknown) => error)).toBeInstanceOf(UnavailableError)
  }
  // After some failures it is asked no more before a probe succeeds.
  expect(executing.seen.filter(({ method }) => method === 'eth_call')).toEqual([])
  faulty.rule(() => undefined)
  await executing.stop()
})

test('what is not tried in time says so, and the wallet is answered', async () => {
  await setMood('Plain')
  const clock = createPatientClock()
  let elapsedMs = 0
  const answer = await ask(WALLET, { clock: { ...clock, monotonicMs: () => (elapsedMs += 10_000) } })
  for (const family of ['mood', 'uniswap-v3']) {
    const detail = 'It was not tried in time'
    expect(find(answer, family)).toEqual({ arrives: null, blocked_by: 'too_costly', detail })
  }
  expect(answer).toMatchObject({ complete: true, executed_as: 'own_code', arrives_usd: '0.000000' })
})

test('an answer that is recorded for a receipt is refused if it was not tried in time', async () => {
  await setMood('Plain')
  const { testimony } = recordTestimony(new Map())
  expect(await ask(WALLET, { testimony })).toMatchObject({ complete: true })
  const clock = createPatientClock()
  let elapsedMs = 0
  const late = ask(WALLET, { testimony, clock: { ...clock, monotonicMs: () => (elapsedMs += 10_000) } })
  await expect(late).rejects.toThrow('executing it takes too long: ask again, or without a receipt')
})

test('a wallet with code of its own is simulated with it, else is told that it was replaced', async () => {
  await setMood('Plain')
  const simulated = await ask(contract)
  expect(find(simulated, 'uniswap-v3')).toMatchObject({ blocked_by: null })
  expect(simulated).toMatchObject({ complete: true, executed_as: 'simulated' })
  faulty.rule(({ method }) => (method === 'eth_simulateV1' ? NO_METHOD : undefined))
  const replaced = await ask(contract)
  faulty.rule(() => undefined)
  expect({ ...replaced, executed_as: simulated.executed_as, complete: true }).toEqual(simulated)
  expect(replaced).toMatchObject({ complete: false, executed_as: 'replaced_code' })
})

test('a simulation that is late does not replace what was executed', async () => {
  await setMood('Refuses')
  const clock = createPatientClock()
  let addedMs = 0
  // What refuses takes a second simulation, for which it is too late.
  faulty.rule(({ method }) => {
    if (method === 'eth_simulateV1') addedMs = 60_000
    return undefined
  })
  const answer = await ask(contract, { clock: { ...clock, monotonicMs: () => clock.monotonicMs() + addedMs } })
  faulty.rule(() => undefined)
  expect(addedMs).toBeGreaterThan(0)
  expect(find(answer, 'uniswap-v3')).toMatchObject({ blocked_by: null })
  expect(find(answer, 'mood')).toMatchObject({ blocked_by: 'paused' })
  expect(answer).toMatchObject({ complete: false, executed_as: 'replaced_code' })
})

test('of a wallet with code of its own, triggers know no figure while its simulation fails', async () => {
  await setMood('Plain')
  const { client } = countedClient({ ...createDevnetChain(devnet), rpcUrls: [faulty.url] })
  const { watched } = createPortfolio([client], { more: [createMoodFamily()] })
  const watcher = watched.watcher?.()
  if (watcher === undefined || !('chainIds' in watcher)) throw new Error('Cannot find the watcher')
  const work = createWork(new AbortController().signal)
  const block = await client.read((endpoint, own) => readLatestBlock(endpoint, 10, own), { work })
  const sample = async () => {
    const [figures] = await watcher.confirm([{ wallet: contract }], { client, block }, work)
    return figures === 'gone' ? figures : figures?.text('exit_usd')
  }
  const simulated = (await ask(contract)).arrives_usd
  expect(await sample()).toBe(simulated)
  faulty.rule(({ method }) => (method === 'eth_simulateV1' ? { kind: 'http', status: 503, body: '' } : undefined))
  expect(await sample()).toBeNull()
  faulty.rule(({ method }) => (method === 'eth_simulateV1' ? NO_METHOD : undefined))
  expect(await sample()).toBe(simulated)
  faulty.rule(() => undefined)
})

test('an empty wallet costs nothing, and what is in a wallet already arrives', async () => {
  const empty = await ask(toWalletAddress('empty exit'), { more: [] })
  expect(empty).toMatchObject({ rows: [], credits: 0, executed_as: null, complete: true, arrives_usd: '0.000000' })
  const holder = toWalletAddress('holds alone')
  const { address } = TOKENS.usdc
  const abi = parseAbi(['function transfer(address, uint256)'])
  const data = encodeFunctionData({ abi, functionName: 'transfer', args: [holder, 7_000_000n] })
  await devnet.send([{ from: BANK, to: address, data }])
  const answer = await ask(holder, { more: [] })
  expect(answer).toMatchObject({ credits: 15, executed_as: null, complete: true, blocked_usd: '0.000000' })
  expect(answer.rows).toMatchObject([{ position: null, arrives: { raw: '7000000' }, blocked_by: null }])
})

test('a past block is executed as it was', async () => {
  await setMood('Plain')
  const block = await devnet.client.getBlockNumber()
  await setMood('Refuses')
  const before = await ask(WALLET, { at: `&at_block=${block}` })
  expect(find(before, 'mood')).toMatchObject({ arrives: String(AMOUNT), blocked_by: null })
  expect(before).toMatchObject({ executed_as: 'own_code', complete: true })
  expect(find(await ask(WALLET), 'mood')).toMatchObject({ arrives: null, blocked_by: 'paused' })
})

test('of more positions than are executed, the worthiest arrive', async () => {
  const owner = toWalletAddress('has many positions')
  const [pool] = Object.values(devnet.pools)
  if (pool === undefined) throw new Error('Cannot find a pool')
  const range = rangeAround(pool, -600, 600)
  const worth = (index: number) => amounts(pool, index < 10 ? 10 : 100)
  await devnet.v3.mintMany(
    Array.from({ length: UNITS_MAX + 10 }, (_, index) => ({ pool, ...range, ...worth(index), recipient: owner })),
  )
  const { rows, complete } = await ask(owner, { more: [] })
  const costly = rows.filter(({ blocked_by }) => blocked_by === 'too_costly')
  const ids = (list: Answer['rows']) => new Set(list.map(({ position }) => Number(position?.['token_id'])))
  expect(ids(rows).size).toBe(UNITS_MAX + 10)
  expect([...ids(costly)].sort()).toEqual(
    [...ids(rows)]
      .sort((a, b) => a - b)
      .slice(0, 10)
      .sort(),
  )
  const details = new Set(costly.map(({ detail }) => detail))
  expect(details).toEqual(new Set(['It was not tried, because the wallet has 300 positions that are worth more']))
  expect(rows.filter(({ blocked_by }) => blocked_by === null).length).toBe(rows.length - costly.length)
  expect(complete).toBeTrue()
}, 60_000)
