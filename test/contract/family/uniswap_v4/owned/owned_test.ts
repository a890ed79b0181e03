import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { createWork } from '../../../../../src/lib/async/work.ts'
import { BANK, toWalletAddress } from '../../../../devnet/addresses.ts'
import { ownCreationCode } from '../../../../devnet/artifacts.ts'
import { type Devnet, startDevnet } from '../../../../devnet/mod.ts'
import { rangeAround } from '../../../../devnet/ticks.ts'
import type { Transaction } from '../../../../devnet/transaction.ts'
import { approveCall, burnCall, mintCall, transferCall } from '../../../../devnet/uniswap_v4/calls.ts'
import type { UniswapV4 } from '../../../../devnet/uniswap_v4/mod.ts'
import { caseCount } from '../../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../../support/database.ts'
import { type LogProxy, startLogProxy } from '../../../../support/family/aave_v3/event/log_proxy.ts'
import { type Fault, type FaultyRpc, type SeenRequest, startFaultyRpc } from '../../../../support/rpc.ts'
import { DEPLOYMENT } from '../support.ts'
import { blockAt, DEPTH, type Lister, readNewest, readTruth, startLister } from './world.ts'

const BUILD_LIMIT_MS = 120_000
const LIMIT_MS = 120_000
const NEXT_ID_SLOT = '0x8'
const NO_LOGS: Fault = { kind: 'error', error: { code: -32_601, message: 'the method eth_getLogs does not exist' } }
const patient = createWork(new AbortController().signal)

const PAST_BLOCKS = caseCount(50, 8)

let devnet: Devnet
let v4: UniswapV4
let database: TestDatabase
let faulty: FaultyRpc
let lister: Lister
const closing: { close(): Promise<void> }[] = []

beforeAll(async () => {
  devnet = await startDevnet({ ageSec: 86_400 })
  v4 = await devnet.uniswapV4()
  faulty = await startFaultyRpc(devnet.rpcUrl)
  database = await testDatabase()
  lister = startLister(devnet, { database, rpcUrls: [faulty.url] })
}, BUILD_LIMIT_MS)
beforeEach(() => {
  faulty.rule(() => undefined)
  faulty.reset()
})
afterEach(async () => {
  for (const each of closing.splice(0)) await each.close()
})
afterAll(async () => {
  await lister?.close()
  await faulty?.stop()
  await database?.close()
  await devnet?.stop()
}, BUILD_LIMIT_MS)

async function mine(blocks: number): Promise<void> {
  await devnet.rpc.call('anvil_mine', `0x${blocks.toString(16)}`)
}

function started(options: Omit<Parameters<typeof startLister>[1], 'database'>, kept = database): Lister {
  const made = startLister(devnet, { database: kept, ...options })
  closing.push(made)
  return made
}

async function emptyDatabase(): Promise<TestDatabase> {
  const made = await testDatabase()
  closing.push(made)
  return made
}

const mintTo = (recipient: Address): Transaction =>
  mintCall({ pool: v4.pools.plain, ...rangeAround(v4.pools.plain, -600, 600), liquidity: 10n ** 12n, recipient })
const mint = (recipient: Address) =>
  v4.mint({ pool: v4.pools.plain, ...rangeAround(v4.pools.plain, -600, 600), liquidity: 10n ** 12n, recipient })

async function deploy(data: Hex): Promise<Address> {
  const [receipt] = await devnet.send([{ from: BANK, data }])
  if (!receipt?.contractAddress) throw new Error('Cannot deploy a contract')
  return receipt.contractAddress
}

/** Scans need what it takes away: code put in the place of the manager's. */
const withoutOverrides =
  (how: 'ignore' | 'refuse') =>
  ({ method, params }: SeenRequest): Fault | undefined =>
    method === 'eth_call' && params.length > 2 ? { kind: 'no_overrides', how } : undefined

const WAYS = {
  scan: () => undefined,
  'logs of a node that ignores overrides': withoutOverrides('ignore'),
  'logs of a node that refuses overrides': withoutOverrides('refuse'),
} as const

