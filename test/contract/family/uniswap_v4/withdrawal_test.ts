import { afterAll, beforeAll, beforeEach, expect, test } from 'bun:test'
import { type Address, encodeAbiParameters, parseAbi } from 'viem'
import { readByLens } from '../../../../src/chain/call/lens.ts'
import { createChainClient, type EvmClient } from '../../../../src/chain/evm/evm_client.ts'
import type { Withdrawal } from '../../../../src/family/uniswap_v4/math/figures.ts'
import { mayChangeWithdrawal } from '../../../../src/family/uniswap_v4/math/hooks.ts'
import { LENS, readOwned } from '../../../../src/family/uniswap_v4/read/queries.ts'
import { readWithdrawals, type WithdrawalTerms } from '../../../../src/family/uniswap_v4/read/withdrawal.ts'
import type { FinanceChain } from '../../../../src/finance/chain.ts'
import { createSpamFilter } from '../../../../src/finance/token/spam.ts'
import { createWork } from '../../../../src/lib/async/work.ts'
import { silentLog } from '../../../../src/lib/log.ts'
import { BANK, TOKENS, toWalletAddress } from '../../../devnet/addresses.ts'
import { ownCreationCode } from '../../../devnet/artifacts.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import { fullRange, rangeAround } from '../../../devnet/ticks.ts'
import { UNISWAP_V4 } from '../../../devnet/uniswap_v4/addresses.ts'
import { type Paid, realBurns } from '../../../devnet/uniswap_v4/burns.ts'
import { burnCall, collectCall, swapCall, type V4Change, type V4MintRequest } from '../../../devnet/uniswap_v4/calls.ts'
import type { UniswapV4 } from '../../../devnet/uniswap_v4/mod.ts'
import { coreHookCode, placeHook } from '../../../devnet/uniswap_v4/place.ts'
import { ETHER, liquidityWorth, usdToRaw, type V4PoolOf } from '../../../devnet/uniswap_v4/pools.ts'
import { buildV4RandomPositions } from '../../../devnet/uniswap_v4/random_positions.ts'
import { caseCount } from '../../../support/cases.ts'
import { type FaultyRpc, startFaultyRpc } from '../../../support/rpc.ts'
import { createHurriedClock, slowClock } from '../../../support/test_clock.ts'
import { createFindEveryId, createTestReader, DEPLOYMENT, gasOfCall } from './support.ts'

const BUILD_LIMIT_MS = 120_000
const UNSUPPORTED: Withdrawal = { error: 'unsupported' }
const GAS_PAGE_MAX = 6_000_000
const ROUNDS = caseCount(60, 15)
const patient = createWork(new AbortController().signal)

let devnet: Devnet
let v4: UniswapV4
let faulty: FaultyRpc
let client: EvmClient<FinanceChain>
/** Pools of native and of feeless kinds, behind the two hooks of v4-core that take a share. */
let taxed: readonly V4PoolOf[]

beforeAll(async () => {
  devnet = await startDevnet()
  v4 = await devnet.uniswapV4()
  faulty = await startFaultyRpc(devnet.rpcUrl)
  client = createChainClient({
    chain: createDevnetChain(devnet, { rpcUrls: [faulty.url] }),
    clock: createHurriedClock(),
    log: silentLog,
  })
  const hooks = await placeHook(devnet, {
    name: 'takes fees',
    creationCode: await coreHookCode('LPFeeTakingHook'),
    permissions: ['afterAddLiquidity', 'afterAddLiquidityReturnsDelta', ...REMOVES],
  })
  const native = await placeHook(devnet, {
    name: 'takes ether',
    creationCode: await coreHookCode('FeeTakingHook'),
    permissions: REMOVES,
  })
  taxed = await v4.createPools([
    { currencies: [TOKENS.usdc, TOKENS.weth], fee: 500, tickSpacing: 10, hooks },
    { currencies: [ETHER, TOKENS.usdc], fee: 3_000, tickSpacing: 60, hooks: native },
  ])
  await v4.mintMany(
    taxed.map((pool) => {
      const range = fullRange(pool)
      const liquidity = liquidityWorth(pool, { ...range, usd: 2_000_000 })
      return { pool, ...range, liquidity, recipient: toWalletAddress('v4 market') }
    }),
  )
}, BUILD_LIMIT_MS)
beforeEach(() => {
  faulty.rule(() => undefined)
  faulty.reset()
})
afterAll(async () => {
  client?.close()
  await faulty?.stop()
  await devnet?.stop()
}, BUILD_LIMIT_MS)

