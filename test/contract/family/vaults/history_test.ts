import { afterAll, beforeAll, expect, test } from 'bun:test'
import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  formatUnits,
  getContractAddress,
  type Hex,
  parseAbi,
  parseAbiParameters,
  toEventSelector,
  zeroAddress,
} from 'viem'
import { createChainClient } from '../../../../src/chain/evm/evm_client.ts'
import { decodeLogs } from '../../../../src/family/vaults/event/decode.ts'
import { foldShares, type VaultFlow } from '../../../../src/family/vaults/event/flow.ts'
import { createFilters } from '../../../../src/family/vaults/event/log.ts'
import { VAULTS } from '../../../../src/family/vaults/mod.ts'
import type { VaultEntry } from '../../../../src/family/vaults/table.ts'
import { parseLogs } from '../../../../src/history/logs/parse_logs.ts'
import { createHistory, type HistoryService } from '../../../../src/history/mod.ts'
import { IncompleteError } from '../../../../src/history/stream.ts'
import { UnavailableError } from '../../../../src/lib/error.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { placeReplay } from '../../../devnet/aave_v4/replay.ts'
import { BANK, toWalletAddress } from '../../../devnet/addresses.ts'
import { ownCreationCode } from '../../../devnet/artifacts.ts'
import { setFeedCall } from '../../../devnet/contracts.ts'
import { createSend, type Send } from '../../../devnet/transaction.ts'
import { vaultContracts } from '../../../devnet/vaults/compile.ts'
import { REGISTRIES, recordCall } from '../../../devnet/vaults/record.ts'
import { callRoute, type RouteTestRequest } from '../../../support/call_route.ts'
import { caseCount } from '../../../support/cases.ts'
import { type TestDatabase, testDatabase } from '../../../support/database.ts'
import { type ReplayNode, startReplayNode } from '../../../support/family/replay_node.ts'
import { createFamilyRoutes } from '../../../support/family.ts'
import { mulberry } from '../../../support/random.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../../support/test_clock.ts'

const LIMIT_MS = 120_000
const ABI = parseAbi([
  'function mint(address account, uint256 amount)',
  'function mint(uint256 shares, address receiver) returns (uint256)',
  'function burn(address account, uint256 amount)',
  'function approve(address spender, uint256 amount) returns (bool)',
  'function transfer(address to, uint256 amount) returns (bool)',
  'function deposit(uint256 assets, address receiver) returns (uint256)',
  'function withdraw(uint256 assets, address receiver, address owner) returns (uint256)',
  'function redeem(uint256 shares, address receiver, address owner) returns (uint256)',
  'function convertToAssets(uint256 shares) view returns (uint256)',
  'function balanceOf(address account) view returns (uint256)',
])
const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
type Call = (typeof ABI)[number]['name']
const encode = (functionName: Call, ...args: readonly unknown[]): Hex =>
  encodeFunctionData({ abi: ABI, functionName, args } as never)

/** Only acts for itself, and gets no shares from others. */
const HERMIT = toWalletAddress('hermit')
const WALLETS = [HERMIT, toWalletAddress('second saver'), toWalletAddress('third saver')] as const
const START = 10n ** 24n
const ACTS = caseCount(400, 60)
/** The first contracts that the bank makes. */
const ASSET = getContractAddress({ from: BANK, nonce: 0n })
const FEED = getContractAddress({ from: BANK, nonce: 1n })

let chain: ReplayNode
let faulty: FaultyRpc
let database: TestDatabase
let send: Send
let vault: Address

const call = (to: Address, data: Hex, block: Hex | 'latest' = 'latest') =>
  chain.rpc.call<Hex>('eth_call', { to, data }, block)
const read = async (to: Address, data: Hex, block?: Hex) => BigInt(await call(to, data, block))
const getAssets = (wallet: Address) => read(ASSET, encode('balanceOf', wallet))
const getShares = (wallet: Address) => read(vault, encode('balanceOf', wallet))

/** What happened to a wallet's shares, counted by what it had before and after, not by logs. */
interface Act {
  readonly type: VaultFlow['kind']
  readonly block: number
  readonly shares: bigint
  readonly assets: bigint
  readonly usd8: bigint
}
const acts = new Map<Address, Act[]>(WALLETS.map((wallet) => [wallet, []]))
let usd8 = 99_900_000n

