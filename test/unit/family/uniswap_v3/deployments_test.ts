import { expect, test } from 'bun:test'
import { getAddress } from 'viem'
import { CHAINS } from '../../../../src/chain/chains.ts'
import type { EnumerableDeployment } from '../../../../src/family/liquidity/enumerable/exchange.ts'
import { UNISWAP_V3_DEPLOYMENTS } from '../../../../src/family/uniswap_v3/table.ts'
import {
  type ListedExchange,
  OKU,
  PANCAKESWAP,
  PANCAKESWAP_FACTORIES,
  SUSHISWAP,
  UNISWAP_SDK,
} from '../../../support/registries.ts'

const IDS = CHAINS.map(({ id }) => id)
/** Registry chains that are left out: EraVM (ZKsync Era, Abstract, Lens) and Polygon zkEVM, which ends in 2026. */
const LEFT_OUT = [324, 2_741, 232, 1_101]

/** Uniswap's first factory. */
const CODES = ['uniswap_v3', 'pancakeswap_v3', 'sushiswap_v3', 'projectx_v3']

function listed(code: string): (readonly [number, ListedExchange])[] {
  return [...UNISWAP_V3_DEPLOYMENTS].flatMap(([id, deployments]) =>
    deployments.filter((each) => each.code === code).map(({ manager, factory }) => [id, { manager, factory }] as const),
  )
}

function sorted(entries: Iterable<readonly [number, ListedExchange]>): (readonly [number, ListedExchange])[] {
  return [...entries].filter(([id]) => !LEFT_OUT.includes(id)).sort(([a], [b]) => a - b)
}

/** Uniswap V3 of Oku on chains that Uniswap's own SDK does not have. */
function okus(): (readonly [number, ListedExchange])[] {
  return [...OKU].flatMap(([id, { uniswap }]) => {
    const { poolFactory: factory, positionsNFT: manager } = uniswap
    const isListed = factory !== undefined && manager !== undefined && IDS.includes(id)
    return isListed && !UNISWAP_SDK.has(id) ? [[id, { manager, factory }] as const] : []
  })
}

test('every manager and factory of Uniswap V3 is that of Uniswap’s SDK or else of Oku, and all are listed', () => {
  expect(UNISWAP_SDK.size).toBeGreaterThan(20)
  expect(listed('uniswap_v3')).toEqual(sorted([...UNISWAP_SDK, ...okus()]))
})

test('every manager and factory of SushiSwap V3 is the one of its package, and none of them is missing', () => {
  // A hub of SKALE's and nine other chains have no other protocol of ours.
  expect(SUSHISWAP.size).toBeGreaterThan(25)
  expect(listed('sushiswap_v3')).toEqual(sorted(SUSHISWAP))
})

test('every manager and factory of PancakeSwap V3 is the one of its package, and none of them is missing', () => {
  const known = new Map(sorted(PANCAKESWAP))
  const [first] = known.values()
  const rows = listed('pancakeswap_v3')
  expect(rows.filter(([id]) => known.has(id))).toEqual([...known])
  // Monad and Robinhood Chain came after the last version of the package without a wallet of Solana's below it.
  const later = rows.filter(([id]) => !known.has(id))
  expect(later.map(([id]) => id)).toEqual([143, 4_663])
  for (const [id, each] of later) {
    expect(each).toEqual(first as ListedExchange)
    expect(PANCAKESWAP_FACTORIES.get(id)).toBe(each.factory)
  }
})

test('the manager of Project X is on HyperEVM alone; no package lists it', () => {
  const manager = '0xeaD19AE861c29bBb2101E834922B2FEee69B9091'
  const factory = '0xFf7B3e8C00e57ea31477c32A5B52a58Eea47b072'
  expect(listed('projectx_v3')).toEqual([[999, { manager, factory }]])
  expect(IDS).toContain(999)
})

test('every manager of Uniswap V3 that Oku knows has no events before the block that is listed', () => {
  let compared = 0
  for (const [id, deployments] of UNISWAP_V3_DEPLOYMENTS) {
    const created = OKU.get(id)?.uniswap.positionsNFTDeployBlock
    const own = deployments.find(({ code }) => code === 'uniswap_v3')
    if (created === undefined || own === undefined) continue
    expect([id, own.startBlock]).toEqual([id, created])
    compared += 1
  }
  expect(compared).toBeGreaterThan(40)
})

test('addresses are checksummed, and a manager is listed once per chain, Uniswap’s first', () => {
  for (const deployments of UNISWAP_V3_DEPLOYMENTS.values()) {
    const managers = deployments.map(({ manager }) => manager)
    expect(new Set(managers).size).toBe(managers.length)
    expect(deployments).toEqual(deployments.toSorted((a, b) => rank(a) - rank(b)))
    for (const { manager, factory, startBlock, code } of deployments) {
      expect([getAddress(manager), getAddress(factory)]).toEqual([manager, factory])
      expect(Number.isSafeInteger(startBlock) && startBlock >= 0).toBe(true)
      expect(CODES).toContain(code)
    }
  }
})

function rank({ code }: EnumerableDeployment): number {
  return CODES.indexOf(code)
}