const REMOVES = ['afterRemoveLiquidity', 'afterRemoveLiquidityReturnsDelta'] as const

const MANAGER_ABI = parseAbi([
  'function getPoolAndPositionInfo(uint256) view returns ((address currency0, address currency1, uint24 fee, int24 tickSpacing, address hooks) key, uint256 info)',
])

/** The positions of these ids whose hooks see withdrawals. */
async function listTerms(ids: readonly bigint[]): Promise<WithdrawalTerms[]> {
  const terms = await Promise.all(
    ids.map(async (tokenId) => {
      const [{ currency0, currency1, hooks }] = await devnet.client.readContract({
        address: UNISWAP_V4.positionManager,
        abi: MANAGER_ABI,
        functionName: 'getPoolAndPositionInfo',
        args: [tokenId],
      })
      return { tokenId, tokens: [currency0, currency1] as const, hooks, suspects: [hooks] }
    }),
  )
  return terms.filter(({ hooks }) => mayChangeWithdrawal(hooks))
}

async function read(owner: Address, ids: readonly bigint[], together = false) {
  return await withdraw(owner, await listTerms(ids), together)
}

function withdraw(owner: Address, positions: readonly WithdrawalTerms[], together = false) {
  return client.read(
    (endpoint, within) => {
      const target = { endpoint, chainId: devnet.chainId, clock: slowClock }
      return readWithdrawals(target, { owner, positions, deployment: DEPLOYMENT }, within)
    },
    { work: patient, budgetMs: 30_000, isBundled: together },
  )
}

/** What the whole withdrawal paid, or if that reverts what taking the fees alone paid. */
function toWithdrawal(paid: Paid | null | undefined, fees?: Paid | null): Withdrawal {
  if (paid === null || paid === undefined) return { error: 'reverts', ...(fees && { fees }) }
  return { paid }
}

function mint(pool: V4PoolOf, owner: Address): Promise<bigint> {
  return v4.mint(mintRequest(pool, owner))
}

function mintRequest(pool: V4PoolOf, recipient: Address): V4MintRequest {
  const range = rangeAround(pool, -900, 900)
  return { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 3_000 }), recipient }
}

async function trade(pool: V4PoolOf): Promise<void> {
  await devnet.send([
    swapCall({ pool, zeroForOne: true, amountIn: usdToRaw(pool.currencies[0], 90) }),
    swapCall({ pool, zeroForOne: false, amountIn: usdToRaw(pool.currencies[1], 60) }),
  ])
}

test(
  'every withdrawal pays what the real one pays, reverts included, in pools of every kind after random histories',
  async () => {
    const pools = [...Object.values(v4.pools), ...taxed]
    const { positions } = await buildV4RandomPositions(v4, { seed: 5, rounds: ROUNDS, wallets: 10, pools })
    const living = positions.filter(({ isBurned }) => !isBurned)
    const hooked = living.filter(({ pool }) => mayChangeWithdrawal(pool.key.hooks))
    const paid = await v4.realBurns(hooked)
    const fees = await realBurns(devnet, hooked, collectCall)
    const outcomes: Record<string, number> = {}
    for (const owner of new Set(living.map((each) => each.owner))) {
      const ids = living.filter((each) => each.owner === owner).map(({ tokenId }) => tokenId)
      const { byId } = await read(owner, ids)
      const expected = hooked.flatMap((each, index): [bigint, Withdrawal][] =>
        each.owner === owner ? [[each.tokenId, toWithdrawal(paid[index], fees[index])]] : [],
      )
      expect([...byId]).toEqual(expected)
      for (const [, outcome] of expected) {
        const kind = 'error' in outcome ? outcome.error : 'paid'
        outcomes[kind] = (outcomes[kind] ?? 0) + 1
        const taken = 'error' in outcome ? outcome.fees : undefined
        if (taken !== undefined && taken.amount0 + taken.amount1 > 0n) outcomes['fees'] = (outcomes['fees'] ?? 0) + 1
      }
    }
    expect(outcomes['paid']).toBeGreaterThan(ROUNDS / 3)
    expect(outcomes['reverts']).toBeGreaterThan(ROUNDS / 12)
    expect(outcomes['fees']).toBeGreaterThan(ROUNDS / 30)
  },
  BUILD_LIMIT_MS,
)