/** A round whose time is that of its block, as an oracle sends it. */
async function setPrice(price: bigint): Promise<void> {
  usd8 = price
  const { timestamp } = await chain.rpc.call<{ timestamp: Hex }>('eth_getBlockByNumber', 'latest', false)
  await send([setFeedCall(FEED, { answer: price, updatedAtSec: BigInt(timestamp) })])
}

/** Sends one transaction in a block of its own, and counts what it did to wallets. */
async function doAct(
  transaction: { readonly from: Address; readonly data: Hex },
  types: Partial<Record<Address, Act['type']>>,
) {
  const holders = [...WALLETS, vault]
  const count = async () => ({
    assets: new Map(await Promise.all(holders.map(async (each) => [each, await getAssets(each)] as const))),
    shares: new Map(await Promise.all(holders.map(async (each) => [each, await getShares(each)] as const))),
  })
  const before = await count()
  const [receipt] = await send([{ ...transaction, to: vault }])
  const after = await count()
  const block = receipt?.blockNumber ?? '0x0'
  // What left or entered the vault, which of these contracts alone holds what wallets do not.
  const moved = (after.assets.get(vault) ?? 0n) - (before.assets.get(vault) ?? 0n)
  for (const [wallet, type] of Object.entries(types) as [Address, Act['type']][]) {
    const change = (after.shares.get(wallet) ?? 0n) - (before.shares.get(wallet) ?? 0n)
    const shares = change < 0n ? -change : change
    const isAlone = type === 'send' || type === 'receive'
    const worth = isAlone ? await read(vault, encode('convertToAssets', shares), block) : moved
    acts.get(wallet)?.push({ type, block: Number(block), shares, assets: worth < 0n ? -worth : worth, usd8 })
  }
}

/** A life of many acts in OpenZeppelin's vault. */
async function live(): Promise<void> {
  const random = mulberry(20261130)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const others = WALLETS.filter((each) => each !== HERMIT)
  for (let act = 0; act < ACTS; act++) {
    const from = pick(WALLETS)
    const held = await getShares(from)
    const part = (held * BigInt(Math.floor(random() * 1_000))) / 1_500n
    const amount = BigInt(Math.floor(random() * 1e15)) * 7_919n + 1n
    const receiver = from === HERMIT ? HERMIT : pick([from, ...others])
    const kinds = ['deposit', 'mint', 'donate', 'lose', 'price'] as const
    const kind = pick([
      ...kinds,
      ...(part === 0n ? [] : (['withdraw', 'redeem', 'transfer', 'penalty', 'make', 'destroy'] as const)),
    ])
    if (kind === 'deposit') await doAct({ from, data: encode('deposit', amount, receiver) }, { [receiver]: 'deposit' })
    if (kind === 'mint')
      await doAct({ from, data: encode('mint', amount / 2n + 1n, receiver) }, { [receiver]: 'deposit' })
    if (kind === 'donate') await send([{ from: BANK, to: ASSET, data: encode('mint', vault, amount / 50n) }])
    if (kind === 'lose')
      await send([{ from: BANK, to: ASSET, data: encode('burn', vault, (await getAssets(vault)) / 97n) }])
    if (kind === 'price') await setPrice(90_000_000n + BigInt(Math.floor(random() * 2e7)))
    if (kind === 'redeem') await doAct({ from, data: encode('redeem', part, receiver, from) }, { [from]: 'withdraw' })
    if (kind === 'withdraw') {
      const assets = await read(vault, encode('convertToAssets', part))
      if (assets > 0n) await doAct({ from, data: encode('withdraw', assets, receiver, from) }, { [from]: 'withdraw' })
    }
    if (from === HERMIT) continue
    const to = pick(others.filter((each) => each !== from))
    if (kind === 'transfer')
      await doAct({ from, data: encode('transfer', to, part) }, { [from]: 'send', [to]: 'receive' })
    if (kind === 'make') await doAct({ from, data: encode('mint', to, part) }, { [to]: 'receive' })
    if (kind === 'destroy') await doAct({ from, data: encode('burn', from, part) }, { [from]: 'send' })
    if (kind === 'penalty') {
      const before = await getShares(from)
      const [receipt] = await send([{ from, to: vault, data: encode('redeem', part, vault, from) }])
      const paid = BigInt(
        receipt?.logs.find(
          ({ address, topics }) => address.toLowerCase() === ASSET.toLowerCase() && topics.length === 3,
        )?.data ?? 0,
      )
      acts.get(from)?.push({
        type: 'penalty',
        block: Number(receipt?.blockNumber),
        shares: before - (await getShares(from)),
        assets: paid,
        usd8,
      })
    }
  }
}

