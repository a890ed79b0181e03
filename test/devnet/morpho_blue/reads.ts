import { type Address, decodeFunctionResult, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { BANK, MULTICALL3 } from '../addresses.ts'
import type { Rpc } from '../rpc.ts'
import { ADAPTIVE_CURVE, MORPHO, MORPHO_ABI, type MorphoMarket } from './calls.ts'

/** A market and a wallet in it, as the contract itself leaves them after accruing inside the read. */
export interface AccruedByContract {
  readonly totalSupplyAssets: bigint
  readonly totalSupplyShares: bigint
  readonly totalBorrowAssets: bigint
  readonly totalBorrowShares: bigint
  readonly lastUpdate: bigint
  readonly fee: bigint
  readonly supplyShares: bigint
  readonly borrowShares: bigint
  readonly collateral: bigint
}

/** A wallet in a market. */
interface Held {
  readonly market: MorphoMarket
  readonly wallet: Address
}

const ABI = parseAbi([
  'struct Call { address target; bool allowFailure; bytes callData; }',
  'struct Result { bool success; bytes returnData; }',
  'function aggregate3(Call[] calls) payable returns (Result[] results)',
])

const IRM_ABI = parseAbi(['function rateAtTarget(bytes32 id) view returns (int256)'])

/** Accrues and reads what that left, in one call that leaves nothing behind. */
export async function readAccrued(rpc: Rpc, { market, wallet }: Held): Promise<AccruedByContract> {
  const { id, params } = market
  const datas = [
    encodeFunctionData({ abi: MORPHO_ABI, functionName: 'accrueInterest', args: [params] }),
    encodeFunctionData({ abi: MORPHO_ABI, functionName: 'market', args: [id] }),
    encodeFunctionData({ abi: MORPHO_ABI, functionName: 'position', args: [id, wallet] }),
  ]
  const calls = datas.map((callData) => ({ target: MORPHO, allowFailure: false, callData }))
  const data = encodeFunctionData({ abi: ABI, functionName: 'aggregate3', args: [calls] })
  const answer = await rpc.call<Hex>('eth_call', { to: MULTICALL3, data }, 'latest')
  const [, state, position] = decodeFunctionResult({ abi: ABI, functionName: 'aggregate3', data: answer })
  return decodeBooks(state?.returnData, position?.returnData)
}

/** What repaying all of a wallet's debt would take, simulated; 0 without debt. */
export async function staticRepayAll(rpc: Rpc, held: Held): Promise<bigint> {
  const { borrowShares } = await readStored(rpc, held)
  if (borrowShares === 0n) return 0n
  const args = [held.market.params, 0n, borrowShares, held.wallet, '0x'] as const
  const answer = await tryCall(rpc, BANK, encodeFunctionData({ abi: MORPHO_ABI, functionName: 'repay', args }))
  if (answer === undefined) throw new Error('Cannot simulate a repayment: it reverted')
  return decodeFunctionResult({ abi: MORPHO_ABI, functionName: 'repay', data: answer })[0]
}

/** What withdrawing all that a wallet supplied would pay, simulated; undefined if the market cannot pay it out. */
export async function staticWithdrawAll(rpc: Rpc, held: Held): Promise<bigint | undefined> {
  const { supplyShares } = await readStored(rpc, held)
  if (supplyShares === 0n) return 0n
  const args = [held.market.params, 0n, supplyShares, held.wallet, held.wallet] as const
  const answer = await tryCall(
    rpc,
    held.wallet,
    encodeFunctionData({ abi: MORPHO_ABI, functionName: 'withdraw', args }),
  )
  return answer && decodeFunctionResult({ abi: MORPHO_ABI, functionName: 'withdraw', data: answer })[0]
}

/** Whether the contract allows liquidating the wallet: simulated with the smallest piece of its collateral. */
export async function canLiquidate(rpc: Rpc, { market, wallet }: Held): Promise<boolean> {
  const args = [market.params, wallet, 1n, 0n, '0x'] as const
  const data = encodeFunctionData({ abi: MORPHO_ABI, functionName: 'liquidate', args })
  return (await tryCall(rpc, BANK, data)) !== undefined
}

async function tryCall(rpc: Rpc, from: Address, data: Hex): Promise<Hex | undefined> {
  try {
    return await rpc.call<Hex>('eth_call', { from, to: MORPHO, data }, 'latest')
  } catch {
    // The contract said no; why is of no interest to who asks whether.
    return undefined
  }
}

/** The books as they are stored, without the interest since the last accrual, and the model's rate at its target. */
export interface StoredByContract extends AccruedByContract {
  /** Per second, 18 decimals; 0 for other models. */
  readonly rateAtTarget: bigint
}

export async function readStored(rpc: Rpc, { market, wallet }: Held): Promise<StoredByContract> {
  const { id } = market
  const [state, position, rate] = await rpc.batch<Hex>(
    [
      { to: MORPHO, data: encodeFunctionData({ abi: MORPHO_ABI, functionName: 'market', args: [id] }) },
      { to: MORPHO, data: encodeFunctionData({ abi: MORPHO_ABI, functionName: 'position', args: [id, wallet] }) },
      { to: ADAPTIVE_CURVE, data: encodeFunctionData({ abi: IRM_ABI, functionName: 'rateAtTarget', args: [id] }) },
    ].map((call) => ({ method: 'eth_call', params: [call, 'latest'] })),
  )
  return { ...decodeBooks(state, position), rateAtTarget: BigInt(rate ?? 0) }
}

function decodeBooks(state: Hex | undefined, position: Hex | undefined): AccruedByContract {
  const [totalSupplyAssets, totalSupplyShares, totalBorrowAssets, totalBorrowShares, lastUpdate, fee] =
    decodeFunctionResult({ abi: MORPHO_ABI, functionName: 'market', data: state ?? '0x' })
  const [supplyShares, borrowShares, collateral] = decodeFunctionResult({
    abi: MORPHO_ABI,
    functionName: 'position' as const,
    data: position ?? '0x',
  })
  return {
    totalSupplyAssets,
    totalSupplyShares,
    totalBorrowAssets,
    totalBorrowShares,
    lastUpdate,
    fee,
    supplyShares,
    borrowShares,
    collateral,
  }
}
