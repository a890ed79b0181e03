/**
 * `bun run tokens`: writes the built-in list of tokens from the lists of two packages, both under MIT; with `--check` it
 * checks that the list matches them. The list has only addresses; names and symbols are read on chain.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import optimism from '@eth-optimism/tokenlist'
import * as v from 'valibot'
import { getAddress } from 'viem'
import { CHAINS } from '../src/chain/chains.ts'
import { isNativeToken } from '../src/finance/token/list/native.ts'

const ROOT = join(import.meta.dir, '..')
const FILE = join(ROOT, 'src/finance/token/list/built_in.json')
const AAVE = join(ROOT, 'node_modules/@aave-dao/aave-address-book')

const listed = v.object({
  timestamp: v.pipe(v.string(), v.isoTimestamp()),
  tokens: v.array(v.object({ chainId: v.number(), address: v.string(), tags: v.optional(v.array(v.string())) })),
})

const lists = [
  { folder: join(ROOT, 'node_modules/@eth-optimism/tokenlist'), list: v.parse(listed, optimism) },
  { folder: AAVE, list: v.parse(listed, json(join(AAVE, 'tokenlist.json'))) },
]

function json(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** `@eth-optimism/tokenlist 10.0.1770`, if it is under the one license that this program may carry. */
function readSource(folder: string): string {
  const { name, version, license } = v.parse(
    v.object({ name: v.string(), version: v.string(), license: v.literal('MIT') }),
    json(join(folder, 'package.json')),
  )
  return `${name} ${version}, ${license}`
}

/** Optimism's tokens, and those that Aave's markets hold; Aave's list has its receipts too, which are no tokens here. */
function addressesOn(chainId: number): string[] {
  const found = lists.flatMap(({ list: { tokens } }) =>
    tokens.filter((token) => token.chainId === chainId && (token.tags ?? ['underlying']).includes('underlying')),
  )
  const addresses = new Set(found.map(({ address }) => getAddress(address.toLowerCase())))
  return [...addresses].filter((address) => !isNativeToken({ id: chainId }, address)).sort()
}

const newest =
  lists
    .map(({ list }) => list.timestamp)
    .sort()
    .at(-1) ?? ''
const chains = CHAINS.map(({ id }) => [String(id), addressesOn(id)] as const).filter(([, tokens]) => tokens.length > 0)
const text = `${JSON.stringify(
  {
    date: newest.slice(0, 10),
    sources: lists.map(({ folder }) => readSource(folder)),
    chains: Object.fromEntries(chains),
  },
  null,
  2,
)}\n`

if (!process.argv.includes('--check')) writeFileSync(FILE, text)
else if (readFileSync(FILE, 'utf8') !== text) {
  console.error('built_in.json is not what the packages give: run `bun run tokens`')
  process.exit(1)
}
console.log(chains.map(([id, tokens]) => `${id}: ${tokens.length}`).join(', '))
