import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Address, erc20Abi, parseAbi, toHex, zeroAddress } from 'viem'
import type { PinnedBlock } from '../../../src/chain/block.ts'
import { computeTotals } from '../../../src/family/aave_v3/math/account.ts'
import { createLendingReader } from '../../../src/family/aave_v3/read/read.ts'
import type { FinanceClient } from '../../../src/finance/chain.ts'
import { createWork } from '../../../src/lib/async/work.ts'
import { sharedAave } from '../../devnet/aave_v3/shared.ts'
import { BANK, TOKENS, toWalletAddress } from '../../devnet/addresses.ts'
import { createDevnetChain } from '../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../devnet/mod.ts'
import { createRandom } from '../../devnet/random.ts'
import { amounts, usdToRaw } from '../../devnet/scenario.ts'
import { rangeAround } from '../../devnet/ticks.ts'
import { caseCount } from '../../support/cases.ts'
import {
  createTestReader,
  computeFigures as positionFigures,
  toWhole,
} from '../../support/family/uniswap_v3/support.ts'
import { slowClock } from '../../support/test_clock.ts'
import { DEPLOYMENTS } from '../family/aave_v3/support.ts'
import { transferCall } from '../finance/token/balance/world.ts'
import { allRows, countedClient, createPortfolio, e6, listing, toFigures } from './support.ts'

const SEED = 20_261_123
const WALLETS = caseCount(300, 24)
const BLOCKS = caseCount(5, 2)
/** Tokens that represent supplies and debts of a market, on the lists as if the operator had added them. */
const STANDINS = parseAbi([
  'function getPoolDataProvider() view returns (address)',
  'function getReserveTokensAddresses(address) view returns (address, address, address)',
])
const FEED = parseAbi(['function latestRoundData() view returns (uint80, int256, uint256, uint256, uint80)'])
const SCALE = 10n ** 60n

interface World {
  readonly devnet: Devnet
  readonly client: FinanceClient
  readonly blocks: readonly PinnedBlock[]
}

const worlds: World[] = []
let wallets: readonly Address[]
let standIns: readonly Address[]
let second: Devnet

beforeAll(async () => {
  const { devnet, aave } = await sharedAave()
  second = await startDevnet({ chainId: 10 })
  const lenders = await aave.randomWallets(SEED, Math.ceil(WALLETS * 0.6))
  const strangers = Array.from({ length: WALLETS }, (_, index) => toWalletAddress(`portfolio ${index}`))
  wallets = [...lenders.wallets, ...strangers].slice(0, WALLETS)
  standIns = await readStandIns(devnet)
  worlds.push({ devnet, ...(await live(devnet, standIns)) }, { devnet: second, ...(await live(second, [])) })
}, 300_000)

afterAll(() => second?.stop())

/** Lets wallets receive and send tokens, ether and positions, and records five blocks in between. */
async function live(devnet: Devnet, listed: readonly Address[]) {
  const random = createRandom(SEED + devnet.chainId)
  const { client } = countedClient(listing(createDevnetChain(devnet), listed))
  const blocks: PinnedBlock[] = []
  for (let round = 0; round < BLOCKS; round++) {
    const some = () => random.pick(wallets)
    for (let each = 0; each < WALLETS / 6; each++) {
      await devnet.rpc.call('anvil_setBalance', some(), toHex(BigInt(random.below(1_000_000)) ** 3n))
    }
    await devnet.send(
      Array.from({ length: WALLETS }, () => {
        const token = random.pick(Object.values(TOKENS))
        return transferCall(token.address, { from: BANK, to: some(), value: usdToRaw(token, random.below(9_000)) })
      }),
    )
    await devnet.v3.mintMany(
      Array.from({ length: Math.ceil(WALLETS / 5) }, () => {
        const pool = random.pick(Object.values(devnet.pools))
        const centre = random.pick([0, -300, 20_000])
        const range = rangeAround(pool, centre - 600, centre + 600)
        return { pool, ...range, ...amounts(pool, 50 + random.below(5_000)), recipient: some() }
      }),
    )
    const { number, hash, parentHash, timestamp } = await devnet.client.getBlock()
    blocks.push({ chainId: devnet.chainId, number, hash, parentHash, timestampSec: timestamp })
  }
  return { client, blocks }
}

async function readStandIns(devnet: Devnet): Promise<Address[]> {
  const found: Address[] = []
  for (const { poolAddressesProvider } of DEPLOYMENTS) {
    const ask = { abi: STANDINS } as const
    const address = await devnet.client.readContract({
      ...ask,
      address: poolAddressesProvider,
      functionName: 'getPoolDataProvider',
    })
    for (const { address: asset } of Object.values(TOKENS)) {
      const tokens = await devnet.client
        .readContract({ ...ask, address, functionName: 'getReserveTokensAddresses', args: [asset] })
        .catch(() => [])
      found.push(...tokens.filter((token) => token !== zeroAddress))
    }
  }
  return found
}

/** Price of a token or ether, read from each contract separately, in units of 10^-60 dollars. */
async function worthInWallet({ devnet }: World, wallet: Address, blockNumber: bigint): Promise<bigint> {
  const readPrice = async (feed: Address) =>
    (await devnet.client.readContract({ address: feed, abi: FEED, functionName: 'latestRoundData', blockNumber }))[1]
  const ether = await devnet.client.getBalance({ address: wallet, blockNumber })
  let sum = (ether * (await readPrice(TOKENS.weth.feed)) * SCALE) / 10n ** 26n
  for (const { address, decimals, feed } of Object.values(TOKENS)) {
    const args = [wallet] as const
    const held = await devnet.client.readContract({
      address,
      abi: erc20Abi,
      functionName: 'balanceOf',
      args,
      blockNumber,
    })
    if (held > 0n) sum += (held * (await readPrice(feed)) * SCALE) / 10n ** BigInt(decimals + 8)
  }
  return sum
}

