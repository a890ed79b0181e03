import {
  type Address,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  maxUint256,
  parseAbi,
  zeroAddress,
} from 'viem'
import { BANK } from '../addresses.ts'
import type { Transaction } from '../transaction.ts'
import { DONATE_ROUTER_ABI, POOL_MANAGER_ABI, POSITION_MANAGER_ABI, SWAP_ROUTER_ABI } from './abi.ts'
import { UNISWAP_V4 } from './addresses.ts'

const MAX_UINT128 = 2n ** 128n - 1n
const MIN_SQRT_PRICE = 4295128739n
const MAX_SQRT_PRICE = 1461446703485210103287273052203988822378723970342n
/** More ether than any call of ours needs; what is left comes back. */
const ETHER_SENT_WEI = 10n ** 22n

/** The five words that name a pool; its id is their hash. Currency 0 of a pool with ether is the zero address. */
export interface PoolKey {
  readonly currency0: Address
  readonly currency1: Address
  /** Hundredths of a bip, or 0x800000: the hook sets it. */
  readonly fee: number
  readonly tickSpacing: number
  readonly hooks: Address
}

/** A pool of the devnet. */
export interface V4Pool {
  readonly id: Hex
  readonly key: PoolKey
  readonly tickSpacing: number
  /** Tick it was created at. */
  readonly startTick: number
}

export interface V4MintRequest {
  readonly pool: Pick<V4Pool, 'key'>
  readonly tickLower: number
  readonly tickUpper: number
  readonly liquidity: bigint
  readonly recipient: Address
  /** Who pays. @default BANK */
  readonly from?: Address
}

/** A change of one position by its owner or an approved address. */
export interface V4Change {
  readonly pool: Pick<V4Pool, 'key'>
  readonly tokenId: bigint
  readonly owner: Address
}

/** What the position manager executes: a byte of its Actions.sol and that action's parameters. */
type Action = readonly [number, Hex]

export const KEY_TUPLE = {
  type: 'tuple',
  components: [
    { name: 'currency0', type: 'address' },
    { name: 'currency1', type: 'address' },
    { name: 'fee', type: 'uint24' },
    { name: 'tickSpacing', type: 'int24' },
    { name: 'hooks', type: 'address' },
  ],
} as const

const ID = { type: 'uint256' } as const
const LIMIT = { type: 'uint128' } as const
const HOOK_DATA = { type: 'bytes' } as const
const ADDRESS = { type: 'address' } as const

export function initializeCall(key: PoolKey, sqrtPriceX96: bigint): Transaction {
  const data = encodeFunctionData({ abi: POOL_MANAGER_ABI, functionName: 'initialize', args: [key, sqrtPriceX96] })
  return { from: BANK, to: UNISWAP_V4.poolManager, data }
}

export function mintCall({
  pool,
  tickLower,
  tickUpper,
  liquidity,
  recipient,
  from = BANK,
}: V4MintRequest): Transaction {
  const mint = encodeAbiParameters(
    [KEY_TUPLE, { type: 'int24' }, { type: 'int24' }, ID, LIMIT, LIMIT, ADDRESS, HOOK_DATA],
    [pool.key, tickLower, tickUpper, liquidity, MAX_UINT128, MAX_UINT128, recipient, '0x'],
  )
  return executePaid(from, pool.key, [0x02, mint])
}

/** Pays what the liquidity costs, less the fees that were due. */
export function increaseCall({
  pool,
  tokenId,
  owner,
  liquidity,
}: V4Change & { readonly liquidity: bigint }): Transaction {
  const increase = encodeAbiParameters(
    [ID, ID, LIMIT, LIMIT, HOOK_DATA],
    [tokenId, liquidity, MAX_UINT128, MAX_UINT128, '0x'],
  )
  return executePaid(owner, pool.key, [0x00, increase])
}

/** Withdraws liquidity and all fees; `to` is who gets them, by default the owner. */
export function decreaseCall({
  pool,
  tokenId,
  owner,
  liquidity,
  to = owner,
}: V4Change & { readonly liquidity: bigint; readonly to?: Address }): Transaction {
  const decrease = encodeAbiParameters([ID, ID, LIMIT, LIMIT, HOOK_DATA], [tokenId, liquidity, 0n, 0n, '0x'])
  return execute(owner, [
    [0x01, decrease],
    [0x11, takePair(pool.key, to)],
  ])
}

/** All fees. */
export function collectCall(change: V4Change & { readonly to?: Address }): Transaction {
  return decreaseCall({ ...change, liquidity: 0n })
}

/** Withdraws everything and ends the position. */
export function burnCall({ pool, tokenId, owner, to = owner }: V4Change & { readonly to?: Address }): Transaction {
  const burn = encodeAbiParameters([ID, LIMIT, LIMIT, HOOK_DATA], [tokenId, 0n, 0n, '0x'])
  return execute(owner, [
    [0x03, burn],
    [0x11, takePair(pool.key, to)],
  ])
}