beforeAll(async () => {
  database = await testDatabase()
  chain = await startReplayNode({ feeds: new Map([[ASSET, FEED]]) })
  faulty = await startFaultyRpc(chain.anvil.rpcUrl)
  send = createSend(chain.rpc)
  const codes = await vaultContracts()
  const create = async (data: Hex) => {
    const [receipt] = await send([{ from: BANK, data }])
    return receipt?.contractAddress as Address
  }
  expect((await create(codes.ERC20Mock)).toLowerCase()).toBe(ASSET.toLowerCase())
  expect(
    (
      await create(
        ownCreationCode('Feed', encodeAbiParameters(parseAbiParameters('uint8, string, int256'), [8, 'asset', usd8])),
      )
    ).toLowerCase(),
  ).toBe(FEED.toLowerCase())
  vault = await create(`${codes.ERC4626Mock}${encodeAbiParameters([{ type: 'address' }], [ASSET]).slice(2)}`)
  await setPrice(usd8)
  await send(
    WALLETS.flatMap((wallet) => [
      { from: BANK, to: ASSET, data: encode('mint', wallet, START) },
      { from: wallet, to: ASSET, data: encode('approve', vault, 2n ** 255n) },
    ]),
  )
  // Without it the first depositor would get what is donated before.
  await send([
    { from: BANK, to: ASSET, data: encode('mint', BANK, 10n ** 21n) },
    { from: BANK, to: ASSET, data: encode('approve', vault, 2n ** 255n) },
    { from: BANK, to: vault, data: encode('deposit', 10n ** 21n, BANK) },
  ])
  await live()
  // The last of them must be final.
  await chain.rpc.call('anvil_mine', '0x40')
}, LIMIT_MS)
afterAll(async () => {
  await faulty?.stop()
  await chain?.anvil.stop()
  await database?.close()
}, LIMIT_MS)

/** Routes with a history of their own, over an endpoint. */
function createCaller(
  db: TestDatabase,
  { url = chain.anvil.rpcUrl, entries }: { readonly url?: string; readonly entries?: readonly VaultEntry[] } = {},
) {
  const client = createChainClient({
    chain: { ...chain.client.chain, rpcUrls: [url] },
    clock: createHurriedClock(),
    log: silentLog,
  })
  const history: HistoryService = createHistory({
    clients: new Map([[1, client]]),
    db: db.db,
    clock: slowClock,
    log: silentLog,
    holder: 'test',
  })
  const routes = createFamilyRoutes(VAULTS, {
    rows: [[1, { vaults: entries ?? [{ address: vault, kind: 'erc4626', startBlock: 1 }] }]],
    clients: [client],
    db: db.db,
    history,
  })
  const ask = async (
    name: 'pnl' | 'events',
    query: string,
    { at = vault, reads }: { readonly at?: Address; readonly reads?: RouteTestRequest['reads'] } = {},
  ) => {
    const route = routes.find(({ path }) => path.endsWith(`/:vault/${name}`))
    if (route === undefined) throw new Error('Cannot find the route')
    for (;;) {
      try {
        return await callRoute(route, { params: { vault: at }, query: `chain_id=1&${query}`, reads })
      } catch (error) {
        if (!(error instanceof UnavailableError) || !error.message.includes('is being read')) throw error
      }
    }
  }
  return { ask, close: () => history.close() }
}