test('25 withdrawals take one request and at most 6 million gas, and change nothing', async () => {
  const owner = toWalletAddress('withdraws many')
  const ids: bigint[] = []
  for (let index = 0; index < 25; index++) ids.push(await mint(v4.pools.feeTaking, owner))
  await trade(v4.pools.feeTaking)
  await read(owner, ids)
  faulty.reset()
  const { byId } = await read(owner, ids)
  expect([...byId.values()].filter((each) => 'paid' in each)).toHaveLength(25)
  const [request, ...more] = faulty.seen
  expect(more).toEqual([])
  const gas = await gasOfCall(devnet, request)
  // Each is executed in full.
  expect(gas).toBeGreaterThan(25 * 90_000)
  expect(gas).toBeLessThan(GAS_PAGE_MAX)
  expect(await v4.realBurns(ids.map((tokenId) => ({ pool: v4.pools.feeTaking, owner, tokenId })))).toEqual(
    [...byId.values()].map((each) => ('paid' in each ? each.paid : null)),
  )
})

test('withdrawals of two owners and the list of a third share one request independently', async () => {
  const owners = [toWalletAddress('withdraws beside 0'), toWalletAddress('withdraws beside 1')] as const
  const pool = v4.pools.feeTaking
  const ids = await v4.mintMany(owners.map((recipient) => mintRequest(pool, recipient)))
  await trade(pool)
  const paid = await v4.realBurns(ids.map((tokenId, index) => ({ pool, tokenId, owner: owners[index] ?? BANK })))
  const { classify: classifyToken } = createSpamFilter()
  const list = () => {
    const asked = { chain: client.chain, deployment: DEPLOYMENT, classifyToken, spam: 'apart' } as const
    const lens = { ...LENS, chainId: devnet.chainId, clock: slowClock }
    return client.read(
      (endpoint, within) => {
        const wallet = { wallet: owners[0], ids, positionsMax: 100 }
        return readByLens(endpoint, { ...lens, read: (access) => readOwned(access, wallet, asked) }, within)
      },
      { work: patient, isBundled: true },
    )
  }
  await list()
  faulty.reset()
  const [one, other] = [await listTerms(ids.slice(0, 1)), await listTerms(ids.slice(1))]
  const [first, second, { owned }] = await Promise.all([
    withdraw(owners[0], one, true),
    withdraw(owners[1], other, true),
    list(),
  ])
  expect(faulty.seen).toHaveLength(1)
  expect([...first.byId.values(), ...second.byId.values()]).toEqual(paid.map((each) => toWithdrawal(each)))
  expect(owned).toEqual(ids.slice(0, 1))
})

const HARMS = ['burns gas', 'loops', 'returns a mebibyte', 'reverts with a mebibyte', 'destroys itself'] as const

test(
  'a hook that burns gas, loops, answers a mebibyte or destroys itself harms no other position',
  async () => {
    const owner = toWalletAddress('withdraws among harm')
    const changes: V4Change[] = []
    for (const [harm, name] of HARMS.entries()) {
      const hooks = await placeHook(devnet, {
        name,
        creationCode: ownCreationCode('HostileHook', encodeAbiParameters([{ type: 'uint8' }], [harm])),
        permissions: ['beforeRemoveLiquidity'],
      })
      const [pool] = await v4.createPools([
        { currencies: [TOKENS.usdc, TOKENS.weth], fee: 3_000, tickSpacing: 60, hooks },
      ])
      if (pool === undefined) throw new Error('Cannot create a pool')
      changes.push({ pool, owner, tokenId: await mint(pool, owner) })
      const good = harm % 2 === 0 ? v4.pools.feeTaking : (taxed[1] ?? v4.pools.feeTaking)
      changes.push({ pool: good, owner, tokenId: await mint(good, owner) })
    }
    const paid = await v4.realBurns(changes)
    const { byId } = await read(
      owner,
      changes.map(({ tokenId }) => tokenId),
    )
    for (const [index, { tokenId }] of changes.entries()) {
      const said = byId.get(tokenId)
      const isHarmed = index % 2 === 0 && index / 2 < 4
      // What takes more gas than a reading gives is not said to pay nothing.
      if (isHarmed) expect(said).toEqual({ error: expect.stringMatching(/^(reverts|unsupported)$/) })
      else expect(said).toEqual(toWithdrawal(paid[index]))
    }
    // More of them than a page holds: what used up the gas of two gets less of it.
    const worst = changes[2]
    if (worst === undefined) throw new Error('Cannot find the pool that loops')
    const { pool } = worst as V4Change & { readonly pool: V4PoolOf }
    const many = await Promise.all(Array.from({ length: 61 }, () => mint(pool, owner)))
    const good = await mint(v4.pools.feeTaking, owner)
    const terms = await listTerms([...many, good])
    faulty.reset()
    const crowded = await withdraw(owner, terms)
    expect(faulty.seen.filter(({ method }) => method === 'eth_call').length).toBeLessThanOrEqual(4)
    const [real] = await v4.realBurns([{ pool: v4.pools.feeTaking, owner, tokenId: good }])
    expect(crowded.byId.get(good)).toEqual(toWithdrawal(real))
    expect(many.map((id) => crowded.byId.get(id))).toEqual(many.map(() => UNSUPPORTED))
  },
  BUILD_LIMIT_MS,
)

