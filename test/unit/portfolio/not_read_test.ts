import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import * as viemChains from 'viem/chains'
import { CHAINS } from '../../../src/chain/chains.ts'
import { FAMILIES } from '../../../src/family/mod.ts'
import { UNISWAP_V3 } from '../../../src/family/uniswap_v3/mod.ts'
import { UNISWAP_V3_DEPLOYMENTS } from '../../../src/family/uniswap_v3/table.ts'
import { FINANCE_CHAINS } from '../../../src/finance/chain.ts'
import { toHeldAssets } from '../../../src/portfolio/read/read_chain.ts'
import { listNotRead, NEVER_READ, UNREAD_PROTOCOLS } from '../../../src/portfolio/routes/rows.ts'

const GUIDE = readFileSync(join(import.meta.dir, '../../../src/dashboard/guide/chains.md'), 'utf8')

/** Names of a chain as the guide may have it: whole, or without the word that only tells it from its test networks. */
function listNames(id: number): readonly string[] {
  const row = CHAINS.find((chain) => chain.id === id) ?? Object.values(viemChains).find((chain) => chain.id === id)
  const name = row?.name ?? `chain ${id}`
  return [name, name.replace(/ (?:Mainnet|One)$/, '')]
}

test('the guide of chains lists the same protocols, on the same chains', () => {
  const rows = [...GUIDE.matchAll(/^\| (debts|positions) in ([^|]+?) \| ([^|]+?) \|$/gm)]
  const known = UNREAD_PROTOCOLS.map(({ name, holds }) => [holds === 'debts' ? 'debts' : 'positions', name])
  expect(known.length).toBeGreaterThan(4)
  expect(rows.map(([, what, name]) => [what, name])).toEqual(known)
  for (const [index, [, , name, chains = '']] of rows.entries()) {
    const { chainIds = [] } = UNREAD_PROTOCOLS[index] ?? {}
    const names = chains.split(', ')
    expect([name, names.length]).toEqual([name, chainIds.length])
    for (const [place, id] of chainIds.entries()) expect(listNames(id)).toContain(names[place] ?? '')
  }
})

test('the guide of chains lists what is never read', () => {
  const told = [...GUIDE.matchAll(/^- ([^*(\n]+?)(?: \([^)]+\))?$/gm)].map(([, text = '']) => text)
  for (const what of [...NEVER_READ.evm, ...NEVER_READ.solana]) expect(told).toContain(what)
})

test('no protocol is named as not read that a family reads', () => {
  const families = FAMILIES.map(({ name }) => name)
  for (const { name } of UNREAD_PROTOCOLS) expect(families).not.toContain(name.toLowerCase().replaceAll(' ', '-'))
})

test('the farms of PancakeSwap are named on the chains where its positions are read and no MasterChef is', () => {
  const exchanges = [...UNISWAP_V3_DEPLOYMENTS].flatMap(([chainId, deployments]) =>
    deployments.flatMap(({ code, custodians = [] }) =>
      code === 'pancakeswap_v3' ? [{ chainId, hasMasterChef: custodians.length > 0 }] : [],
    ),
  )
  const isNamed = (chainId: number) =>
    listNotRead([chainId], { isSolana: false, found: [] }).some((text) => text.includes('farms of PancakeSwap'))
  expect(exchanges.filter(({ hasMasterChef }) => hasMasterChef).length).toBeGreaterThan(4)
  for (const { chainId, hasMasterChef } of exchanges) {
    // No source names a farm there.
    const isFarmless = chainId === 4_663
    expect([chainId, isNamed(chainId)]).toEqual([chainId, !hasMasterChef && !isFarmless])
  }
})

test('a MasterChef is named where a row leaves it or its exchange out', () => {
  const [exchange] = UNISWAP_V3_DEPLOYMENTS.get(56)?.filter(({ code }) => code === 'pancakeswap_v3') ?? []
  const what = `positions in uniswap-v3 pancakeswap_v3's masterchef ${exchange?.custodians?.[0]?.address}`
  const listOmitted = (uniswapV3: readonly object[]) => {
    const { omitted } = UNISWAP_V3.configure(new Map([[56, { uniswapV3 }]]))
    return listNotRead([56], { isSolana: false, found: omitted.get(56) ?? [] })
  }
  const { custodians: _, ...bare } = exchange ?? {}
  expect(listOmitted([bare])).toContain(what)
  expect(listOmitted([])).toContain(what)
  expect(listOmitted([exchange ?? {}])).not.toContain(what)
})

test('names what is on the chains that were read, debts first', () => {
  const found = ['position 7 of a manager: no answer', 'debts in obligations of kamino with unusual seeds']
  const list = listNotRead([1, 8453], { isSolana: false, found })
  expect(list[0]).toBe('debts in obligations of kamino with unusual seeds')
  const isDebt = list.map((text) => text.startsWith('debts in'))
  expect(isDebt).toEqual(isDebt.toSorted((a, b) => Number(b) - Number(a)))
  expect(list).toContain('debts in protocols and markets of no table')
  expect(list).toContain(found[0] ?? '')
  expect(list.join()).not.toContain('Neverland')
})

/** What a portfolio of a chain tells whose families did not read these. */
function listTold(...notRead: readonly string[][]): readonly string[] {
  const chain = FINANCE_CHAINS.find(({ id }) => id === 1)
  if (chain === undefined) throw new Error('Cannot find chain 1')
  const block = { chainId: 1, number: 1n, hash: '0x01', parentHash: '0x00', timestampSec: 1n } as const
  const holdings = notRead.map((each) => ({ block, rows: [], ownTokens: [], notRead: each }))
  const balances = { block, rows: [], silent: [], tokensAsked: 0 }
  const { notRead: found } = toHeldAssets({ balances, holdings, prices: new Map() }, { chain, tokens: [] })
  return listNotRead([1], { isSolana: false, found })
}

test('names every debt that was not read, whatever positions strangers gave the wallet', () => {
  const spam = Array.from({ length: 9 }, (_, at) => `position ${at} of a manager: a token has no decimals`)
  const debts = Array.from({ length: 6 }, (_, at) => `debts in aave-v4 spoke ${at}, which this release does not know`)
  const told = listTold(spam, debts)
  const isDebt = told.map((text) => text.startsWith('debts in'))
  expect(isDebt).toEqual(isDebt.toSorted((a, b) => Number(b) - Number(a)))
  for (const debt of debts) expect(told).toContain(`${debt} (chain 1)`)
  expect(told.filter((text) => text.startsWith('chain 1: '))).toEqual([
    ...spam.slice(0, 5).map((each) => `chain 1: ${each}`),
    'chain 1: 4 more tokens and positions that do not answer',
  ])
})

test('never leaves debts out, on a chain of no row and on Solana', () => {
  expect(listNotRead([31_337], { isSolana: false, found: [] })[0]).toBe('debts in protocols and markets of no table')
  const solana = listNotRead([101], { isSolana: true, found: [] })
  expect(solana[0]).toBe('debts in programs other than these families')
})