interface WireAmount {
  readonly raw: string
  readonly usd: string | null
}
interface WirePnl
  extends Readonly<
    Record<'deposited' | 'withdrawn' | 'received' | 'sent' | 'penalties', { readonly assets: WireAmount }>
  > {
  readonly shares: { readonly raw: string }
  readonly worth: WireAmount
  readonly pnl_raw: string
  readonly pnl_usd: string | null
  readonly is_closed: boolean
  readonly usd_missing: string | null
}
interface WireEvent {
  readonly type: string
  readonly block_number: number
  readonly shares: { readonly raw: string }
  readonly assets: WireAmount
  readonly counterparty: Address
}

const WIRE = {
  deposit: 'deposited',
  withdraw: 'withdrawn',
  receive: 'received',
  send: 'sent',
  penalty: 'penalties',
} as const

test(
  'profit and loss is what wallets got and have less what they gave, by their balances before and after each act',
  async () => {
    const { ask, close } = createCaller(database)
    const seen = new Set<string>()
    for (const wallet of WALLETS) {
      const { reply, credits } = await ask('pnl', `wallet=${wallet}`)
      const told = reply.data as WirePnl
      const own = acts.get(wallet) ?? []
      const sum = (type: string) => own.reduce((total, each) => total + (each.type === type ? each.assets : 0n), 0n)
      for (const [type, name] of Object.entries(WIRE)) {
        if (sum(type) > 0n) seen.add(type)
        expect([name, BigInt(told[name].assets.raw)]).toEqual([name, sum(type)])
      }
      const worth = await read(vault, encode('convertToAssets', await getShares(wallet)))
      expect([BigInt(told.worth.raw), BigInt(told.shares.raw)]).toEqual([worth, await getShares(wallet)])
      const profit = worth + sum('withdraw') + sum('send') - sum('deposit') - sum('receive')
      expect([BigInt(told.pnl_raw), credits, told.usd_missing]).toEqual([profit, 8, null])
      const signs = { withdraw: 1n, send: 1n, deposit: -1n, receive: -1n, penalty: 0n }
      const usd = own.reduce((total, each) => total + signs[each.type] * each.assets * each.usd8, worth * usd8)
      // Half a unit of the sixth digit, and what a double cannot hold.
      const value = Number(formatUnits(usd, 26))
      expect(Math.abs(Number(told.pnl_usd) - value)).toBeLessThan(5e-7 + Math.abs(value) * 1e-12)
    }
    expect([...seen].sort()).toEqual(Object.keys(WIRE).sort())
    await close()
  },
  LIMIT_MS,
)

test(
  'a wallet that acts for itself alone has, once it redeemed all, what it began with and its profit',
  async () => {
    const { ask, close } = createCaller(database)
    const { reply } = await ask('pnl', `wallet=${HERMIT}`)
    const snapshot = await chain.rpc.call('evm_snapshot')
    await send([{ from: HERMIT, to: vault, data: encode('redeem', await getShares(HERMIT), HERMIT, HERMIT) }])
    expect((await getAssets(HERMIT)) - START).toBe(BigInt((reply.data as WirePnl).pnl_raw))
    await chain.rpc.call('evm_revert', snapshot)
    await close()
  },
  LIMIT_MS,
)

test(
  'events list each act once, newest first, and a past block counts those up to it',
  async () => {
    const { ask, close } = createCaller(database)
    for (const wallet of WALLETS) {
      const events: WireEvent[] = []
      for (let page = 1; ; page++) {
        const { reply, credits } = await ask('events', `wallet=${wallet}&limit=25&page=${page}`)
        expect(credits).toBe(1)
        events.push(...(reply.data as WireEvent[]))
        if (events.length >= (reply.pagination?.total ?? 0)) break
      }
      const own = acts.get(wallet) ?? []
      expect(
        events.map(({ type, block_number, shares, assets }) => [type, block_number, shares.raw, assets.raw]),
      ).toEqual(own.map(({ type, block, shares, assets }) => [type, block, String(shares), String(assets)]).reverse())
      const middle = own[Math.floor(own.length / 2)]
      const { reply } = await ask('pnl', `wallet=${wallet}&at_block=${middle?.block}`)
      const sum = own
        .filter(({ type, block }) => type === 'deposit' && block <= (middle?.block ?? 0))
        .reduce((total, { assets }) => total + assets, 0n)
      expect(BigInt((reply.data as WirePnl).deposited.assets.raw)).toBe(sum)
      // A list that goes on is as of the block at which it began.
      const reads = [{ chainId: 1, number: middle?.block ?? 0 }]
      const { reply: begun } = await ask('events', `wallet=${wallet}&limit=1`, { reads })
      expect([begun.pagination?.total, begun.asOf?.[0]?.blockNumber]).toEqual([
        own.filter(({ block }) => block <= (middle?.block ?? 0)).length,
        BigInt(middle?.block ?? 0),
      ])
    }
    await close()
  },
  LIMIT_MS,
)