export function transferCall({
  tokenId,
  owner,
  to,
  from = owner,
}: Omit<V4Change, 'pool'> & { readonly to: Address; readonly from?: Address }): Transaction {
  const args = [owner, to, tokenId] as const
  return managerCall(from, encodeFunctionData({ abi: POSITION_MANAGER_ABI, functionName: 'transferFrom', args }))
}

export function approveCall({
  tokenId,
  owner,
  spender,
}: Omit<V4Change, 'pool'> & { readonly spender: Address }): Transaction {
  const args = [spender, tokenId] as const
  return managerCall(owner, encodeFunctionData({ abi: POSITION_MANAGER_ABI, functionName: 'approve', args }))
}

/** Several calls of one sender to the manager in one transaction. */
export function multicall(calls: readonly [Transaction, ...Transaction[]]): Transaction {
  const args = [calls.map(({ data }) => data)] as const
  const data = encodeFunctionData({ abi: POSITION_MANAGER_ABI, functionName: 'multicall', args })
  return { ...managerCall(calls[0].from, data), value: calls[0].value ?? 0n }
}

/** The bank sells `amountIn` raw units of one currency for the other. */
export function swapCall(swap: {
  readonly pool: Pick<V4Pool, 'key'>
  readonly zeroForOne: boolean
  readonly amountIn: bigint
}): Transaction {
  const { pool, zeroForOne, amountIn } = swap
  const sqrtPriceLimitX96 = zeroForOne ? MIN_SQRT_PRICE + 1n : MAX_SQRT_PRICE - 1n
  const data = encodeFunctionData({
    abi: SWAP_ROUTER_ABI,
    functionName: 'swap',
    args: [
      pool.key,
      { zeroForOne, amountSpecified: -amountIn, sqrtPriceLimitX96 },
      { takeClaims: false, settleUsingBurn: false },
      '0x',
    ],
  })
  const value = zeroForOne && pool.key.currency0 === zeroAddress ? amountIn : 0n
  return { from: BANK, to: UNISWAP_V4.swapRouter, data, value }
}

/** The bank gives both amounts to the positions in range. */
export function donateCall(donation: {
  readonly pool: Pick<V4Pool, 'key'>
  readonly amount0: bigint
  readonly amount1: bigint
}): Transaction {
  const { pool, amount0, amount1 } = donation
  const data = encodeFunctionData({
    abi: DONATE_ROUTER_ABI,
    functionName: 'donate',
    args: [pool.key, amount0, amount1, '0x'],
  })
  return { from: BANK, to: UNISWAP_V4.donateRouter, data, value: pool.key.currency0 === zeroAddress ? amount0 : 0n }
}

const TOKEN_ABI = parseAbi(['function approve(address spender, uint256 value)'])
const PERMIT2_ABI = parseAbi(['function approve(address token, address spender, uint160 amount, uint48 expiration)'])

/** Lets the manager take a token from `holder` by Permit2, for ever. */
export function permitCalls(holder: Address, token: Address): Transaction[] {
  const args = [token, UNISWAP_V4.positionManager, 2n ** 160n - 1n, 2 ** 48 - 1] as const
  return [
    allowCall(holder, token, UNISWAP_V4.permit2),
    {
      from: holder,
      to: UNISWAP_V4.permit2,
      data: encodeFunctionData({ abi: PERMIT2_ABI, functionName: 'approve', args }),
    },
  ]
}

export function allowCall(holder: Address, token: Address, spender: Address): Transaction {
  const data = encodeFunctionData({ abi: TOKEN_ABI, functionName: 'approve', args: [spender, maxUint256] })
  return { from: holder, to: token, data }
}

function execute(from: Address, actions: readonly Action[]): Transaction {
  const codes: Hex = `0x${actions.map(([code]) => code.toString(16).padStart(2, '0')).join('')}`
  const unlockData = encodeAbiParameters([HOOK_DATA, { type: 'bytes[]' }], [codes, actions.map(([, data]) => data)])
  const args = [unlockData, maxUint256] as const
  return managerCall(from, encodeFunctionData({ abi: POSITION_MANAGER_ABI, functionName: 'modifyLiquidities', args }))
}

/** Pays or takes what is open, whichever it is; of the ether that is sent the rest comes back. */
function executePaid(from: Address, key: PoolKey, action: Action): Transaction {
  const { currency0, currency1 } = key
  const close = (currency: Address): Action => [0x12, encodeAbiParameters([ADDRESS], [currency])]
  const actions = [action, close(currency0), close(currency1)]
  if (currency0 !== zeroAddress) return execute(from, actions)
  const sweep: Action = [0x14, encodeAbiParameters([ADDRESS, ADDRESS], [zeroAddress, from])]
  return { ...execute(from, [...actions, sweep]), value: ETHER_SENT_WEI }
}

function takePair({ currency0, currency1 }: PoolKey, to: Address): Hex {
  return encodeAbiParameters([ADDRESS, ADDRESS, ADDRESS], [currency0, currency1, to])
}

function managerCall(from: Address, data: Hex): Transaction {
  return { from, to: UNISWAP_V4.positionManager, data }
}
