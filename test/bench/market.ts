import { concatHex, encodeAbiParameters, type Hex, numberToHex, size } from 'viem'
import { type LendingTarget, type ReserveToken, TOPICS, type TokenSide } from '../../src/family/aave_v3/event/log.ts'
import { RAY } from '../../src/finance/math/rate.ts'
import type { Rpc } from '../devnet/rpc.ts'
import { toTopic, toWallet } from '../support/history/scene.ts'
import { waitFor } from '../support/wait_for.ts'

/**
 * A lending market that only logs: contracts that emit given logs stand in for its pool and its tokens, so
 * that a chain of any number of events is quickly made.
 */
export const POOL: Hex = `0x87${'00'.repeat(18)}01`
const RELAY: Hex = `0x87${'00'.repeat(18)}02`
const SENDER: Hex = `0x5e${'00'.repeat(18)}03`
const RESERVES = 4
const WALLETS = 2_000

/** Logs its input: four topics, then data. */
const POOL_CODE = '0x366000600037606051604051602051600051608036036080a400'
/** Logs its input: three topics, then data. */
const TOKEN_CODE = '0x366000600037604051602051600051606036036060a300'
/** Calls what its input names: an address, a length, and so many bytes of input, again and again. */
const RELAY_CODE =
  '0x60005b36811015602c57806020013580826040016000376000600082600060008635' + '5af15001604001600256' + '5b00'

function token(reserve: number, side: TokenSide): Hex {
  return numberToHex(0xa70000 + 2 * reserve + (side === 'supply' ? 0 : 1), { size: 20 })
}

function toAsset(reserve: number): Hex {
  return numberToHex(0xa55e70 + reserve, { size: 20 })
}

const TOKENS: readonly (readonly [Hex, ReserveToken])[] = Array.from({ length: RESERVES }, (_, reserve) =>
  (['supply', 'variable_debt'] as const).map(
    (side) => [token(reserve, side), { asset: toAsset(reserve), side }] as const,
  ),
).flat()

/** Where the market is followed. */
export function createMarket(chainId: number): LendingTarget {
  return { chainId, contract: POOL, startBlock: 1, tokens: new Map(TOKENS) }
}

/** Puts the market on a chain. */
export async function deployMarket(rpc: Rpc): Promise<void> {
  await rpc.call('anvil_setCode', POOL, POOL_CODE)
  await rpc.call('anvil_setCode', RELAY, RELAY_CODE)
  for (const [address] of TOKENS) await rpc.call('anvil_setCode', address, TOKEN_CODE)
}

/** One block of events, each with the logs of its tokens before it; `from` is the number of the first. */
export async function actInMarket(rpc: Rpc, { from, count }: { readonly from: number; readonly count: number }) {
  const data = concatHex(Array.from({ length: count }, (_, index) => listLogs(from + index).map(toRelayInput)).flat())
  const hash = await rpc.call('eth_sendTransaction', {
    from: SENDER,
    to: RELAY,
    data,
    gas: '0xf42400',
    gasPrice: '0x0',
  })
  await waitFor('a mined transaction', async () => (await rpc.call('eth_getTransactionReceipt', hash)) !== null)
}

/** The rows that an event makes. */
export function rowsPerEvent(number: number): number {
  return number % 5 === 4 ? 2 : 1
}

/** A log of the market: what a contract emits. */
export interface MarketLog {
  readonly address: Hex
  readonly topics: readonly Hex[]
  readonly data: Hex
}

/** The logs of an event. */
export function listLogs(number: number): readonly MarketLog[] {
  const wallet = toWallet(number % WALLETS)
  const other = toWallet((number * 7) % WALLETS)
  const asset = toAsset(number % RESERVES)
  const [supplied, owed] = [token(number % RESERVES, 'supply'), token(number % RESERVES, 'variable_debt')]
  const amount = 10n ** 18n + BigInt(number)
  const [to, by] = [toTopic(wallet), toTopic(other)]
  const mint = (at: Hex) => createLog(at, [TOPICS.mint, to, to], [amount, 0n, RAY])
  const burn = (at: Hex, units = amount) => createLog(at, [TOPICS.burn, to, to], [units, 0n, RAY])
  const pool = (topics: readonly Hex[], data: readonly (bigint | Hex)[]) => createLog(POOL, topics, data)
  const none = numberToHex(0, { size: 32 })
  const [reserve, user] = [toTopic(asset), to]
  switch (number % 5) {
    case 0:
      return [mint(supplied), pool([TOPICS.supply, reserve, user, none], [other, amount])]
    case 1:
      return [mint(owed), pool([TOPICS.borrow, reserve, user, none], [other, amount, 2n, 0n])]
    case 2:
      return [burn(owed), pool([TOPICS.repay, reserve, user, by], [amount, 0n])]
    case 3:
      return [burn(supplied), pool([TOPICS.withdraw, reserve, user, by], [amount])]
    default: {
      const collateral = (number + 1) % RESERVES
      const taken = amount + 5n
      return [
        burn(owed),
        burn(token(collateral, 'supply'), taken),
        pool([TOPICS.liquidation, toTopic(toAsset(collateral)), reserve, user], [amount, taken, other, 0n]),
      ]
    }
  }
}

function createLog(address: Hex, topics: readonly Hex[], data: readonly (bigint | Hex)[]): MarketLog {
  const words = data.map((each) => (typeof each === 'bigint' ? numberToHex(each, { size: 32 }) : toTopic(each)))
  return { address, topics, data: concatHex(words) }
}

function toRelayInput({ address, topics, data }: MarketLog): Hex {
  const input = concatHex([...topics, data])
  return concatHex([
    encodeAbiParameters([{ type: 'address' }, { type: 'uint256' }], [address, BigInt(size(input))]),
    input,
  ])
}
