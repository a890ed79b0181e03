import { dirname, join } from 'node:path'
import * as aaveBook from '@aave-dao/aave-address-book'
import optimism from '@eth-optimism/tokenlist'
import uniswap from '@uniswap/default-token-list'
import { Glob } from 'bun'
import * as v from 'valibot'
import { type Address, getAddress } from 'viem'

/** Lists that name tokens: which of them have a token under a symbol. Uniswap's is under the GPL, and for tests alone. */

const listed = v.object({
  chainId: v.number(),
  address: v.pipe(v.string(), v.regex(/^0x[0-9a-fA-F]{40}$/)),
  symbol: v.string(),
})
type Listed = v.InferOutput<typeof listed>

const aaveMarket = v.object({
  CHAIN_ID: v.number(),
  ASSETS: v.record(v.string(), v.object({ UNDERLYING: v.string() })),
})

/** Aave's markets of both versions call a bridged token by its symbol and an `e`. */
const aave = Object.values(aaveBook).flatMap((market): Listed[] => {
  const parsed = v.safeParse(aaveMarket, market)
  if (!parsed.success) return []
  const { CHAIN_ID: chainId, ASSETS } = parsed.output
  return Object.entries(ASSETS).flatMap(([symbol, { UNDERLYING: address }]) => [
    { chainId, address, symbol },
    { chainId, address, symbol: symbol.replace(/e$/, '') },
  ])
})

const sushiFolder = join(
  dirname(Bun.resolveSync('sushi/package.json', import.meta.dir)),
  '_esm/evm/config/tokens/tokens',
)
const sushi: Listed[] = []
for (const file of new Glob('*.js').scanSync(sushiFolder)) {
  const tokens = Object.values((await import(join(sushiFolder, file))) as object)
  for (const token of tokens.flatMap((each) => Object.values(each as object))) {
    if (v.is(listed, token)) sushi.push(v.parse(listed, token))
  }
}

function listTokens(list: unknown): Listed[] {
  const { tokens } = v.parse(v.object({ tokens: v.array(v.unknown()) }), list)
  return tokens.flatMap((token) => (v.is(listed, token) ? [v.parse(listed, token)] : []))
}

const LISTS = { aave, sushi, optimism: listTokens(optimism), uniswap: listTokens(uniswap) }

const getKey = ({ chainId, address, symbol }: Listed): string =>
  `${chainId}:${getAddress(address.toLowerCase())}:${symbol.toLowerCase()}`

const keys = new Map(Object.entries(LISTS).map(([name, tokens]) => [name, new Set(tokens.map(getKey))]))

/** Names of the lists that have the token under the symbol. */
export function findListsWith(chainId: number, token: Address, symbol: string): string[] {
  const key = getKey({ chainId, address: token, symbol })
  return [...keys].filter(([, each]) => each.has(key)).map(([name]) => name)
}
