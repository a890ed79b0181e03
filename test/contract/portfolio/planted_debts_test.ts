import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Address, getAddress, keccak256, stringToHex } from 'viem'
import { AAVE_V4 } from '../../../src/family/aave_v4/mod.ts'
import { AAVE_V4_DEPLOYMENTS } from '../../../src/family/aave_v4/table.ts'
import { COMPOUND_V3 } from '../../../src/family/compound_v3/mod.ts'
import { COMPOUND_V3_MARKETS } from '../../../src/family/compound_v3/table.ts'
import { createPriceMarket } from '../../../src/finance/price/table/kamino.ts'
import { portfolioRoutes } from '../../../src/portfolio/mod.ts'
import { ACCESS_MANAGER, recordSnapshot, recordTargets } from '../../devnet/aave_v4/record.ts'
import { placeReplay, type RecordedCall } from '../../devnet/aave_v4/replay.ts'
import { readVectors, type Snapshot, type VectorSpoke } from '../../devnet/aave_v4/vectors.ts'
import { toWalletAddress } from '../../devnet/addresses.ts'
import { recordMarket, recordTokens } from '../../devnet/compound_v3/record.ts'
import { WORLDS, type World } from '../../devnet/compound_v3/vectors.ts'
import { callRoute } from '../../support/call_route.ts'
import { caseCount } from '../../support/cases.ts'
import { createTestServices } from '../../support/family.ts'
import { createHurriedClock } from '../../support/test_clock.ts'
import { type ReplayedChain, startReplayedChain } from '../family/aave_v4/support.ts'

const LIMIT_MS = 300_000
const CHAIN_ID = 1
const [world] = WORLDS as [World]
const snapshot = readVectors().snapshots.find(({ label }) => label.startsWith('after')) as Snapshot

/** A debt that was planted, and where it must be told. */
interface Planted {
  readonly wallet: Address
  readonly family: string
  readonly market: string
  /** Raw amounts of all debts of the wallet, sorted. */
  readonly owed: readonly string[]
}

const toPlace = (name: string): Address => getAddress(`0x${keccak256(stringToHex(name)).slice(26)}`)
const listPlaces = (family: string, names: readonly (readonly [number, string])[]) =>
  names.map(([chainId, name]) => ({ market: `${name}-${chainId}`, address: toPlace(`${family} ${name} ${chainId}`) }))
/** Each place of the tables, on one chain and at an address of its own. */
const SPOKES = listPlaces(
  'aave-v4',
  [...AAVE_V4_DEPLOYMENTS].flatMap(([id, { spokes }]) => spokes.map(({ name }) => [id, name] as const)),
)
const MARKETS = listPlaces(
  'compound-v3',
  [...COMPOUND_V3_MARKETS].flatMap(([id, markets]) => markets.map(({ market }) => [id, market] as const)),
)
/** A spoke that the access manager names and the configuration does not. */
const UNKNOWN = { market: 'unknown', address: toPlace('aave-v4 unknown') }
/** Wallets of each place: 1,008 in all of them with all cases. */
const EACH = caseCount(21, 1)

let chain: ReplayedChain
const planted: Planted[] = []
const hidden: Address[] = []

type SpokeEntry = readonly [Address, VectorSpoke]

/** What a spoke of the vectors answers elsewhere, of one of its debtors under the name of each of these wallets. */
function recordSpoke(
  [spoke, fields]: SpokeEntry,
  { address, wallets }: { readonly address: Address; readonly wallets: readonly Address[] },
) {
  const debtors = (Object.keys(fields.users) as Address[]).filter((user) =>
    Object.values(fields.users[user]?.positions ?? {}).some(({ drawnShares }) => drawnShares !== '0'),
  )
  const pick = (index: number) => debtors[index % debtors.length] as Address
  const { hubs } = snapshot.world
  const moved: Snapshot = {
    ...snapshot,
    world: {
      ...snapshot.world,
      hubs: Object.fromEntries(
        Object.entries(hubs).map(([hub, { assets, ...rest }]) => {
          const shared = assets.map((asset) => {
            const own = asset.spokes[spoke]
            return { ...asset, spokes: own === undefined ? {} : { [address]: own } }
          })
          return [hub, { ...rest, assets: shared }]
        }),
      ),
      spokes: {
        [address]: {
          ...fields,
          users: Object.fromEntries(wallets.map((wallet, index) => [wallet, fields.users[pick(index)]])) as never,
        },
      },
    },
    answers: {
      ...snapshot.answers,
      spokes: {
        [address]: Object.fromEntries(
          wallets.map((wallet, index) => [wallet, snapshot.answers.spokes[spoke]?.[pick(index)]]),
        ) as never,
      },
    },
  }
  const listOwed = (index: number) =>
    Object.values(snapshot.answers.spokes[spoke]?.[pick(index)]?.reserves ?? {})
      .map(({ drawnDebt, premiumDebt }) => String(BigInt(drawnDebt) + BigInt(premiumDebt)))
      .filter((owed) => owed !== '0')
  return { calls: recordSnapshot(moved).filter(({ to }) => to !== ACCESS_MANAGER), listOwed }
}