for (const [way, rule] of Object.entries(WAYS)) {
  test(
    `a position comes and goes by mint, transfer, approval and burn, final or not, by ${way}`,
    async () => {
      faulty.rule(rule)
      const [wallet, other] = [toWalletAddress(`owned ${way}`), toWalletAddress(`owned other ${way}`)]
      const seen: number[] = []
      const both = async () => {
        for (const each of [wallet, other]) expect(await lister.ask(each)).toEqual(await readTruth(devnet, each))
        seen.push((await readTruth(devnet, wallet)).length)
      }
      await both()
      const first = await mint(wallet)
      await both()
      const second = await mint(other)
      await mine(DEPTH)
      await devnet.send([transferCall({ tokenId: second, owner: other, to: wallet })])
      await both()
      await devnet.send([
        approveCall({ tokenId: first, owner: wallet, spender: other }),
        transferCall({ tokenId: first, owner: wallet, to: other, from: other }),
      ])
      await both()
      // In and out and in again, within one block.
      await devnet.send([
        transferCall({ tokenId: first, owner: other, to: wallet }),
        transferCall({ tokenId: first, owner: wallet, to: other }),
        transferCall({ tokenId: first, owner: other, to: wallet }),
        mintTo(wallet),
        mintTo(wallet),
      ])
      await both()
      await mine(DEPTH)
      await both()
      await devnet.send([burnCall({ pool: v4.pools.plain, tokenId: second, owner: wallet })])
      await both()
      expect(seen).toEqual([0, 1, 2, 1, 4, 4, 3])
    },
    LIMIT_MS,
  )
}

test('positions of a contract are listed like those of a wallet', async () => {
  const contract = await deploy(ownCreationCode('Actor'))
  const [tokenId] = [await mint(toWalletAddress('owned payer')), await mint(contract)]
  await devnet.send([transferCall({ tokenId, owner: toWalletAddress('owned payer'), to: contract })])
  expect(await lister.ask(contract)).toEqual(await readTruth(devnet, contract))
  expect(await readTruth(devnet, contract)).toHaveLength(2)
})

test(
  `scan and logs give the same list at ${PAST_BLOCKS} blocks of the past`,
  async () => {
    const wallets = Array.from({ length: 3 }, (_, index) => toWalletAddress(`owned past ${index}`))
    const pick = (index: number) => wallets[index % wallets.length] as Address
    const from = await devnet.client.getBlockNumber()
    const held: { tokenId: bigint; owner: Address }[] = []
    for (let round = 0; round < PAST_BLOCKS; round++) {
      const some = held[(round * 7) % Math.max(1, held.length)]
      if (round % 3 === 0 || some === undefined) {
        held.push({ tokenId: await mint(pick(round)), owner: pick(round) })
      } else if (round % 11 === 0) {
        await devnet.send([burnCall({ pool: v4.pools.plain, ...some })])
        held.splice(held.indexOf(some), 1)
      } else {
        await devnet.send([transferCall({ ...some, to: pick(round) })])
        some.owner = pick(round)
      }
    }
    await mine(DEPTH)
    const [byScan, byLogs] = [
      started({ rpcUrls: [faulty.url] }, await emptyDatabase()),
      started({ rpcUrls: [faulty.url] }, await emptyDatabase()),
    ]
    for (let round = 1n; round <= BigInt(PAST_BLOCKS); round++) {
      const wallet = pick(Number(round))
      const truth = await readTruth(devnet, wallet, from + round)
      const block = await blockAt(devnet, from + round)
      faulty.rule(({ method }) => (method === 'eth_getLogs' ? NO_LOGS : undefined))
      expect([...(await byScan.find(asked(byScan, wallet), block, patient))].sort(ascending)).toEqual(truth)
      expect(await byScan.ask(wallet, from + round)).toEqual(truth)
      faulty.rule(withoutOverrides('refuse'))
      expect(await byLogs.ask(wallet, from + round)).toEqual(truth)
    }
  },
  LIMIT_MS,
)

