import { type Address, decodeEventLog, decodeFunctionResult, encodeFunctionData, type Hex, toEventSelector } from 'viem'
import { UNISWAP_V3 } from './addresses.ts'
import type { Rpc } from './rpc.ts'
import type { Receipt, Send, Transaction } from './transaction.ts'
import {
  burnCall,
  collectCall,
  createPoolCall,
  decreaseLiquidityCall,
  FACTORY_ABI,
  increaseLiquidityCall,
  type LiquidityChange,
  MANAGER_ABI,
  type MintRequest,
  mintCall,
  POOL_ABI,
  type Pool,
  type PoolRequest,
  type SwapRequest,
  swapCall,
  transferCall,
} from './uniswap_v3_calls.ts'

/** A position as the transaction that minted it left it. */
export interface Minted {
  readonly tokenId: bigint
  readonly liquidity: bigint
  readonly amount0: bigint
  readonly amount1: bigint
}

/** Raw units of token0 and token1. */
export interface Amounts {
  readonly amount0: bigint
  readonly amount1: bigint
}

/** What `positions(tokenId)` stores, and the owner. */
export interface StoredPosition {
  readonly tokenId: bigint
  readonly owner: Address
  readonly token0: Address
  readonly token1: Address
  readonly fee: number
  readonly tickLower: number
  readonly tickUpper: number
  readonly liquidity: bigint
  readonly tokensOwed0: bigint
  readonly tokensOwed1: bigint
}

const INCREASE_LIQUIDITY = toEventSelector('IncreaseLiquidity(uint256,uint128,uint256,uint256)')

/** A block number; absent: the latest block. */
type AtBlock = bigint | undefined

/** Uniswap V3 by real transactions, and the contracts' own answers to compare ours with. */
export type UniswapV3 = ReturnType<typeof createUniswapV3>

export function createUniswapV3({ rpc, send }: { readonly rpc: Rpc; readonly send: Send }) {
  const createPools = async (requests: readonly PoolRequest[]): Promise<Pool[]> => {
    await send(requests.map(createPoolCall))
    return readPools(rpc, requests)
  }
  const mintMany = async (requests: readonly MintRequest[]): Promise<Minted[]> =>
    (await send(requests.map(mintCall))).map(decodeMinted)
  const sendOne = async (transaction: Transaction): Promise<void> => {
    await send([transaction])
  }
  const staticDecreaseMany = (tokenIds: readonly bigint[], block?: AtBlock) => readDecreases(rpc, tokenIds, block)
  const staticCollectMany = (tokenIds: readonly bigint[], block?: AtBlock) => readCollects(rpc, tokenIds, block)
  return {
    createPools,
    createPool: async (request: PoolRequest): Promise<Pool> => only(await createPools([request])),
    mintMany,
    mint: async (request: MintRequest): Promise<Minted> => only(await mintMany([request])),
    swap: (request: SwapRequest) => sendOne(swapCall(request)),
    increaseLiquidity: (request: Amounts & { readonly tokenId: bigint }) => sendOne(increaseLiquidityCall(request)),
    decreaseLiquidity: (change: LiquidityChange) => sendOne(decreaseLiquidityCall(change)),
    collect: (request: Parameters<typeof collectCall>[0]) => sendOne(collectCall(request)),
    burn: (request: Parameters<typeof burnCall>[0]) => sendOne(burnCall(request)),
    transfer: (request: Parameters<typeof transferCall>[0]) => sendOne(transferCall(request)),
    /** Current price and tick of a pool. */
    readSlot0: (pool: Address, block?: AtBlock) => readSlot0(rpc, pool, block),
    readPositions: (tokenIds: readonly bigint[], block?: AtBlock) => readStored(rpc, tokenIds, block),
    readTokenIds: (owner: Address, block?: AtBlock) => readTokenIds(rpc, owner, block),
    staticDecreaseMany,
    /** What withdrawing all its liquidity would give, simulated from the owner; zeros if there is none. */
    staticDecrease: async (tokenId: bigint, block?: AtBlock): Promise<Amounts> =>
      only(await staticDecreaseMany([tokenId], block)),
    staticCollectMany,
    /** What collecting everything would pay, simulated from the owner. */
    staticCollect: async (tokenId: bigint, block?: AtBlock): Promise<Amounts> =>
      only(await staticCollectMany([tokenId], block)),
  }
}

function decodeMinted(receipt: Receipt): Minted {
  const log = receipt.logs.find(({ topics }) => topics[0] === INCREASE_LIQUIDITY)
  if (log === undefined) throw new Error(`Cannot read the minted position from ${receipt.transactionHash}: no event`)
  return decodeEventLog({
    abi: MANAGER_ABI,
    eventName: 'IncreaseLiquidity',
    topics: [...log.topics] as [Hex, ...Hex[]],
    data: log.data,
  }).args
}

