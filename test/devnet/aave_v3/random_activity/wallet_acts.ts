import { maxUint256 } from 'viem'
import { BANK } from '../../addresses.ts'
import type { ASSETS } from '../addresses.ts'
import {
  ALL,
  borrowCall,
  repayCall,
  setEmodeCall,
  setUseAsCollateralCall,
  supplyCall,
  transferCall,
  withdrawCall,
} from '../calls.ts'
import { type Act, attempt, call, choice, onPool, type Scene } from './scene.ts'

const STABLE = 1n
const VARIABLE = 2n

/** What wallets do in every version. */
export const WALLET_ACTS = {
  supply: (scene) => attempt(scene, [supplyCall(choice(scene).movement)]),
  withdraw: (scene) => attempt(scene, [withdrawCall(choice(scene).movement)]),
  'withdraw all': (scene) => attempt(scene, [withdrawCall({ ...choice(scene).movement, amount: ALL })]),
  borrow: (scene) => attempt(scene, [borrowCall(choice(scene).movement)]),
  repay: (scene) => attempt(scene, [repayCall(choice(scene).movement)]),
  'repay all': (scene) => attempt(scene, [repayCall({ ...choice(scene).movement, amount: 10n ** 30n })]),
  'repay with aTokens': (scene) => {
    const { wallet, address, amount } = choice(scene)
    return attempt(scene, [onPool(scene, wallet, 'repayWithATokens', [address, amount, VARIABLE])])
  },
  transfer: (scene) => {
    const { wallet, other, aToken, amount } = choice(scene)
    return attempt(scene, [transferCall({ token: aToken, from: wallet, to: other, amount })])
  },
  'transfer to oneself': (scene) => {
    const { wallet, aToken, amount } = choice(scene)
    return attempt(scene, [transferCall({ token: aToken, from: wallet, to: wallet, amount })])
  },
  'credit delegation': (scene) => {
    const { wallet, other, variableDebtToken, address, amount } = choice(scene)
    return attempt(scene, [
      { from: wallet, to: variableDebtToken, data: call('approveDelegation', [other, maxUint256]) },
      onPool(scene, other, 'borrow', [address, amount, VARIABLE, 0, wallet]),
    ])
  },
  'flash loan paid back': (scene) => {
    const { wallet, address, amount } = choice(scene)
    const args = [scene.actor, [address], [amount], [0n], wallet, '0x', 0]
    return attempt(scene, [premium(scene, address, amount), onPool(scene, wallet, 'flashLoan', args)])
  },
  'simple flash loan': (scene) => {
    const { wallet, address, amount } = choice(scene)
    const args = [scene.actor, address, amount, '0x', 0]
    return attempt(scene, [premium(scene, address, amount), onPool(scene, wallet, 'flashLoanSimple', args)])
  },
  'flash loan kept as debt': (scene) => {
    const { wallet, address, amount } = choice(scene)
    return attempt(scene, [
      onPool(scene, wallet, 'flashLoan', [scene.actor, [address], [amount], [VARIABLE], wallet, '0x', 0]),
    ])
  },
  'collateral switched': (scene) => {
    const { movement } = choice(scene)
    return attempt(scene, [setUseAsCollateralCall({ ...movement, on: scene.random.below(3) > 0 })])
  },
  'eMode entered or left': (scene) => {
    const { wallet } = choice(scene)
    const category = scene.random.below(2)
    return attempt(scene, [setEmodeCall({ market: scene.market, wallet, category })])
  },
} as const satisfies Record<string, Act>

/** What wallets and bridges could do in 3.0. */
export const OLD_ACTS = {
  'stable borrow': (scene) => attempt(scene, [borrowCall({ ...choice(scene).movement, mode: 'stable' })]),
  'stable repay': (scene) => attempt(scene, [repayCall({ ...choice(scene).movement, mode: 'stable' })]),
  'flash loan kept as stable debt': (scene) => {
    const { wallet, address, amount } = choice(scene)
    return attempt(scene, [
      onPool(scene, wallet, 'flashLoan', [scene.actor, [address], [amount], [STABLE], wallet, '0x', 0]),
    ])
  },
  'debt swapped to variable': (scene) => {
    const { wallet, address } = choice(scene)
    return attempt(scene, [onPool(scene, wallet, 'swapBorrowRateMode', [address, STABLE])])
  },
  'debt swapped to stable': (scene) => {
    const { wallet, address } = choice(scene)
    return attempt(scene, [onPool(scene, wallet, 'swapBorrowRateMode', [address, VARIABLE])])
  },
  'unbacked mint': (scene) => {
    const { wallet, address, amount } = choice(scene)
    return attempt(scene, [onPool(scene, BANK, 'mintUnbacked', [address, amount, wallet, 0])])
  },
  'unbacked backed': (scene) => {
    const { address, amount } = choice(scene)
    return attempt(scene, [onPool(scene, BANK, 'backUnbacked', [address, amount, amount / 1_000n])])
  },
} as const satisfies Record<string, Act>

/** What wallets can do since 3.4. */
export const NEW_ACTS = {
  multicall: (scene) => {
    const { wallet, address, amount } = choice(scene)
    const parts = [
      call('withdraw', [address, amount / 2n + 1n, wallet]),
      call('borrow', [address, amount / 4n + 1n, VARIABLE, 0, wallet]),
      call('repayWithATokens', [address, amount / 8n + 1n, VARIABLE]),
    ]
    return attempt(scene, [onPool(scene, wallet, 'multicall', [parts])])
  },
  'position manager': (scene) => {
    const { wallet, address } = choice(scene)
    const on = scene.random.below(2) === 0
    return attempt(scene, [
      onPool(scene, wallet, 'approvePositionManager', [BANK, true]),
      onPool(scene, BANK, 'setUserUseReserveAsCollateralOnBehalfOf', [address, on, wallet]),
      onPool(scene, BANK, 'setUserEModeOnBehalfOf', [scene.random.below(2), wallet]),
    ])
  },
  'deficit covered': async (scene) => {
    const { asset, address, amount } = choice(scene)
    const supplied = { market: scene.market, wallet: BANK, asset, amount: 2n * amount }
    const cover = onPool(scene, BANK, 'eliminateReserveDeficit', [address, amount])
    return attempt(scene, [supplyCall(supplied), cover])
  },
} as const satisfies Record<string, Act>

/** What the borrower of a flash loan pays for it comes from the bank. */
function premium({ actor }: Scene, asset: (typeof ASSETS)[keyof typeof ASSETS]['address'], amount: bigint) {
  return { from: BANK, to: asset, data: call('transfer', [actor, amount]) }
}