function asked({ client }: Lister, wallet: Address, deployment = DEPLOYMENT) {
  return { wallet, client, deployment }
}

function ascending(a: bigint, b: bigint): number {
  return Number(a - b)
}

test(
  'an endpoint that omits a Transfer never shortens a list: another one completes it, alone it is detected',
  async () => {
    const wallet = toWalletAddress('owned dropped')
    const ids = [await mint(wallet), await mint(wallet), await mint(wallet)]
    await mine(DEPTH)
    const proxy: LogProxy = startLogProxy(faulty.url)
    closing.push({ close: () => proxy.stop() })
    const lost = `0x${(ids[1] ?? 0n).toString(16).padStart(64, '0')}`
    proxy.drop(({ topics }) => topics[3] === lost)
    faulty.rule(withoutOverrides('refuse'))
    const alone = started({ rpcUrls: [proxy.url] }, await emptyDatabase())
    expect(await alone.ask(wallet)).toContain('check "ownership"')
    const healed = started({ rpcUrls: [proxy.url, faulty.url] }, await emptyDatabase())
    expect(await healed.ask(wallet)).toEqual(ids)
    // Where code can be put in the manager's place, the logs do not matter.
    faulty.rule(() => undefined)
    expect(await alone.ask(wallet)).toEqual(ids)
  },
  LIMIT_MS,
)

test(
  'an endpoint that answers from an old block or omits an id never shortens a list',
  async () => {
    const wallet = toWalletAddress('owned of old')
    const ids = [await mint(wallet), await mint(wallet)]
    const old = await devnet.client.getBlockNumber()
    ids.push(await mint(wallet))
    const isScan = ({ method, params }: SeenRequest) =>
      method === 'eth_call' &&
      JSON.stringify(params[2] ?? {})
        .toLowerCase()
        .includes(DEPLOYMENT.positionManager.toLowerCase())
    const liar = await startFaultyRpc(devnet.rpcUrl)
    closing.push({ close: () => liar.stop() })
    const answers = new Map<string, unknown>()
    /** The node's answer to the same call at the old block. */
    const before = async (params: readonly unknown[]) => {
      answers.set(
        JSON.stringify(params),
        await devnet.rpc.call('eth_call', params[0], `0x${old.toString(16)}`, params[2]),
      )
    }
    const lies: Readonly<Record<string, (request: SeenRequest) => Fault | undefined>> = {
      'answers of an old block': ({ params, ...request }) =>
        isScan({ params, ...request })
          ? { kind: 'change', change: () => answers.get(JSON.stringify(params)) ?? '0x' }
          : undefined,
      'a scan without its last id': (request) =>
        isScan(request)
          ? {
              kind: 'change',
              change: (result) => {
                const text = String(result)
                const taken = Number.parseInt(text.slice(2 + 57 * 2, 2 + 61 * 2), 16)
                const fewer = Math.max(0, taken - 1)
                  .toString(16)
                  .padStart(8, '0')
                return `${text.slice(0, 2 + 57 * 2)}${fewer}${text.slice(2 + 61 * 2, taken > 0 ? -64 : undefined)}`
              },
            }
          : undefined,
    }
    for (const lie of Object.values(lies)) {
      const rule = (request: SeenRequest): Fault | undefined => {
        if (request.method === 'eth_getLogs') return NO_LOGS
        return lie(request)
      }
      liar.rule((request) => {
        if (isScan(request)) return { kind: 'meanwhile', done: () => before(request.params) }
        return rule(request)
      })
      const alone = started({ rpcUrls: [liar.url] }, await emptyDatabase())
      await alone.ask(wallet)
      liar.rule(rule)
      const answer = await alone.ask(wallet)
      expect(typeof answer === 'string' ? 'refused' : answer).toEqual('refused')
      const beside = started({ rpcUrls: [liar.url, faulty.url] }, await emptyDatabase())
      const besides = await beside.ask(wallet)
      if (typeof besides !== 'string') expect(besides).toEqual(ids)
    }
  },
  LIMIT_MS,
)