test(
  'a wallet without shares has nothing, and a contract that nothing names a vault is refused',
  async () => {
    const { ask, close } = createCaller(database)
    const { reply } = await ask('pnl', `wallet=${toWalletAddress('stranger to vaults')}`)
    expect(reply.data).toMatchObject({ is_closed: true, pnl_raw: '0', pnl_usd: '0.000000', shares: { raw: '0' } })
    await expect(ask('pnl', `wallet=${HERMIT}`, { at: ASSET })).rejects.toThrow(
      'expected a vault of the table of chain 1',
    )
    await close()
  },
  LIMIT_MS,
)

test(
  'the zero address, whose logs are all deposits and withdrawals of a vault, is refused before any is read',
  async () => {
    faulty.reset()
    const { ask, close } = createCaller(database, { url: faulty.url })
    for (const route of ['pnl', 'events'] as const) {
      await expect(ask(route, `wallet=${zeroAddress}`)).rejects.toThrow('expected an address that can have shares')
    }
    expect(faulty.seen.filter(({ method }) => method === 'eth_getLogs')).toEqual([])
    await close()
  },
  LIMIT_MS,
)

test(
  'a vault of a token without decimals is refused by itself, and no endpoint is blamed',
  async () => {
    const { ask, close } = createCaller(database)
    const ready = await ask('pnl', `wallet=${HERMIT}`)
    const snapshot = await chain.rpc.call('evm_snapshot')
    await chain.rpc.call('anvil_setCode', ASSET, '0x60006000fd')
    const { ask: askAnew, close: closeAnew } = createCaller(database)
    // More often than an endpoint may fail.
    for (let count = 0; count < 6; count++) {
      await expect(askAnew('pnl', `wallet=${HERMIT}`)).rejects.toThrow(
        `because token ${ASSET.toLowerCase()} does not tell its decimals`,
      )
    }
    await chain.rpc.call('evm_revert', snapshot)
    expect((await askAnew('pnl', `wallet=${HERMIT}`)).reply.data).toEqual(ready.reply.data)
    await closeAnew()
    await close()
  },
  LIMIT_MS,
)

/** All logs that the vault's filters find for a wallet, and the receipts of their transactions. */
async function readLogs(wallet: Address) {
  const target = { chainId: 1, contract: vault.toLowerCase() as Hex, startBlock: 0 }
  const subject = wallet.toLowerCase() as Hex
  const lists = await Promise.all(
    createFilters(target, [subject]).map(({ addresses, topics }) =>
      chain.rpc.call('eth_getLogs', { address: addresses, topics, fromBlock: '0x0', toBlock: 'latest' }),
    ),
  )
  const unique = new Map(lists.flatMap(parseLogs).map((log) => [`${log.blockNumber}:${log.logIndex}`, log]))
  const logs = [...unique.values()].sort((a, b) => a.blockNumber - b.blockNumber || a.logIndex - b.logIndex)
  const transactions = [...new Set(logs.map(({ transactionHash }) => transactionHash))]
  const receipts = await Promise.all(
    transactions.map(async (hash) => {
      const { logs: own } = await chain.rpc.call<{ logs: unknown }>('eth_getTransactionReceipt', hash)
      return [hash, parseLogs(own)] as const
    }),
  )
  const decode = (some: typeof logs) => {
    const first = decodeLogs(target, some, { subjects: [subject], receipts: new Map() })
    const asked = new Map(receipts.filter(([hash]) => first.unsettled.includes(hash)))
    return decodeLogs(target, some, { subjects: [subject], receipts: asked }).rows
  }
  return { logs, decode }
}

