import { type Address, createPublicClient, defineChain, erc20Abi, getAddress, type Hex, http, parseAbi } from 'viem'
import { DATA_PROVIDER_ABI, ORACLE_ABI, POOL_ABI } from '../../devnet/aave_v3/abi.ts'
import { MARKETS } from '../../devnet/aave_v3/addresses.ts'
import { MULTICALL3, UNISWAP_V3 } from '../../devnet/addresses.ts'
import { MORPHO } from '../../devnet/morpho_blue/calls.ts'

/**
 * The same figures asked the usual way: viem with its multicall batching, one `Promise.all` a step, no
 * metering. What it answers is what the protocols' contracts say, raw; it computes less than the product does.
 */

const MANAGER_ABI = parseAbi([
  'function balanceOf(address owner) view returns (uint256)',
  'function tokenOfOwnerByIndex(address owner, uint256 index) view returns (uint256)',
  'function positions(uint256 id) view returns (uint96 nonce, address operator, address token0, address token1, uint24 fee, int24 tickLower, int24 tickUpper, uint128 liquidity, uint256 feeGrowthInside0LastX128, uint256 feeGrowthInside1LastX128, uint128 tokensOwed0, uint128 tokensOwed1)',
  'function getPool(address token0, address token1, uint24 fee) view returns (address)',
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)',
  'function symbol() view returns (string)',
  'function name() view returns (string)',
  'function decimals() view returns (uint8)',
])
const MORPHO_ABI = parseAbi([
  'struct MarketParams { address loanToken; address collateralToken; address oracle; address irm; uint256 lltv; }',
  'struct Market { uint128 totalSupplyAssets; uint128 totalSupplyShares; uint128 totalBorrowAssets; uint128 totalBorrowShares; uint128 lastUpdate; uint128 fee; }',
  'function idToMarketParams(bytes32 id) view returns (MarketParams)',
  'function market(bytes32 id) view returns (Market)',
  'function position(bytes32 id, address user) view returns (uint256 supplyShares, uint128 borrowShares, uint128 collateral)',
  'function borrowRateView(MarketParams params, Market market) view returns (uint256)',
  'function price() view returns (uint256)',
  'function decimals() view returns (uint8)',
])
const AAVE_MARKETS = [MARKETS.main, MARKETS.lido, MARKETS.etherfi] as const
const PAGE = 10
/** Those that a wallet's balances are asked of. */
const LISTED = (process.env['BENCH_TOKENS'] ?? '').split(',') as Address[]

const url = process.env['BENCH_RPC'] ?? ''
const client = createPublicClient({
  chain: defineChain({
    id: 1,
    name: 'Devnet',
    nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
    rpcUrls: { default: { http: [url] } },
    contracts: { multicall3: { address: MULTICALL3 } },
  }),
  transport: http(url),
  batch: { multicall: true },
  cacheTime: 0,
})

const server = Bun.serve({ port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch: answer })
console.log(JSON.stringify({ port: server.port }))

async function answer(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url)
  const wallet = () => getAddress(searchParams.get('wallet') ?? '')
  let data: unknown
  if (pathname === '/v1/positions/uniswap-v3') data = await positions(wallet())
  else if (pathname === '/v1/lending/aave-v3') data = await lending(wallet())
  else if (pathname === '/v1/lending/aave-v3/batch') {
    const { wallets } = (await request.json()) as { readonly wallets: readonly Address[] }
    data = (await Promise.all(wallets.map(lending))).slice(0, PAGE)
  } else if (pathname === '/v1/portfolio/balance') data = await balances(wallet())
  else data = await isolated(wallet(), searchParams.get('market_id') as Hex)
  const body = JSON.stringify({ data }, (_, value) => (typeof value === 'bigint' ? value.toString() : value))
  return new Response(body, { headers: { 'content-type': 'application/json' } })
}

async function balances(wallet: Address): Promise<unknown> {
  const contracts = LISTED.map(
    (address) => ({ address, abi: erc20Abi, functionName: 'balanceOf', args: [wallet] }) as const,
  )
  const [native, tokens] = await Promise.all([
    client.getBalance({ address: wallet }),
    client.multicall({ contracts, allowFailure: false }),
  ])
  const held = LISTED.flatMap((token, index) => (tokens[index] === 0n ? [] : { token, balance: tokens[index] }))
  const text = (address: Address, functionName: 'symbol' | 'name' | 'decimals') =>
    client.readContract({ address, abi: erc20Abi, functionName })
  const names = held.map(({ token }) =>
    Promise.all([text(token, 'symbol'), text(token, 'name'), text(token, 'decimals')]),
  )
  return { native, held, names: await Promise.all(names) }
}

