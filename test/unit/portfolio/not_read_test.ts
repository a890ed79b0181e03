import { expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listNotRead, UNREAD_PROTOCOLS } from '../../../src/portfolio/not_read.ts'

const GUIDE = readFileSync(join(import.meta.dir, '../../../src/dashboard/guide/chains.md'), 'utf8')

test('the guide of chains lists the same protocols, on as many chains', () => {
  const rows = [...GUIDE.matchAll(/^\| (debts|positions) in ([^|]+?) \| ([^|]+?) \|$/gm)]
  const told = rows.map(([, what, name, chains = '']) => [what, name, chains.split(', ').length])
  const known = UNREAD_PROTOCOLS.map(({ name, holds, chainIds }) => {
    return [holds === 'debts' ? 'debts' : 'positions', name, chainIds.length]
  })
  expect(told).toEqual(known)
})

test('names what is on the chains that were read, debts first', () => {
  const found = ['position 7 of a manager: no answer', 'debts in obligations of kamino with unusual seeds']
  const list = listNotRead([1, 8453], { isSolana: false, found })
  expect(list.slice(0, 3)).toEqual([
    'debts in Aave V4 (chain 1, 8453)',
    'debts in Compound V3 (chain 1, 8453)',
    'debts in Morpho Midnight (chain 1, 8453)',
  ])
  const isDebt = list.map((text) => text.startsWith('debts in'))
  expect(isDebt).toEqual(isDebt.toSorted((a, b) => Number(b) - Number(a)))
  expect(list).toContain('debts in protocols and markets of no table')
  expect(list).toContain(found[0] ?? '')
  expect(list.join()).not.toContain('Neverland')
})

test('never leaves debts out, on a chain of no row and on Solana', () => {
  expect(listNotRead([31_337], { isSolana: false, found: [] })[0]).toBe('debts in protocols and markets of no table')
  const solana = listNotRead([101], { isSolana: true, found: [] })
  expect(solana[0]).toBe('debts in programs other than these families')
})