/** The families' own figures at that block, in millionths, and how many roundings are in them. */
async function worthInFamilies({ client }: World, wallet: Address, block: PinnedBlock) {
  const work = createWork(new AbortController().signal)
  const { reader, targets: places } = createTestReader(client)
  const [read] = await reader.readWallet(wallet, { targets: places.map((place) => ({ ...place, block })), work })
  const totals = toWhole(read?.positions ?? []).map((position) => positionFigures(position).usd?.totalE6 ?? 0n)
  const liquidity = totals.reduce((sum, each) => sum + each, 0n)
  if (client.chain.id !== 1) return { liquidity, supplied: 0n, debt: 0n, roundings: totals.length }
  const lending = createLendingReader({
    clients: new Map([[1, client]]),
    deployments: new Map([[1, DEPLOYMENTS]]),
    clock: slowClock,
  })
  const [lent] = await lending.read([wallet], {
    targets: [...lending.targets.values()].map((place) => ({ ...place, block })),
    work,
  })
  let [supplied, debt, legs] = [0n, 0n, 0]
  for (const position of lent?.wallets[0]?.positions ?? []) {
    const sums = computeTotals(position)
    supplied += (sums.supplied * 1_000_000n) / sums.perUsd
    debt += (sums.debt * 1_000_000n) / sums.perUsd
    legs += position.assets.length + 1
  }
  return { liquidity, supplied, debt, roundings: totals.length + legs }
}

const near = (a: bigint, b: bigint, roundings: number): boolean => {
  const difference = a > b ? a - b : b - a
  return difference <= BigInt(1 + roundings)
}

describe('a portfolio', () => {
  test(`equals separate reads of every contract and family, on two chains at ${BLOCKS} past blocks`, async () => {
    const portfolio = createPortfolio(worlds.map(({ client }) => client))
    const counts = { compared: 0, holding: 0, positions: 0, lent: 0, inDebt: 0 }
    for (const world of worlds) {
      for (const block of world.blocks) {
        for (const wallet of wallets) {
          const query = `wallet=${wallet}&chain_id=${world.devnet.chainId}&at_block=${block.number}`
          const { net, assets, debt, kinds } = toFigures(await portfolio.balance(query))
          const families = await worthInFamilies(world, wallet, block)
          const inWallet = (await worthInWallet(world, wallet, block.number)) / (SCALE / 1_000_000n)
          const found = {
            wallet: near(kinds['wallet_usd'] ?? -1n, inWallet, 1),
            liquidity: near(kinds['liquidity_usd'] ?? -1n, families.liquidity, families.roundings),
            supplied: near(kinds['supplied_usd'] ?? -1n, families.supplied, families.roundings),
            debt: near(debt, families.debt, families.roundings),
            net: near(net, inWallet + families.liquidity + families.supplied - families.debt, families.roundings + 2),
            difference: near(net, assets - debt, 0),
          }
          expect({ query, ...found }).toEqual({
            query,
            wallet: true,
            liquidity: true,
            supplied: true,
            debt: true,
            net: true,
            difference: true,
          })
          counts.compared++
          if (inWallet > 0n) counts.holding++
          if (families.liquidity > 0n) counts.positions++
          if (families.supplied > 0n) counts.lent++
          if (families.debt > 0n) counts.inDebt++
        }
      }
    }
    expect(counts.compared).toBe(2 * BLOCKS * WALLETS)
    expect(counts.holding).toBeGreaterThan(counts.compared / 3)
    expect(counts.positions).toBeGreaterThan(counts.compared / 8)
    expect(counts.lent).toBeGreaterThan(counts.compared / 8)
    expect(counts.inDebt).toBeGreaterThan(counts.compared / 20)
  }, 600_000)

  test('is the sum of its parts and of the rows of all pages, without tokens that represent supplies or debts', async () => {
    const portfolio = createPortfolio(worlds.map(({ client }) => client))
    let standing = 0
    for (const wallet of wallets) {
      const answer = await portfolio.balance(`wallet=${wallet}`)
      const { net, assets, debt, kinds, chains, confidences, rows } = toFigures(answer)
      const all = await allRows(portfolio, `wallet=${wallet}`)
      const sum = (values: readonly bigint[]) => values.reduce((total, each) => total + each, 0n)
      const values = all.map(({ value_usd }) => (value_usd === null ? 0n : e6(value_usd)))
      expect(near(sum(values), net, all.length)).toBe(true)
      expect(near(sum(chains.map((each) => each['net_worth_usd'] ?? 0n)), net, chains.length)).toBe(true)
      expect(near(sum(Object.values(confidences)), net, 4)).toBe(true)
      const { borrowed_usd = 0n, ...owned } = kinds
      expect(near(sum(Object.values(owned)), assets, 3)).toBe(true)
      expect(borrowed_usd).toBe(debt)
      expect(sum(Object.values(rows).map(BigInt))).toBe(BigInt(all.length))
      expect(all.filter(({ counted }) => counted).length).toBe(rows['counted'] ?? -1)
      expect(new Set(all.map((row) => JSON.stringify(row))).size).toBe(all.length)
      for (const { token } of all) expect(standIns).not.toContain(token.id)
      standing += all.filter(({ kind }) => kind === 'supplied').length
      const counted = new Set(all.filter((row) => row.counted).map(({ chain_id }) => chain_id)).size
      expect(answer.credits).toBe(15 * counted)
    }
    expect(standIns.length).toBeGreaterThan(8)
    expect(standing).toBeGreaterThan(0)
  }, 300_000)
})