function plantInSpokes(): RecordedCall[] {
  const worlds = Object.entries(snapshot.world.spokes) as unknown as SpokeEntry[]
  return [...SPOKES, UNKNOWN].flatMap(({ market, address }, place) => {
    const wallets = Array.from({ length: EACH }, (_, index) => toWalletAddress(`debtor ${index} of spoke ${market}`))
    const { calls, listOwed } = recordSpoke(worlds[place % worlds.length] as SpokeEntry, { address, wallets })
    for (const [index, wallet] of wallets.entries()) {
      if (market === UNKNOWN.market) hidden.push(wallet)
      else planted.push({ wallet, family: 'aave-v4', market, owed: listOwed(index).sort() })
    }
    return calls
  })
}

function plantInMarkets(): RecordedCall[] {
  const debtors = world.accounts.filter(({ owed }) => owed !== '0')
  return MARKETS.flatMap(({ market, address }) => {
    const accounts = Array.from({ length: EACH }, (_, index) => {
      const wallet = toWalletAddress(`debtor ${index} of market ${market}`)
      return { ...(debtors[index % debtors.length] as (typeof debtors)[number]), wallet }
    })
    for (const { wallet, owed } of accounts) planted.push({ wallet, family: 'compound-v3', market, owed: [owed] })
    return recordMarket({ ...world, comet: address, accounts })
  })
}

beforeAll(async () => {
  chain = await startReplayedChain()
  const calls = [
    ...plantInSpokes(),
    ...plantInMarkets(),
    ...recordTokens(world, new Map()),
    ...recordTargets(
      ACCESS_MANAGER,
      [...SPOKES, UNKNOWN].map(({ address }) => address),
    ),
  ]
  // Places share hubs, tokens and feeds, and a batch may be done in any order.
  const once = [...new Map(calls.map((call) => [`${call.to}${call.data}`, call])).values()]
  for (let start = 0; start < once.length; start += 2_000) {
    await placeReplay(chain.rpc, once.slice(start, start + 2_000), { others: 'zero' })
  }
  await chain.rpc.call('evm_setNextBlockTimestamp', Number(world.block.timestamp))
  await chain.rpc.call('evm_mine')
}, LIMIT_MS)
afterAll(() => chain?.anvil.stop(), LIMIT_MS)

function createRoutes() {
  const services = createTestServices({ clients: [chain.client], clock: createHurriedClock() })
  const row = {
    aaveV4: { accessManager: ACCESS_MANAGER, spokes: SPOKES.map(({ market, address }) => ({ name: market, address })) },
    compoundV3: MARKETS.map(({ market, address }) => ({ market, comet: address, rewards: world.rewards })),
  }
  const rows = new Map([[CHAIN_ID, row]])
  return portfolioRoutes({
    chainIds: [CHAIN_ID],
    connect: () => services,
    servesSolana: false,
    priceMarket: createPriceMarket(),
    nativeDoubles: new Map(),
    families: [AAVE_V4.configure(rows), COMPOUND_V3.configure(rows)],
  })
}

interface WireRow {
  readonly kind: string
  readonly amount: { readonly raw: string }
  readonly position: Readonly<Record<string, string>> | null
}

async function ask<T>(name: 'assets' | 'balance', wallet: Address): Promise<T> {
  const route = createRoutes().find(({ path }) => path === `/v1/portfolio/${name}`)
  if (route === undefined) throw new Error(`Cannot find ${name}`)
  const query = name === 'assets' ? `wallet=${wallet}&limit=25` : `wallet=${wallet}`
  return (await callRoute(route, { query })).reply.data as T
}

test(
  'one debt in each listed place of Aave V4 and Compound V3: each wallet’s is found, to the unit',
  async () => {
    expect(planted).toHaveLength(EACH * (SPOKES.length + MARKETS.length))
    for (const { wallet, family, market, owed } of planted) {
      const rows = await ask<readonly WireRow[]>('assets', wallet)
      const debts = rows.filter(({ kind }) => kind === 'borrowed')
      expect(new Set(debts.map(({ position }) => `${position?.['family']} ${position?.['market_id']}`))).toEqual(
        new Set([`${family} ${market}`]),
      )
      expect(debts.map(({ amount }) => amount.raw).sort()).toEqual([...owed])
    }
  },
  LIMIT_MS,
)

test(
  'a debt in a spoke that this release does not know is not found, and every answer names the spoke',
  async () => {
    for (const wallet of [...hidden, ...planted.slice(0, 2).map((each) => each.wallet)]) {
      const { coverage } = await ask<{ coverage: { not_read: readonly string[] } }>('balance', wallet)
      const { not_read } = coverage
      expect(not_read).toContain(
        `debts in aave-v4 spoke ${UNKNOWN.address}, which this release does not know (chain 1)`,
      )
    }
  },
  LIMIT_MS,
)
