import { type Address, toFunctionSelector } from 'viem'
import { encodeCall } from '../../chain/call/words.ts'
import { explainBy, type HoldingExit, type HoldingStep } from '../exit.ts'
import { getSiloAssets, getWithdrawable } from './present/figures.ts'
import { PARTS, toPlace } from './present/holdings.ts'
import type { PlacedVault } from './present/present.ts'

const REDEEM = toFunctionSelector('redeem(uint256,address,address)')
const WITHDRAW = toFunctionSelector('withdraw(uint256,address,address)')
const UNSTAKE = toFunctionSelector('unstake(address)')

/** Refusals by OpenZeppelin's ERC-4626 and tokens, MetaMorpho, Morpho Blue, Morpho Vault V2 and vaults with a silo. */
const explain = explainBy({
  [toFunctionSelector('ERC4626ExceededMaxRedeem(address,uint256,uint256)')]: 'no_liquidity',
  [toFunctionSelector('ERC4626ExceededMaxWithdraw(address,uint256,uint256)')]: 'no_liquidity',
  'ERC4626: redeem more than max': 'no_liquidity',
  'ERC4626: withdraw more than max': 'no_liquidity',
  [toFunctionSelector('NotEnoughLiquidity()')]: 'no_liquidity',
  'insufficient liquidity': 'no_liquidity',
  [toFunctionSelector('ERC20InsufficientBalance(address,uint256,uint256)')]: 'no_liquidity',
  'ERC20: transfer amount exceeds balance': 'no_liquidity',
  [toFunctionSelector('CannotSendShares()')]: 'hook_forbids',
  [toFunctionSelector('CannotReceiveAssets()')]: 'hook_forbids',
  [toFunctionSelector('OperationNotAllowed()')]: 'paused',
  [toFunctionSelector('InvalidCooldown()')]: 'paused',
})

/**
 * How a position is taken out: all shares are redeemed, else what the vault can pay is withdrawn; what waits in a silo is
 * taken out of it.
 */
export function exitVault(position: PlacedVault, wallet: Address): HoldingExit {
  const { listed, asset, shares } = position
  const toStep = (data: HoldingStep['calls'][number]['data'], part: keyof typeof PARTS): HoldingStep => ({
    kind: 'supplied',
    parts: [PARTS[part]],
    tokens: [asset.address],
    isFree: true,
    calls: [{ to: listed.address, data }],
  })

  function redeem(): HoldingStep[] {
    const all = toStep(encodeCall(REDEEM, shares, wallet, wallet), 'shares')
    const { amount = 0n, limitedBy } = getWithdrawable(position) ?? {}
    if (amount === 0n) return [all]
    const part = toStep(encodeCall(WITHDRAW, amount, wallet, wallet), 'shares')
    return [all, { ...part, isFallback: true, because: limitedBy === 'liquidity' ? 'no_liquidity' : 'paused' }]
  }

  const hasSilo = getSiloAssets(position) !== undefined
  return {
    position: toPlace(position),
    steps: [...(shares === 0n ? [] : redeem()), ...(hasSilo ? [toStep(encodeCall(UNSTAKE, wallet), 'cooldown')] : [])],
    parties: [listed.address],
    explain,
  }
}
