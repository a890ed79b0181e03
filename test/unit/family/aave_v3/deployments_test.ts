import { expect, test } from 'bun:test'
import { getAddress } from 'viem'
import { DEFAULT_CHAIN_IDS } from '../../../../src/chain/chains.ts'
import { AAVE_V3_DEPLOYMENTS, MARKET_ALIASES } from '../../../../src/family/aave_v3/table.ts'
import { AAVE_MARKETS } from '../../../support/registries.ts'

/** Markets of forks that kept Aave's contracts; no package lists them. */
const FORKS = ['sparklend', 'hyperlend', 'hypurrfi', 'yei']
const EXTRA_NAMES = /.(Lido|EtherFi|Horizon)$/

test('every market of Aave’s address book is built in at its address, but ZKsync Era’s, and no other is called Aave’s', () => {
  const theirs = AAVE_MARKETS.filter(({ chainId }) => chainId !== 324).map(({ name, chainId, provider }) => {
    const market = EXTRA_NAMES.exec(name)?.[1]?.toLowerCase() ?? 'main'
    return `${chainId} ${market} ${provider}`
  })
  const ours = [...AAVE_V3_DEPLOYMENTS].flatMap(([id, deployments]) =>
    deployments
      .filter(({ market }) => !FORKS.includes(market))
      .map(({ market, poolAddressesProvider }) => `${id} ${market} ${poolAddressesProvider}`),
  )
  expect(theirs.length).toBeGreaterThan(20)
  expect(ours.toSorted()).toEqual(theirs.toSorted())
})

test('forks have the addresses of their sources', () => {
  const forks = [...AAVE_V3_DEPLOYMENTS].flatMap(([id, deployments]) =>
    deployments
      .filter(({ market }) => FORKS.includes(market))
      .map(({ market, poolAddressesProvider }) => [id, market, poolAddressesProvider] as const),
  )
  expect(forks).toEqual([
    [1, 'sparklend', '0x02C3eA4e34C0cBd694D2adFa2c690EECbC1793eE'],
    [100, 'sparklend', '0xA98DaCB3fC964A6A0d2ce3B77294241585EAbA6d'],
    [999, 'hyperlend', '0x72c98246a98bFe64022a3190e7710E157497170C'],
    [999, 'hypurrfi', '0xA73ff12D177D8F1Ec938c3ba0e87D33524dD5594'],
    [1_329, 'yei', '0x5C57266688A4aD1d3aB61209ebcb967B84227642'],
  ])
})

test('every default chain has the main market, and lists it first', () => {
  for (const id of DEFAULT_CHAIN_IDS) expect(AAVE_V3_DEPLOYMENTS.get(id)?.[0]?.market).toBe('main')
  for (const deployments of AAVE_V3_DEPLOYMENTS.values()) {
    expect(deployments.findIndex(({ market }) => market === 'main')).toBeLessThanOrEqual(0)
  }
})

test('addresses are checksummed, and a market and its address are listed once per chain', () => {
  for (const deployments of AAVE_V3_DEPLOYMENTS.values()) {
    for (const field of ['market', 'poolAddressesProvider'] as const) {
      expect(new Set(deployments.map((each) => each[field])).size).toBe(deployments.length)
    }
    for (const { poolAddressesProvider, startBlock } of deployments) {
      expect(getAddress(poolAddressesProvider)).toBe(poolAddressesProvider)
      expect(Number.isSafeInteger(startBlock) && startBlock >= 0).toBe(true)
    }
  }
})

test('every alias is of a market that exists', () => {
  const names = new Set([...AAVE_V3_DEPLOYMENTS.values()].flat().map(({ market }) => market))
  for (const [alias, name] of MARKET_ALIASES) expect([names.has(alias), names.has(name)]).toEqual([false, true])
})
