import { type Address, encodeFunctionData, parseAbi } from 'viem'
import { BANK, toWalletAddress } from '../addresses.ts'
import type { Send, Transaction } from '../transaction.ts'
import { MARKETS, type MarketName } from './addresses.ts'
import { link, loadArtifacts, loadStataArtifacts } from './compile.ts'
import { deployAll, elementAt, withAddresses } from './deploy.ts'

export const STATA_ABI = parseAbi([
  'function depositATokens(uint256 assets, address receiver) returns (uint256)',
  'function redeemATokens(uint256 shares, address receiver, address owner) returns (uint256)',
  'function previewRedeem(uint256 shares) view returns (uint256)',
  'function latestAnswer() view returns (int256)',
])

const INITIALIZE = parseAbi(['function initialize(address aToken, string staticATokenName, string staticATokenSymbol)'])
const PROXY = parseAbi(['function initialize(address logic, bytes data) payable'])
/** A proxy shows its administrator other functions than the token's. */
const ADMIN = toWalletAddress('stata administrator')

/** Deploys wrapped aTokens (`StataTokenV2`) of a market of 3.6 behind a proxy, as Aave does. */
export async function deployStata(
  send: Send,
  { market, aToken, symbol }: { readonly market: MarketName; readonly aToken: Address; readonly symbol: string },
): Promise<Address> {
  const { InitializableImmutableAdminUpgradeabilityProxy: proxyCode } = await loadArtifacts()
  const { StataTokenV2, RewardsController } = await loadStataArtifacts()
  const [proxy, rewards] = await deployAll(send, [
    withAddresses(link(proxyCode), ADMIN),
    withAddresses(link(RewardsController), BANK),
  ])
  const code = withAddresses(link(StataTokenV2), MARKETS[market].pool, rewards as Address)
  const logic = elementAt(await deployAll(send, [code]), 0)
  const initialize = encodeFunctionData({
    abi: INITIALIZE,
    functionName: 'initialize',
    args: [aToken, `Wrapped ${symbol}`, symbol],
  })
  const data = encodeFunctionData({ abi: PROXY, functionName: 'initialize', args: [logic, initialize] })
  await send([{ from: BANK, to: proxy as Address, data }])
  return proxy as Address
}

/** The wallet wraps aTokens that it has; it must have approved them. */
export function wrapCall(stata: Address, wallet: Address, aTokens: bigint): Transaction {
  const data = encodeFunctionData({ abi: STATA_ABI, functionName: 'depositATokens', args: [aTokens, wallet] })
  return { from: wallet, to: stata, data }
}

/** The wallet turns shares into aTokens again. */
export function unwrapCall(stata: Address, wallet: Address, shares: bigint): Transaction {
  const data = encodeFunctionData({ abi: STATA_ABI, functionName: 'redeemATokens', args: [shares, wallet, wallet] })
  return { from: wallet, to: stata, data }
}