test('a contract, an id of another owner, a burned id and no id each get their own outcome', async () => {
  const [receipt] = await devnet.send([{ from: BANK, data: ownCreationCode('Actor') }])
  const contract = receipt?.contractAddress ?? '0x'
  const pool = v4.pools.feeTaking
  const [own, foreign, burned] = [await mint(pool, contract), await mint(pool, BANK), await mint(pool, BANK)]
  await devnet.send([burnCall({ pool, owner: BANK, tokenId: burned })])
  const [paid] = await v4.realBurns([{ pool, owner: contract, tokenId: own }])
  const { byId } = await read(contract, [own, foreign, burned, 10n ** 30n])
  expect([...byId]).toEqual([
    [own, toWithdrawal(paid)],
    [foreign, { error: 'reverts' }],
  ])
  expect((await read(contract, [])).byId.size).toBe(0)
  expect([...(await read(UNISWAP_V4.poolManager, [own])).byId]).toEqual([[own, UNSUPPORTED]])
  // The hook itself as owner: its code would be replaced.
  const held = await mint(pool, pool.key.hooks)
  expect([...(await read(pool.key.hooks, [held])).byId]).toEqual([[held, UNSUPPORTED]])
})

test('where an endpoint does not override code, positions are unsupported', async () => {
  const owner = toWalletAddress('withdraws without overrides')
  const pool = v4.pools.feeTaking
  const id = await mint(pool, owner)
  const { reader, places } = createTestReader(client, { find: createFindEveryId(devnet) })
  const withdrawn = async () => {
    const reads = await reader.readWallet(owner, { targets: places, work: patient })
    const positions = reads.flatMap((each) => each.positions).map((each) => each.whole())
    const full = await reader.readFull(positions, { targets: places, reads, work: patient })
    return full.map(({ withdrawal }) => withdrawal)
  }
  const [paid] = await v4.realBurns([{ pool, owner, tokenId: id }])
  expect(await withdrawn()).toEqual([toWithdrawal(paid)])
  for (const how of ['ignore', 'refuse'] as const) {
    faulty.rule(() => ({ kind: 'no_overrides', how }))
    expect(await read(owner, [id])).toEqual({ block: undefined, byId: new Map([[id, UNSUPPORTED]]) })
    expect(await withdrawn()).toEqual([UNSUPPORTED])
  }
})

test(
  'positions that strangers gave the wallet before its own cost it nothing, also once it is known which hooks to ask',
  async () => {
    const owner = toWalletAddress('was given harm first')
    const creationCode = ownCreationCode('HostileHook', encodeAbiParameters([{ type: 'uint8' }], [1]))
    const requests: V4MintRequest[] = []
    for (let number = 0; number < 12; number++) {
      const hooks = await placeHook(devnet, {
        name: `loops, number ${number}`,
        creationCode,
        permissions: ['beforeRemoveLiquidity'],
      })
      const currencies = [TOKENS.usdc, TOKENS.weth] as const
      const [pool] = await v4.createPools([{ currencies, fee: 3_000, tickSpacing: 60, hooks }])
      if (pool === undefined) throw new Error('Cannot create a pool')
      const range = rangeAround(pool, -900, 900)
      const dust = { pool, ...range, liquidity: liquidityWorth(pool, { ...range, usd: 1 }), recipient: owner }
      requests.push(dust, dust)
    }
    await v4.mintMany(requests)
    const pool = v4.pools.feeTaking
    const own = await mint(pool, owner)
    const [real] = await v4.realBurns([{ pool, owner, tokenId: own }])
    const { reader, places } = createTestReader(client, { find: createFindEveryId(devnet) })
    for (const round of ['first', 'known']) {
      const reads = await reader.readWallet(owner, { targets: places, work: patient })
      const positions = reads.flatMap((each) => each.positions).map((each) => each.whole())
      expect(positions).toHaveLength(25)
      const full = await reader.readFull(positions, { targets: places, reads, work: patient })
      const withdrawal = full.find(({ position }) => position.tokenId === own)?.withdrawal
      expect({ round, withdrawal }).toEqual({ round, withdrawal: toWithdrawal(real) })
    }
  },
  BUILD_LIMIT_MS,
)