test(
  'a manager that stores its owners elsewhere is read by logs, and refused without them',
  async () => {
    const abi = parseAbi(['function mint(address to)'])
    const manager = await deploy(ownCreationCode('ShiftedManager'))
    const wallet = toWalletAddress('owned elsewhere')
    const data = encodeFunctionData({ abi, functionName: 'mint', args: [wallet] })
    const other = encodeFunctionData({ abi, functionName: 'mint', args: [BANK] })
    await devnet.send([data, other, data].map((each) => ({ from: BANK, to: manager, data: each })))
    const deployment = { ...DEPLOYMENT, positionManager: manager }
    const start = async () => started({ rpcUrls: [faulty.url], deployment }, await emptyDatabase())
    const blind = await start()
    faulty.rule(({ method }) => (method === 'eth_getLogs' ? NO_LOGS : undefined))
    const block = await readNewest(blind)
    const found = blind.find(asked(blind, wallet, deployment), block, patient)
    expect(
      await found.then(
        () => 'a list',
        () => 'an error',
      ),
    ).toBe('an error')
    faulty.rule(() => undefined)
    const seeing = await start()
    const ids = await seeing.find(asked(seeing, wallet, deployment), block, patient)
    expect([...ids].sort(ascending)).toEqual([1n, 3n])
  },
  LIMIT_MS,
)

test(
  'another process checks the ids of a scan at a final block first, in one round trip',
  async () => {
    const wallet = toWalletAddress('owned kept')
    const ids = [await mint(wallet), await mint(wallet)]
    for (let index = 0; index < 5; index++) await mint(BANK)
    await mine(DEPTH)
    const kept = await emptyDatabase()
    expect(await started({ rpcUrls: [faulty.url] }, kept).ask(wallet)).toEqual(ids)
    const rows = () =>
      kept.db.run<{ count: string }>(
        "select count(*)::text as count from wallet_entry where wallet = decode($1, 'hex')",
        [wallet.slice(2)],
      )
    for (let tries = 0; (await rows())[0]?.count !== '2' && tries < 200; tries++) await Bun.sleep(20)
    expect((await rows())[0]?.count).toBe('2')
    const young = await mint(wallet)
    const other = started({ rpcUrls: [faulty.url] }, kept)
    faulty.reset()
    expect(await other.ask(wallet)).toEqual([...ids, young])
    expect(faulty.seen.some(({ method }) => method === 'eth_getLogs')).toBe(false)
  },
  LIMIT_MS,
)

test(
  'a scan of many calls continues in the background and reports its progress',
  async () => {
    const wallet = toWalletAddress('owned among millions')
    const ids = [await mint(wallet)]
    const snapshot = await devnet.rpc.call<Hex>('evm_snapshot')
    const next = 1_200_000n
    const { positionManager } = DEPLOYMENT
    await devnet.rpc.call(
      'anvil_setStorageAt',
      positionManager,
      NEXT_ID_SLOT,
      `0x${next.toString(16).padStart(64, '0')}`,
    )
    await mine(1)
    // Logs would take thousands of requests.
    const deployment = { ...DEPLOYMENT, startBlock: -100_000_000 }
    const waiting = started({ rpcUrls: [faulty.url], deployment, waitMs: 20 }, await emptyDatabase())
    const block = await readNewest(waiting)
    const find = () => waiting.find(asked(waiting, wallet, deployment), block, patient)
    const told = await find().then(String, String)
    expect(told).toMatch(/are being looked for: \d+ % of 1,200,000 ids done/)
    let found: readonly bigint[] | undefined
    for (let tries = 0; found === undefined && tries < 400; tries++) {
      found = await find().catch(() => undefined)
      await Bun.sleep(25)
    }
    expect(found).toEqual(ids)
    await waiting.close()
    await devnet.rpc.call('evm_revert', snapshot)
  },
  LIMIT_MS,
)
