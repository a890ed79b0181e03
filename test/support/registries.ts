import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import * as aaveBook from '@aave-dao/aave-address-book'
import { MAINNET_CHAINS } from '@gfxlabs/oku-chains'
import { FACTORY_ADDRESSES, NFT_POSITION_MANAGER_ADDRESSES } from '@pancakeswap/v3-sdk'
import { AVERAGE_BLOCK_TIMES_SECONDS, CHAIN_TO_ADDRESSES_MAP, WETH9 } from '@uniswap/sdk-core'
import * as v from 'valibot'
import { type Address, getAddress } from 'viem'
import * as viemChains from 'viem/chains'

/** Registries that publish what the built-in tables hold: one shape for each, checksummed, testnets left out. */

const require = createRequire(import.meta.url)

const address = v.pipe(
  v.string(),
  v.transform((text): Address => getAddress(text.toLowerCase())),
)
const byId = v.pipe(
  v.record(v.string(), address),
  v.transform((record) => new Map(Object.entries(record).map(([id, each]) => [Number(id), each]))),
)

/** A factory and its position manager. */
export interface ListedExchange {
  readonly manager: Address
  readonly factory: Address
}

const viemChain = v.object({
  id: v.number(),
  testnet: v.optional(v.boolean(), false),
  blockTime: v.optional(v.number()),
  nativeCurrency: v.object({ symbol: v.string(), name: v.string(), decimals: v.number() }),
  rpcUrls: v.object({ default: v.object({ http: v.array(v.string()) }) }),
  blockExplorers: v.optional(v.object({ default: v.object({ url: v.string() }) })),
})

/** Chains of `viem/chains` by id; of several that share one, the first. */
export const VIEM: ReadonlyMap<number, v.InferOutput<typeof viemChain>> = new Map(
  Object.values(viemChains)
    .flatMap((each) => {
      const parsed = v.safeParse(viemChain, each)
      return parsed.success && !parsed.output.testnet ? [parsed.output] : []
    })
    .map((each) => [each.id, each] as const)
    .reverse(),
)

const okuChain = v.object({
  id: v.number(),
  testnet: v.optional(v.boolean(), false),
  blockTimeSeconds: v.number(),
  uniswap: v.object({
    poolFactory: v.optional(address),
    positionsNFT: v.optional(address),
    positionsNFTDeployBlock: v.optional(v.number()),
  }),
  contracts: v.optional(v.object({ weth9: v.optional(v.object({ address })) })),
})

/** Chains of Oku by id, with the Uniswap V3 that it uses there. */
export const OKU: ReadonlyMap<number, v.InferOutput<typeof okuChain>> = new Map(
  v
    .parse(v.array(okuChain), MAINNET_CHAINS)
    .filter(({ testnet }) => !testnet)
    .map((each) => [each.id, each]),
)

const sdkCore = v.record(
  v.string(),
  v.object({
    v3CoreFactoryAddress: v.optional(address),
    nonfungiblePositionManagerAddress: v.optional(address),
    v4PoolManagerAddress: v.optional(address),
    v4PositionManagerAddress: v.optional(address),
  }),
)
const UNISWAP = v.parse(sdkCore, CHAIN_TO_ADDRESSES_MAP)

/** Uniswap V3 by chain id, as Uniswap's own SDK has it. */
export const UNISWAP_SDK: ReadonlyMap<number, ListedExchange> = new Map(
  Object.entries(UNISWAP).flatMap(([id, each]) => {
    const { v3CoreFactoryAddress: factory, nonfungiblePositionManagerAddress: manager } = each
    const isMainnet = VIEM.has(Number(id))
    return !isMainnet || factory === undefined || manager === undefined ? [] : [[Number(id), { factory, manager }]]
  }),
)

