import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, toEventSelector, zeroHash } from 'viem'
import { toWalletAddress } from '../addresses.ts'
import { fullRange } from '../ticks.ts'
import type { Receipt } from '../transaction.ts'
import { POSITION_MANAGER_ABI } from './abi.ts'
import { UNISWAP_V4 } from './addresses.ts'
import { type Paid, realBurns } from './burns.ts'
import { mintCall, type V4Change, type V4MintRequest } from './calls.ts'
import { fund } from './fund.ts'
import type { Node } from './place.ts'
import {
  createNamedPools,
  createPools,
  liquidityWorth,
  type V4PoolName,
  type V4PoolOf,
  type V4PoolRequest,
} from './pools.ts'

/** Uniswap V4 by real transactions. Calls for `send` are in calls.ts, the contracts' functions in abi.ts. */
export interface UniswapV4 extends Node {
  readonly pools: Readonly<Record<V4PoolName, V4PoolOf>>
  createPools(requests: readonly V4PoolRequest[]): Promise<V4PoolOf[]>
  /** Mints in the order given; the bank pays unless another is named. Returns the ids. */
  mintMany(requests: readonly V4MintRequest[]): Promise<bigint[]>
  mint(request: V4MintRequest): Promise<bigint>
  /** Gives wallets ether and plenty of all tokens, and lets the manager take them. */
  fund(wallets: readonly Address[]): Promise<void>
  readLiquidity(tokenIds: readonly bigint[]): Promise<bigint[]>
  /** What withdrawing each position pays in fact; null: it reverts. The chain is afterwards as it was. */
  realBurns(changes: readonly V4Change[]): Promise<(Paid | null)[]>
}

const TRANSFER = toEventSelector('Transfer(address,address,uint256)')
/** US dollars on each side of a pool that swaps trade against. */
const DEPTH_USD = 2_000_000

/** Creates the pools, and gives each liquidity that swaps trade against; the contracts stand. */
export async function addUniswapV4(node: Node): Promise<UniswapV4> {
  const { rpc, send } = node
  const pools = await createNamedPools(node)
  const mintMany = async (requests: readonly V4MintRequest[]) => (await send(requests.map(mintCall))).map(mintedId)
  await mintMany(
    Object.values(pools).map((pool) => {
      const range = fullRange(pool)
      const liquidity = liquidityWorth(pool, { ...range, usd: DEPTH_USD })
      return { pool, ...range, liquidity, recipient: toWalletAddress('v4 market') }
    }),
  )
  return {
    rpc,
    send,
    pools,
    mintMany,
    createPools: (requests) => createPools(node, requests),
    mint: async (request) => only(await mintMany([request])),
    fund: (wallets) => fund(node, { wallets, pools: Object.values(pools) }),
    readLiquidity: (tokenIds) => readLiquidity(node, tokenIds),
    realBurns: (changes) => realBurns(node, changes),
  }
}

/** The position that a transaction minted. */
export function mintedId(receipt: Receipt): bigint {
  const log = receipt.logs.find(
    ({ address, topics }) =>
      address.toLowerCase() === UNISWAP_V4.positionManager.toLowerCase() &&
      topics[0] === TRANSFER &&
      topics[1] === zeroHash,
  )
  if (log?.topics[3] === undefined) throw new Error(`Cannot read what ${receipt.transactionHash} minted: no event`)
  return BigInt(log.topics[3])
}

async function readLiquidity({ rpc }: Node, tokenIds: readonly bigint[]): Promise<bigint[]> {
  const functionName = 'getPositionLiquidity'
  const results = await rpc.batch<Hex>(
    tokenIds.map((tokenId) => {
      const data = encodeFunctionData({ abi: POSITION_MANAGER_ABI, functionName, args: [tokenId] })
      return { method: 'eth_call', params: [{ to: UNISWAP_V4.positionManager, data }, 'latest'] }
    }),
  )
  return results.map((data) => decodeFunctionResult({ abi: POSITION_MANAGER_ABI, functionName, data }))
}

function only<T>(values: readonly T[]): T {
  const [value] = values
  if (value === undefined) throw new Error('Cannot read the only answer: there is none')
  return value
}
