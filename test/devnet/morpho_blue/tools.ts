import { type Address, encodeAbiParameters, encodeFunctionData, getAddress, type Hex, maxUint256, parseAbi } from 'viem'
import { BANK, type DevnetToken } from '../addresses.ts'
import type { Rpc } from '../rpc.ts'
import type { Send, Transaction } from '../transaction.ts'
import { MORPHO, type MorphoMarket } from './calls.ts'
import type { MorphoContract } from './compile.ts'

/** The tools that Morpho's scenarios build with. */
export interface MorphoBuilder {
  readonly rpc: Rpc
  readonly send: Send
  readonly codes: Readonly<Record<MorphoContract, Hex>>
}

/** How an oracle of ours behaves. */
export type OracleBehavior = 'answers' | 'reverts' | 'burns_gas' | 'answers_too_little' | 'answers_too_much'

const MOODS: readonly OracleBehavior[] = ['answers', 'reverts', 'burns_gas', 'answers_too_little', 'answers_too_much']
const WAD = 10n ** 18n

const ABI = parseAbi(['function approve(address spender, uint256 value)', 'function set(uint256 price, uint8 mood)'])

/** Answer of a market's oracle at the devnet's starting price of its collateral. */
export function oraclePrice(loan: DevnetToken, collateral: DevnetToken): bigint {
  const scaled = BigInt(Math.round((collateral.usd / loan.usd) * 1e12))
  return (scaled * 10n ** BigInt(24 + loan.decimals)) / 10n ** BigInt(collateral.decimals)
}

/** Deploys an oracle of ours. */
export function deployOracle(builder: MorphoBuilder, price: bigint): Promise<Address> {
  const args = encodeAbiParameters([{ type: 'uint256' }], [price])
  return deploy(builder, `${builder.codes.Oracle}${args.slice(2)}`)
}

/** Sets the oracle of a market, where that is one of ours. */
export function setOracleCall(
  { params }: MorphoMarket,
  { price, mood = 'answers' }: { readonly price: bigint; readonly mood?: OracleBehavior },
): Transaction {
  const data = encodeFunctionData({ abi: ABI, functionName: 'set', args: [price, MOODS.indexOf(mood)] })
  return { from: BANK, to: params.oracle, data }
}

/** Lets Morpho take all that `from` has of a token. */
export function approveCall(token: Address, from: Address = BANK): Transaction {
  return {
    from,
    to: token,
    data: encodeFunctionData({ abi: ABI, functionName: 'approve', args: [MORPHO, maxUint256] }),
  }
}

/** Deploys creation code from the bank. */
export async function deploy({ send }: MorphoBuilder, data: Hex): Promise<Address> {
  const [receipt] = await send([{ from: BANK, data }])
  if (receipt?.contractAddress == null) throw new Error('Cannot deploy a contract: none was created')
  return getAddress(receipt.contractAddress)
}

/** Mines a block so many seconds after the last one. */
export async function warp(rpc: Rpc, seconds: number): Promise<void> {
  await rpc.call('evm_increaseTime', seconds)
  await rpc.call('evm_mine')
}

/** A share of one, 18 decimals. */
export function percent(value: bigint): bigint {
  return (value * WAD) / 100n
}
