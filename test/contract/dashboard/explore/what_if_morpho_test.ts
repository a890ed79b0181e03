import { afterAll, beforeAll, expect, test } from 'bun:test'
import { presentWallet } from '../../../../src/family/morpho_blue/present/list.ts'
import { createDevnetChain } from '../../../devnet/chain.ts'
import { type Devnet, startDevnet } from '../../../devnet/mod.ts'
import type { MorphoDevnet } from '../../../devnet/morpho_blue/mod.ts'
import { liquidationAt, morphoLegs, whatIf } from '../../../support/dashboard/explore/pages.ts'
import { createClient, createReader } from '../../family/morpho_blue/support.ts'

/** Relative: the sixth digit of US dollars, and interest of some seconds. */
const NEAR = 2e-5

let devnet: Devnet
let morpho: MorphoDevnet

beforeAll(async () => {
  devnet = await startDevnet()
  morpho = await devnet.morpho()
}, 120_000)
afterAll(() => devnet?.stop())

test("Morpho lets a position be liquidated below the page's price, and not above it", async () => {
  const read = createReader(createClient(createDevnetChain(devnet)))
  let tried = 0
  for (const market of Object.values(morpho.markets)) {
    for (const wallet of Object.values(morpho.wallets)) {
      const found = await read(market, wallet)
      if (found.kind !== 'position' || found.position.owed === 0n || found.position.collateral === 0n) continue
      const { oraclePrice = 0n } = found.position
      const [presented] = presentWallet({ chainId: 1, wallet, positions: [found], omitted: 0 }, '1.5').positions
      const legs = presented && morphoLegs(presented)
      if (legs === undefined || oraclePrice === 0n) continue
      const now = whatIf(legs, { prices: {}, borrowed: {} })
      expect(Math.abs(now.healthFactor - Number(presented?.healthFactor))).toBeLessThan(2e-4)
      const edge = (liquidationAt(legs, 'collateral') ?? 0) * Number(oraclePrice)
      for (const [side, isLiquidated] of [
        [1 - NEAR, true],
        [1 + NEAR, false],
      ] as const) {
        await morpho.setOracle(market, { price: BigInt(Math.round(edge * side)) })
        expect({ market: market.id, isLiquidated: await morpho.canLiquidate(market, wallet) }).toEqual({
          market: market.id,
          isLiquidated,
        })
      }
      await morpho.setOracle(market, { price: oraclePrice })
      tried++
    }
  }
  expect(tried).toBeGreaterThan(2)
}, 60_000)