test(
  'without any one of its logs a life is the same by the receipt, or does not add up',
  async () => {
    let [healed, refused] = [0, 0]
    for (const wallet of WALLETS) {
      const { logs, decode } = await readLogs(wallet)
      const balance = await getShares(wallet)
      const whole = decode(logs)
      expect(foldShares(whole)).toBe(balance)
      for (const lost of logs) {
        const rows = decode(logs.filter((each) => each !== lost))
        if (foldShares(rows) === balance) {
          expect(rows).toEqual(whole)
          healed++
        } else refused++
      }
    }
    expect(Math.min(healed, refused)).toBeGreaterThan(0)
  },
  LIMIT_MS,
)

test(
  'a deposit whose shares its transaction does not make tells no life',
  async () => {
    const { logs } = await readLogs(HERMIT)
    const target = { chainId: 1, contract: vault.toLowerCase() as Hex, startBlock: 0 }
    const deposit = logs.find(({ topics }) => topics.length === 3 && topics[1] !== `0x${'0'.repeat(64)}`)
    if (deposit === undefined) throw new Error('Expected a deposit')
    const alone = new Map([[deposit.transactionHash, [deposit]]])
    const subjects = [HERMIT.toLowerCase() as Hex]
    expect(() => decodeLogs(target, [deposit], { subjects, receipts: alone })).toThrow(IncompleteError)
    expect(decodeLogs(target, [deposit], { subjects, receipts: new Map() }).unsettled).toEqual([
      deposit.transactionHash,
    ])
  },
  LIMIT_MS,
)

test(
  'an endpoint that hides a transfer gets no answer past the fold',
  async () => {
    const wallet = WALLETS.find((each) => acts.get(each)?.some(({ type }) => type === 'receive')) ?? zeroAddress
    const hidden = acts.get(wallet)?.find(({ type }) => type === 'receive')?.block ?? 0
    faulty.rule(({ method, params }) => {
      const [{ fromBlock, toBlock } = {}] = params as readonly { fromBlock?: Hex; toBlock?: Hex }[]
      const isAsked = method === 'eth_getLogs' && Number(fromBlock) <= hidden && Number(toBlock) >= hidden
      return isAsked ? { kind: 'result', result: [] } : undefined
    })
    const own = await testDatabase()
    const { ask, close } = createCaller(own, { url: faulty.url })
    try {
      await expect(ask('pnl', `wallet=${wallet}`)).rejects.toThrow('The check "fold" found that logs are missing')
    } finally {
      await close()
      await own.close()
    }
  },
  LIMIT_MS,
)

test(
  'an endpoint that hides all deposits and withdrawals is corrected by receipts',
  async () => {
    const isHidden = ({ topics }: { readonly topics: readonly Hex[] }) => topics[0] !== TRANSFER
    faulty.rule(({ method }) => {
      const change = (logs: unknown) => (logs as { topics: readonly Hex[] }[]).filter((log) => !isHidden(log))
      return method === 'eth_getLogs' ? { kind: 'change', change } : undefined
    })
    const own = await testDatabase()
    const [told, lied] = [createCaller(database), createCaller(own, { url: faulty.url })]
    try {
      const query = `wallet=${HERMIT}`
      expect((await lied.ask('pnl', query)).reply.data).toEqual((await told.ask('pnl', query)).reply.data as never)
    } finally {
      await Promise.all([told.close(), lied.close()])
      await own.close()
    }
  },
  LIMIT_MS,
)

test(
  'a vault that no table has is read if a factory of Morpho made it',
  async () => {
    const factory = REGISTRIES.metamorpho_factory
    const place = (isMade: boolean) => placeReplay(chain.rpc, [recordCall(factory, 'isMetaMorpho', [vault], isMade)])
    const { ask, close } = createCaller(database, { entries: [{ address: factory, kind: 'metamorpho_factory' }] })
    await place(false)
    await expect(ask('pnl', `wallet=${HERMIT}`)).rejects.toThrow('one that a factory of Morpho made')
    await place(true)
    expect((await ask('pnl', `wallet=${HERMIT}`)).reply.data).toMatchObject({ is_closed: false })
    await close()
  },
  LIMIT_MS,
)