/** Uniswap V4 by chain id, as Uniswap's own SDK has it. */
export const UNISWAP_V4_SDK: ReadonlyMap<number, { readonly positionManager: Address; readonly poolManager: Address }> =
  new Map(
    Object.entries(UNISWAP).flatMap(([id, each]) => {
      const { v4PoolManagerAddress: poolManager, v4PositionManagerAddress: positionManager } = each
      const isMainnet = VIEM.has(Number(id))
      const isListed = poolManager !== undefined && positionManager !== undefined
      return isMainnet && isListed ? [[Number(id), { positionManager, poolManager }]] : []
    }),
  )

/** Seconds between blocks by chain id, as Uniswap's own SDK has them. */
export const UNISWAP_BLOCK_TIMES: ReadonlyMap<number, number> = new Map(
  Object.entries(v.parse(v.record(v.string(), v.number()), AVERAGE_BLOCK_TIMES_SECONDS)).map(([id, each]) => [
    Number(id),
    each,
  ]),
)

/** Wrapped ether by chain id, as Uniswap's own SDK has it. */
export const UNISWAP_WETH: ReadonlyMap<number, Address> = new Map(
  Object.values(v.parse(v.record(v.string(), v.object({ chainId: v.number(), address })), WETH9)).map((each) => [
    each.chainId,
    each.address,
  ]),
)

const sushi = (await import(
  join(dirname(require.resolve('sushi/package.json')), '_esm/evm/config/features/sushiswap-v3.js')
)) as Readonly<Record<string, unknown>>
const sushiFactories = v.parse(byId, sushi['SUSHISWAP_V3_FACTORY_ADDRESS'])

/** SushiSwap V3 by chain id. */
export const SUSHISWAP: ReadonlyMap<number, ListedExchange> = exchanges(
  v.parse(byId, sushi['SUSHISWAP_V3_POSITION_MANAGER']),
  sushiFactories,
)

/** PancakeSwap V3 by chain id, of before it was on Monad and on Robinhood Chain. */
export const PANCAKESWAP: ReadonlyMap<number, ListedExchange> = exchanges(
  v.parse(byId, NFT_POSITION_MANAGER_ADDRESSES),
  v.parse(byId, FACTORY_ADDRESSES),
)

const pancake = (await import(
  join(dirname(require.resolve('sushi/package.json')), '_esm/evm/config/features/pancakeswap-v3.js')
)) as Readonly<Record<string, unknown>>

/** Factories of PancakeSwap V3 by chain id, as in SushiSwap's router. */
export const PANCAKESWAP_FACTORIES: ReadonlyMap<number, Address> = v.parse(
  byId,
  pancake['PANCAKESWAP_V3_FACTORY_ADDRESS'],
)

/** Hashes of the creation code of PancakeSwap V3's pools by chain id. */
export const PANCAKESWAP_INIT_CODE_HASHES: ReadonlyMap<number, string> = new Map(
  Object.entries(v.parse(v.record(v.string(), v.string()), pancake['PANCAKESWAP_V3_INIT_CODE_HASH'])).map(
    ([id, each]) => [Number(id), each],
  ),
)

const wrapped = v.object({
  CHAIN_ID: v.number(),
  ASSETS: v.record(v.string(), v.object({ UNDERLYING: address, STATA_TOKEN: v.optional(address) })),
})

/** The asset inside one of Aave's wrapped aTokens. */
export function stataUnderlying(chainId: number, token: Address): Address | undefined {
  return Object.values(aaveBook)
    .flatMap((each) => {
      const parsed = v.safeParse(wrapped, each)
      return parsed.success && parsed.output.CHAIN_ID === chainId ? Object.values(parsed.output.ASSETS) : []
    })
    .find(({ STATA_TOKEN }) => STATA_TOKEN === token)?.UNDERLYING
}

const hubs = v.object({
  CHAIN_ID: v.number(),
  ASSETS: v.record(v.string(), v.object({ UNDERLYING: address })),
  HUBS: v.record(v.string(), address),
  TOKENIZATION_SPOKES: v.record(v.string(), address),
})

/** A constant's part without what names of tokens have besides letters and digits. */
const toPlain = (symbol = ''): string => symbol.replaceAll(/[^A-Za-z0-9]/g, '')