async function readPools(rpc: Rpc, requests: readonly PoolRequest[]): Promise<Pool[]> {
  const addresses = (
    await callMany(
      rpc,
      requests.map(({ tokenA, tokenB, fee }) => ({
        to: UNISWAP_V3.factory,
        data: encodeFunctionData({ abi: FACTORY_ABI, functionName: 'getPool', args: [tokenA, tokenB, fee] }),
      })),
    )
  ).map((data) => decodeFunctionResult({ abi: FACTORY_ABI, functionName: 'getPool', data }))
  const spacings = await callMany(
    rpc,
    addresses.map((to) => ({ to, data: encodeFunctionData({ abi: POOL_ABI, functionName: 'tickSpacing' }) })),
  )
  return Promise.all(
    requests.map(async ({ tokenA, tokenB, fee }, index) => {
      const address = at(addresses, index)
      const [token0, token1] = BigInt(tokenA) < BigInt(tokenB) ? [tokenA, tokenB] : [tokenB, tokenA]
      return {
        address,
        token0,
        token1,
        fee,
        tickSpacing: Number(at(spacings, index)),
        startTick: (await readSlot0(rpc, address)).tick,
      }
    }),
  )
}

async function readSlot0(rpc: Rpc, pool: Address, block?: AtBlock): Promise<{ sqrtPriceX96: bigint; tick: number }> {
  const call = { to: pool, data: encodeFunctionData({ abi: POOL_ABI, functionName: 'slot0' }) }
  const data = only(await callMany(rpc, [call], block))
  const [sqrtPriceX96, tick] = decodeFunctionResult({ abi: POOL_ABI, functionName: 'slot0', data })
  return { sqrtPriceX96, tick }
}

async function readTokenIds(rpc: Rpc, owner: Address, block?: AtBlock): Promise<bigint[]> {
  const read = (datas: readonly Hex[]) =>
    callMany(
      rpc,
      datas.map((data) => ({ to: UNISWAP_V3.manager, data })),
      block,
    )
  const balance = await read([encodeFunctionData({ abi: MANAGER_ABI, functionName: 'balanceOf', args: [owner] })])
  const indices = Array.from({ length: Number(only(balance)) }, (_, index) => BigInt(index))
  const ids = await read(
    indices.map((index) =>
      encodeFunctionData({ abi: MANAGER_ABI, functionName: 'tokenOfOwnerByIndex', args: [owner, index] }),
    ),
  )
  return ids.map(BigInt)
}

async function readStored(rpc: Rpc, tokenIds: readonly bigint[], block?: AtBlock): Promise<StoredPosition[]> {
  const results = await callMany(
    rpc,
    tokenIds.flatMap((tokenId) =>
      (['ownerOf', 'positions'] as const).map((functionName) => ({
        to: UNISWAP_V3.manager,
        data: encodeFunctionData({ abi: MANAGER_ABI, functionName, args: [tokenId] }),
      })),
    ),
    block,
  )
  return tokenIds.map((tokenId, index) => {
    const owner = decodeFunctionResult({ abi: MANAGER_ABI, functionName: 'ownerOf', data: at(results, 2 * index) })
    const [, , token0, token1, fee, tickLower, tickUpper, liquidity, , , tokensOwed0, tokensOwed1] =
      decodeFunctionResult({ abi: MANAGER_ABI, functionName: 'positions', data: at(results, 2 * index + 1) })
    const stored = { token0, token1, fee, tickLower, tickUpper, liquidity, tokensOwed0, tokensOwed1 }
    return { tokenId, owner, ...stored }
  })
}

async function readDecreases(rpc: Rpc, tokenIds: readonly bigint[], block?: AtBlock): Promise<Amounts[]> {
  const stored = await readStored(rpc, tokenIds, block)
  const open = stored.filter(({ liquidity }) => liquidity > 0n)
  const results = await callMany(rpc, open.map(decreaseLiquidityCall), block)
  const paid = new Map(
    open.map(({ tokenId }, index) => {
      const data = at(results, index)
      const [amount0, amount1] = decodeFunctionResult({ abi: MANAGER_ABI, functionName: 'decreaseLiquidity', data })
      return [tokenId, { amount0, amount1 }]
    }),
  )
  return tokenIds.map((tokenId) => paid.get(tokenId) ?? { amount0: 0n, amount1: 0n })
}

async function readCollects(rpc: Rpc, tokenIds: readonly bigint[], block?: AtBlock): Promise<Amounts[]> {
  const stored = await readStored(rpc, tokenIds, block)
  const results = await callMany(rpc, stored.map(collectCall), block)
  return results.map((data) => {
    const [amount0, amount1] = decodeFunctionResult({ abi: MANAGER_ABI, functionName: 'collect', data })
    return { amount0, amount1 }
  })
}

function callMany(
  rpc: Rpc,
  requests: readonly { readonly from?: Address; readonly to?: Address; readonly data: Hex }[],
  block?: AtBlock,
): Promise<Hex[]> {
  const tag = block === undefined ? 'latest' : `0x${block.toString(16)}`
  return rpc.batch(
    requests.map(({ from, to, data }) => ({
      method: 'eth_call',
      params: [{ ...(from === undefined ? {} : { from }), to, data }, tag],
    })),
  )
}

function only<T>(values: readonly T[]): T {
  return at(values, 0)
}

function at<T>(values: readonly T[], index: number): T {
  const value = values[index]
  if (value === undefined) throw new Error(`Cannot read answer ${index}: there are ${values.length}`)
  return value
}
