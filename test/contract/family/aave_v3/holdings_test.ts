import { beforeAll, describe, expect, test } from 'bun:test'
import { type Address, erc20Abi, getContract, hexToString, parseAbi, trim } from 'viem'
import { LENS_MODES, type LensMode } from '../../../../src/chain/call/lens.ts'
import { createHoldingsReader } from '../../../../src/family/aave_v3/holdings.ts'
import { createLendingReader } from '../../../../src/family/aave_v3/read/read.ts'
import { MARKETS, type MarketName } from '../../../devnet/aave_v3/addresses.ts'
import type { AaveDevnet } from '../../../devnet/aave_v3/mod.ts'
import { sharedAave } from '../../../devnet/aave_v3/shared.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { readHoldings } from '../../../support/holdings.ts'
import { withLensMode } from '../../../support/lens_mode.ts'
import { slowClock } from '../../../support/test_clock.ts'
import { createChain, createClient, DEPLOYMENTS, readWallets } from './support.ts'

let devnet: Devnet
let aave: AaveDevnet
let wallets: readonly Address[]

beforeAll(async () => {
  const shared = await sharedAave()
  devnet = shared.devnet
  aave = shared.aave
  const random = await aave.randomWallets(40_123, 40)
  wallets = [...Object.values(aave.wallets), ...random.wallets]
}, 180_000)

const PROVIDER = parseAbi([
  'function getPoolDataProvider() view returns (address)',
  'function getReserveTokensAddresses(address) view returns (address, address, address)',
])
/** Of tokens older than the standard. */
const OLD = parseAbi(['function name() view returns (bytes32)'])

function setUp(way?: LensMode) {
  const client = withLensMode(createClient(createChain(devnet)), way)
  const clients = new Map([[client.chain.id, client]])
  const reader = createLendingReader({
    clients,
    deployments: new Map([[client.chain.id, DEPLOYMENTS]]),
    clock: slowClock,
  })
  return { client, reader }
}

describe('holdings()', () => {
  test.each(LENS_MODES)(
    'has each supply and debt of every market, at the price of its oracle, by %s',
    async (way) => {
      const { client, reader } = setUp(way)
      const holdings = createHoldingsReader(reader)
      const counts = { supplied: 0, borrowed: 0 }
      const read = await readWallets(client, wallets)
      for (const wallet of wallets) {
        const held = await readHoldings(holdings, client, { wallet })
        const positions = read.wallets.find((each) => each.wallet === wallet)?.positions ?? []
        const expected = positions.flatMap((position) => {
          const market_id = position.market
          const { unit } = position
          const legs = [
            ...position.assets.map((asset) => ({ kind: 'supplied', asset, amount: asset.supplied })),
            ...position.assets.map((asset) => ({
              kind: 'borrowed',
              asset,
              amount: asset.variableDebt + asset.stableDebt,
            })),
          ]
          return legs
            .filter(({ amount }) => amount > 0n)
            .map(({ kind, asset, amount }) => {
              const { address, ...token } = { address: asset.reserve.asset, symbol: asset.reserve.symbol }
              return {
                kind,
                market_id,
                address,
                ...token,
                decimals: asset.reserve.decimals,
                amount,
                price: asset.price,
                unit,
              }
            })
        })
        const rows = held?.rows.map(({ kind, position, token, amount, price }) => {
          if (price?.kind !== 'price') throw new Error('Cannot find the price')
          const { address, symbol, decimals } = token
          const unit = 10n ** BigInt(price.price.scale)
          const market_id = position['market_id']
          return { kind, market_id, address, symbol, decimals, amount, price: price.price.units, unit }
        })
        const sorted = (list: readonly object[]) => list.map((each) => Object.entries(each).sort().join()).sort()
        expect(sorted(rows ?? [])).toEqual(sorted(expected))
        for (const { kind } of rows ?? []) counts[kind as keyof typeof counts]++
      }
      expect(counts.supplied).toBeGreaterThan(60)
      expect(counts.borrowed).toBeGreaterThan(30)
    },
    120_000,
  )

  test('lists the supply and debt tokens, and names assets by their own contracts', async () => {
    const { client, reader } = setUp()
    const held = await readHoldings(createHoldingsReader(reader), client, {
      wallet: aave.wallets.borrower,
    })
    const expected = new Set<Address>()
    for (const { position, token } of held?.rows ?? []) {
      const { provider } = MARKETS[position['market_id'] as MarketName]
      const reads = { abi: PROVIDER, client: devnet.client }
      const data = await getContract({ ...reads, address: provider }).read.getPoolDataProvider()
      const tokens = await getContract({ ...reads, address: data }).read.getReserveTokensAddresses([token.address])
      for (const each of tokens) if (!/^0x0+$/.test(each)) expected.add(each)
      const named = { client: devnet.client, address: token.address }
      const name = await getContract({ abi: erc20Abi, ...named })
        .read.name()
        .catch(async () => hexToString(trim(await getContract({ abi: OLD, ...named }).read.name(), { dir: 'right' })))
      expect(token.name).toBe(name)
    }
    expect(new Set(held?.ownTokens)).toEqual(expected)
    expect(expected.size).toBeGreaterThanOrEqual(2)
  })
})