/** The asset of a token over a hub of Aave V4, by its constant: `CORE_WETH_TOKENIZATION_SPOKE`. */
export function hubTokenUnderlying(chainId: number, token: Address): Address | undefined {
  return Object.values(aaveBook)
    .flatMap((each) => {
      const parsed = v.safeParse(hubs, each)
      if (!parsed.success || parsed.output.CHAIN_ID !== chainId) return []
      const { ASSETS, HUBS, TOKENIZATION_SPOKES } = parsed.output
      const [name] = Object.entries(TOKENIZATION_SPOKES).find(([, its]) => its === token) ?? []
      const hub = Object.keys(HUBS).find((each) => name?.startsWith(each.replace(/HUB$/, '')))
      const symbol = name?.slice(hub?.replace(/HUB$/, '').length).replace(/_TOKENIZATION_SPOKE$/, '')
      return Object.entries(ASSETS).flatMap(([asset, { UNDERLYING }]) =>
        toPlain(asset) === toPlain(symbol) ? [UNDERLYING] : [],
      )
    })
    .at(0)
}

const aaveMarket = v.object({
  CHAIN_ID: v.number(),
  POOL_ADDRESSES_PROVIDER: address,
  ORACLE: address,
  ASSETS: v.record(v.string(), v.object({ UNDERLYING: address })),
})

/** A market of Aave V3. */
export interface ListedMarket {
  /** `AaveV3EthereumLido` is `EthereumLido`. */
  readonly name: string
  readonly chainId: number
  readonly provider: Address
  readonly oracle: Address
  readonly assets: readonly Address[]
}

/** Markets that Aave's address book has in Solidity only: they are frozen. */
const FROZEN = [
  { name: 'Fantom', chainId: 250 },
  { name: 'Harmony', chainId: 1_666_600_000 },
] as const

/** Markets of Aave V3 in Aave's address book. */
export const AAVE_MARKETS: readonly ListedMarket[] = [
  ...Object.entries(aaveBook).flatMap(([key, each]) => {
    const parsed = v.safeParse(aaveMarket, each)
    if (!key.startsWith('AaveV3') || !parsed.success || !VIEM.has(parsed.output.CHAIN_ID)) return []
    const { CHAIN_ID: chainId, POOL_ADDRESSES_PROVIDER: provider, ORACLE: oracle, ASSETS } = parsed.output
    const assets = Object.values(ASSETS).map(({ UNDERLYING }) => UNDERLYING)
    return [{ name: key.slice('AaveV3'.length), chainId, provider, oracle, assets }]
  }),
  ...FROZEN.map(({ name, chainId }) => {
    const root = dirname(require.resolve('@aave-dao/aave-address-book/package.json'))
    const text = readFileSync(join(root, 'src', `AaveV3${name}.sol`), 'utf8')
    const of = (constant: string): Address =>
      v.parse(address, new RegExp(`\\b${constant} =\\s*\\w+\\(\\s*(0x[0-9a-fA-F]{40})`).exec(text)?.[1])
    return { name, chainId, provider: of('POOL_ADDRESSES_PROVIDER'), oracle: of('ORACLE'), assets: [] }
  }),
]

/** Chainlink's feeds on a chain by name, `ETH__USD`, as Aave's address book has them; undefined if it has none there. */
export function chainlinkFeeds(chain: string): ReadonlyMap<string, Address> | undefined {
  const book = (aaveBook as Readonly<Record<string, unknown>>)[`Chainlink${chain}`]
  if (book === undefined) return undefined
  const { CHAIN_ID: _, ...feeds } = v.parse(v.looseObject({ CHAIN_ID: v.number() }), book)
  return new Map(Object.entries(v.parse(v.record(v.string(), address), feeds)))
}

function exchanges(managers: ReadonlyMap<number, Address>, factories: ReadonlyMap<number, Address>) {
  const listed = [...managers].flatMap(([id, manager]) => {
    const factory = factories.get(id)
    return factory === undefined || !VIEM.has(id) ? [] : [[id, { manager, factory }] as const]
  })
  return new Map<number, ListedExchange>(listed)
}
