import { type Address, encodeAbiParameters, encodeFunctionData, keccak256, zeroAddress } from 'viem'
import { BANK, TOKENS } from '../addresses.ts'
import { squareRoot } from '../uniswap_v3_calls.ts'
import { POOL_MANAGER_ABI } from './abi.ts'
import { UNISWAP_V4 } from './addresses.ts'
import { initializeCall, KEY_TUPLE, type PoolKey, type V4Pool } from './calls.ts'
import { HOOKS, type Node } from './place.ts'

/** A side of a pool: where the currency is, and what a whole one is worth. The zero address is ether. */
export interface V4Currency {
  readonly address: Address
  readonly decimals: number
  /** USD per whole one when the devnet starts. */
  readonly usd: number
}

/** A pool to be created at the price at which both currencies are worth the same. */
export interface V4PoolRequest {
  readonly currencies: readonly [V4Currency, V4Currency]
  /** Hundredths of a bip, or `DYNAMIC_FEE`. */
  readonly fee: number
  readonly tickSpacing: number
  /** @default zeroAddress */
  readonly hooks?: Address
}

/** A pool of the devnet with its currencies, in the order of the key. */
export interface V4PoolOf extends V4Pool {
  readonly currencies: readonly [V4Currency, V4Currency]
}

export const DYNAMIC_FEE = 0x800000
export const ETHER: V4Currency = { address: zeroAddress, decimals: 18, usd: 3000 }
/** A tenth of a percent in each direction: twelve bits each, in hundredths of a bip. */
export const PROTOCOL_FEE = (1_000 << 12) | 500

const { weth, usdc, dai, wbtc } = TOKENS

const REQUESTS = {
  plain: { currencies: [usdc, weth], fee: 3_000, tickSpacing: 60 },
  native: { currencies: [ETHER, usdc], fee: 500, tickSpacing: 10 },
  dynamicFee: { currencies: [dai, weth], fee: DYNAMIC_FEE, tickSpacing: 60, hooks: HOOKS.dynamicFee },
  feeTaking: { currencies: [wbtc, usdc], fee: 3_000, tickSpacing: 60, hooks: HOOKS.feeTaking },
  customCurve: { currencies: [dai, weth], fee: 100, tickSpacing: 1, hooks: HOOKS.customCurve },
  forbidding: { currencies: [wbtc, weth], fee: 10_000, tickSpacing: 200, hooks: HOOKS.forbidding },
  protocolFee: { currencies: [usdc, weth], fee: 500, tickSpacing: 10 },
} as const satisfies Record<string, V4PoolRequest>

export type V4PoolName = keyof typeof REQUESTS

/** Creates the devnet's pools; the one called `protocolFee` gives the protocol a share of its fees. */
export async function createNamedPools(node: Node): Promise<Readonly<Record<V4PoolName, V4PoolOf>>> {
  const names = Object.keys(REQUESTS) as V4PoolName[]
  const created = await createPools(
    node,
    names.map((name) => REQUESTS[name]),
  )
  const pools = Object.fromEntries(names.map((name, index) => [name, created[index]]))
  const named = pools as Record<V4PoolName, V4PoolOf>
  const args = [named.protocolFee.key, PROTOCOL_FEE] as const
  const data = encodeFunctionData({ abi: POOL_MANAGER_ABI, functionName: 'setProtocolFee', args })
  await node.send([{ from: BANK, to: UNISWAP_V4.poolManager, data }])
  return named
}

export async function createPools({ send }: Node, requests: readonly V4PoolRequest[]): Promise<V4PoolOf[]> {
  const pools = requests.map((request) => {
    const [a, b] = request.currencies
    const currencies: V4PoolOf['currencies'] = BigInt(a.address) < BigInt(b.address) ? [a, b] : [b, a]
    const { fee, tickSpacing, hooks = zeroAddress } = request
    const key = { currency0: currencies[0].address, currency1: currencies[1].address, fee, tickSpacing, hooks }
    const sqrtPriceX96 = squareRoot((usdToRaw(currencies[1], 90_000) << 192n) / usdToRaw(currencies[0], 90_000))
    return { currencies, key, sqrtPriceX96 }
  })
  await send(pools.map(({ key, sqrtPriceX96 }) => initializeCall(key, sqrtPriceX96)))
  return pools.map(({ currencies, key, sqrtPriceX96 }) => {
    const startTick = Math.floor((2 * Math.log2(Number(sqrtPriceX96) / 2 ** 96)) / Math.log2(1.0001))
    return { id: toPoolId(key), key, tickSpacing: key.tickSpacing, startTick, currencies }
  })
}

export function toPoolId(key: PoolKey) {
  return keccak256(encodeAbiParameters([KEY_TUPLE], [key]))
}

/** Raw units of a currency that so many US dollars buy at the start; at least one. */
export function usdToRaw({ usd, decimals }: Pick<V4Currency, 'usd' | 'decimals'>, dollars: number): bigint {
  const raw = (BigInt(Math.round((dollars / usd) * 1e9)) * 10n ** BigInt(decimals)) / 10n ** 9n
  return raw > 0n ? raw : 1n
}

/** The liquidity of a range around the price at the start that costs about so many US dollars on each side. */
export function liquidityWorth(
  pool: V4PoolOf,
  { tickLower, tickUpper, usd }: { readonly tickLower: number; readonly tickUpper: number; readonly usd: number },
): bigint {
  const root = (tick: number) => 1.0001 ** (tick / 2)
  const price = root(Math.min(Math.max(pool.startTick, tickLower), tickUpper))
  const per0 = 1 / price - 1 / root(tickUpper)
  const per1 = price - root(tickLower)
  const [raw0, raw1] = [usdToRaw(pool.currencies[0], usd), usdToRaw(pool.currencies[1], usd)].map(Number)
  const liquidity = Math.min(per0 > 0 ? Number(raw0) / per0 : Infinity, per1 > 0 ? Number(raw1) / per1 : Infinity)
  return BigInt(Math.max(1, Math.floor(liquidity)))
}