async function positions(wallet: Address): Promise<unknown> {
  const manager = { address: UNISWAP_V3.manager, abi: MANAGER_ABI } as const
  const count = Number(await client.readContract({ ...manager, functionName: 'balanceOf', args: [wallet] }))
  const ids = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      client.readContract({ ...manager, functionName: 'tokenOfOwnerByIndex', args: [wallet, BigInt(index)] }),
    ),
  )
  const states = await Promise.all(
    ids.map((id) => client.readContract({ ...manager, functionName: 'positions', args: [id] })),
  )
  const keys = new Map(states.map(([, , token0, token1, fee]) => [`${token0}${token1}${fee}`, { token0, token1, fee }]))
  const tokens = [...new Set([...keys.values()].flatMap(({ token0, token1 }) => [token0, token1]))]
  const at = <Name extends 'symbol' | 'name' | 'decimals'>(address: Address, functionName: Name) =>
    client.readContract({ address, abi: MANAGER_ABI, functionName })
  const [pools, texts] = await Promise.all([
    Promise.all(
      [...keys].map(async ([key, { token0, token1, fee }]) => {
        const pool = await client.readContract({
          address: UNISWAP_V3.factory,
          abi: MANAGER_ABI,
          functionName: 'getPool' as const,
          args: [token0, token1, fee],
        })
        return [key, await client.readContract({ address: pool, abi: MANAGER_ABI, functionName: 'slot0' })] as const
      }),
    ),
    Promise.all(
      tokens.map(
        async (token) =>
          [token, await Promise.all([at(token, 'symbol'), at(token, 'name'), at(token, 'decimals')])] as const,
      ),
    ),
  ])
  const [slots, names] = [new Map(pools), new Map(texts)]
  const active = states
    .map((state, index) => ({ id: ids[index], state }))
    .filter(({ state }) => state[7] > 0n)
    .slice(0, PAGE)
  return active.map(({ id, state }) => {
    const [, , token0, token1, fee] = state
    return { id, state, slot: slots.get(`${token0}${token1}${fee}`), tokens: [names.get(token0), names.get(token1)] }
  })
}

async function lending(wallet: Address): Promise<unknown> {
  return Promise.all(
    AAVE_MARKETS.map(async ({ pool, oracle, dataProvider }) => {
      const [account, reserves] = await Promise.all([
        client.readContract({ address: pool, abi: POOL_ABI, functionName: 'getUserAccountData', args: [wallet] }),
        client.readContract({ address: pool, abi: POOL_ABI, functionName: 'getReservesList' }),
      ])
      const provider = { address: dataProvider, abi: DATA_PROVIDER_ABI } as const
      const held = await Promise.all(
        reserves.map(async (asset) => ({
          asset,
          user: await client.readContract({ ...provider, functionName: 'getUserReserveData', args: [asset, wallet] }),
        })),
      )
      const own = held.filter(({ user: [supplied, stable, variable] }) => supplied + stable + variable > 0n)
      const details = await Promise.all(
        own.map(({ asset }) =>
          Promise.all([
            client.readContract({ ...provider, functionName: 'getReserveData', args: [asset] }),
            client.readContract({ ...provider, functionName: 'getReserveConfigurationData', args: [asset] }),
            client.readContract({ address: oracle, abi: ORACLE_ABI, functionName: 'getAssetPrice', args: [asset] }),
          ]),
        ),
      )
      return { account, own, details }
    }),
  )
}

async function isolated(wallet: Address, id: Hex): Promise<unknown> {
  const morpho = { address: MORPHO, abi: MORPHO_ABI } as const
  const [params, market, position] = await Promise.all([
    client.readContract({ ...morpho, functionName: 'idToMarketParams', args: [id] }),
    client.readContract({ ...morpho, functionName: 'market', args: [id] }),
    client.readContract({ ...morpho, functionName: 'position', args: [id, wallet] }),
  ])
  const [rate, price, decimals] = await Promise.all([
    client.readContract({ ...morpho, address: params.irm, functionName: 'borrowRateView', args: [params, market] }),
    client.readContract({ ...morpho, address: params.oracle, functionName: 'price' }),
    client.readContract({ ...morpho, address: params.loanToken, functionName: 'decimals' }),
  ])
  return { params, market, position, rate, price, decimals }
}
