import { type Address, encodeEventTopics, type Hex, numberToHex, parseAbi, zeroAddress } from 'viem'
import { COMPOUND_V3_MARKETS } from '../../../src/family/compound_v3/table.ts'
import { encodeLog, placeReplay } from '../aave_v4/replay.ts'
import { BANK, TOKENS, toWalletAddress } from '../addresses.ts'
import type { Rpc } from '../rpc.ts'
import type { Send } from '../transaction.ts'
import { recordCall, recordMarket } from './record.ts'
import { type VectorAccount, WORLDS, type World } from './vectors.ts'

/** Wallets that have something in a market of Compound V3 on the devnet. */
export const COMET_WALLETS = {
  borrower: toWalletAddress('comet borrower'),
  lender: toWalletAddress('comet lender'),
} as const

const ETHEREUM = COMPOUND_V3_MARKETS.get(1) ?? []

/** Puts markets in which no wallet has anything where Ethereum has them: every service over it asks them. */
export async function placeCompoundV3(rpc: Rpc): Promise<void> {
  const empty = ETHEREUM.map(({ comet }) => recordCall(comet, 'baseScale', [], 0n))
  await placeReplay(rpc, empty, { others: 'zero' })
}

/**
 * Puts a market of the vectors in the place of that of USDC, with what a lender and a borrower had there, in the devnet's
 * tokens. Nothing can be done there: it is a state, accrued an hour ago.
 */
export async function addCompoundV3({
  rpc,
  send,
}: {
  readonly rpc: Rpc
  readonly send: Send
}): Promise<typeof COMET_WALLETS> {
  const [usdc] = ETHEREUM
  const [world] = WORLDS
  const borrower = world?.accounts.find(({ principal }) => principal.startsWith('-'))
  const lender = world?.accounts.find(({ principal }) => !principal.startsWith('-'))
  if (usdc?.rewards === undefined || world === undefined || borrower === undefined || lender === undefined) {
    throw new Error('Cannot find a market with a lender and a borrower in the vectors')
  }
  const [first, second, third] = world.collaterals.map(({ asset }) => asset)
  const tokens: readonly (readonly [Address | undefined, Address])[] = [
    [world.base, TOKENS.usdc.address],
    [first, TOKENS.weth.address],
    [second, TOKENS.wbtc.address],
    [third, TOKENS.dai.address],
    [world.comet, usdc.comet],
    [world.rewards, usdc.rewards],
    // It is a collateral too on Ethereum.
    [world.rewardToken, TOKENS.weth.address],
    [borrower.wallet, COMET_WALLETS.borrower],
    [lender.wallet, COMET_WALLETS.lender],
  ]
  const text = JSON.stringify({ ...world, accounts: [borrower, lender] })
  const moved = JSON.parse(
    tokens.reduce((all, [from, to]) => (from === undefined ? all : all.replaceAll(from, to)), text),
  ) as World
  const logs = moved.accounts.flatMap(listLogs)
  await send(logs.map(({ topics, data }) => ({ from: BANK, to: usdc.comet, data: encodeLog(topics, data) })))
  // What is placed is in the newest block already: its state and the logs that led there.
  const { timestamp } = await rpc.call<{ timestamp: string }>('eth_getBlockByNumber', 'latest', false)
  const totals = { ...moved.totals, lastAccrualTime: String(Number(timestamp) - 3_600) }
  await placeReplay(rpc, recordMarket({ ...moved, totals }), { others: 'zero' })
  return COMET_WALLETS
}

const EVENTS = parseAbi([
  'event Supply(address indexed, address indexed, uint256)',
  'event Withdraw(address indexed, address indexed, uint256)',
  'event Transfer(address indexed, address indexed, uint256)',
  'event SupplyCollateral(address indexed, address indexed, address indexed, uint256)',
])

/** Logs by which an account comes to what it has: collaterals supplied, and base supplied or borrowed, at once. */
function listLogs({ wallet, collateral, supplied, owed }: VectorAccount) {
  const encode = (eventName: (typeof EVENTS)[number]['name'], args: readonly Address[], amount: string) => ({
    topics: encodeEventTopics({ abi: EVENTS, eventName, args } as never) as Hex[],
    data: numberToHex(BigInt(amount), { size: 32 }),
  })
  return [
    ...collateral.map(({ asset, balance }) => encode('SupplyCollateral', [wallet, wallet, asset], balance)),
    ...(owed === '0' ? [] : [encode('Withdraw', [wallet, wallet], owed)]),
    ...(supplied === '0'
      ? []
      : [encode('Supply', [wallet, wallet], supplied), encode('Transfer', [zeroAddress, wallet], supplied)]),
  ]
}
