import { type Address, encodeAbiParameters, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { BANK, TOKENS } from '../addresses.ts'
import { ownCreationCode, packageCreationCode } from '../artifacts.ts'
import { type Placement, placeContractsAt } from '../place.ts'
import type { Rpc } from '../rpc.ts'
import type { Send } from '../transaction.ts'
import { DYNAMIC_FEE_HOOK_ABI, POOL_MANAGER_ABI } from './abi.ts'
import { type HOOK_BITS, hookAddress, UNISWAP_V4 } from './addresses.ts'
import { allowCall, permitCalls } from './calls.ts'
import { permit2CreationCode } from './permit2.ts'

export interface Node {
  readonly rpc: Rpc
  readonly send: Send
}

const CORE = '@uniswap/v4-core/out'
const PERIPHERY = '@uniswap/v4-periphery/foundry-out'
/** What Ethereum's manager leaves a subscriber. */
const UNSUBSCRIBE_GAS = 300_000n
const TRANSFER_ABI = parseAbi(['function transfer(address to, uint256 value)'])

/** The hooks of the devnet's pools, by what they do. */
export const HOOKS = {
  dynamicFee: hookAddress('dynamic fee', ['afterInitialize', 'beforeSwap']),
  /** Takes 5.43 % of what is removed and 1.23 % of each swap. */
  feeTaking: hookAddress('fee taking', [
    'afterRemoveLiquidity',
    'afterSwap',
    'afterSwapReturnsDelta',
    'afterRemoveLiquidityReturnsDelta',
  ]),
  /** Swaps one for one out of its own pocket. */
  customCurve: hookAddress('custom curve', ['beforeSwap', 'beforeSwapReturnsDelta']),
  /** Lets fees be collected and no liquidity removed. */
  forbidding: hookAddress('forbidding', ['beforeRemoveLiquidity']),
} as const

/** Puts Uniswap V4, Permit2 and the hooks at their addresses, owned and paid by the bank. */
export async function placeUniswapV4(node: Node): Promise<void> {
  const { poolManager, positionManager, stateView, permit2, swapRouter, donateRouter } = UNISWAP_V4
  const manager = encodeAbiParameters([{ type: 'address' }], [poolManager])
  const managerArgs = encodeAbiParameters(
    [{ type: 'address' }, { type: 'address' }, { type: 'uint256' }, { type: 'address' }, { type: 'address' }],
    // The descriptor makes pictures alone.
    [poolManager, permit2, UNSUBSCRIBE_GAS, BANK, TOKENS.weth.address],
  )
  const codes: Readonly<Record<Address, Promise<Hex> | Hex>> = {
    [poolManager]: artifact(CORE, 'PoolManager', encodeAbiParameters([{ type: 'address' }], [BANK])),
    [permit2]: permit2CreationCode(),
    [positionManager]: artifact(PERIPHERY, 'PositionManager', managerArgs),
    [stateView]: artifact(PERIPHERY, 'StateView', manager),
    [swapRouter]: artifact(CORE, 'PoolSwapTest', manager),
    [donateRouter]: artifact(CORE, 'PoolDonateTest', manager),
    [HOOKS.dynamicFee]: coreHookCode('DynamicFeesTestHook'),
    [HOOKS.feeTaking]: coreHookCode('FeeTakingHook'),
    [HOOKS.customCurve]: artifact(CORE, 'CustomCurveHook', manager),
    [HOOKS.forbidding]: ownCreationCode('ForbiddingHook'),
  }
  const placements = await Promise.all(
    Object.entries(codes).map(
      async ([address, creationCode]): Promise<Placement> => ({
        address: address as Address,
        creationCode: await creationCode,
      }),
    ),
  )
  await placeContractsAt(node, { placements, owner: BANK })

  const hook = (data: Hex) => ({ from: BANK, to: HOOKS.dynamicFee, data })
  const abi = DYNAMIC_FEE_HOOK_ABI
  const setController = encodeFunctionData({
    abi: POOL_MANAGER_ABI,
    functionName: 'setProtocolFeeController',
    args: [BANK],
  })
  await node.send([
    { from: BANK, to: poolManager, data: setController },
    hook(encodeFunctionData({ abi, functionName: 'setManager', args: [poolManager] })),
    hook(encodeFunctionData({ abi, functionName: 'setFee', args: [3_000] })),
    ...Object.values(TOKENS).flatMap(({ address }) => bankCalls(address)),
    ...[TOKENS.dai, TOKENS.weth].map(({ address }) => ({
      from: BANK,
      to: address,
      data: encodeFunctionData({ abi: TRANSFER_ABI, functionName: 'transfer', args: [HOOKS.customCurve, 10n ** 24n] }),
    })),
  ])
}

/** Lets the manager and the routers take a token from the bank. */
export function bankCalls(token: Address) {
  const { swapRouter, donateRouter } = UNISWAP_V4
  return [...permitCalls(BANK, token), allowCall(BANK, token, swapRouter), allowCall(BANK, token, donateRouter)]
}

/** Puts a hook of any code at an address with these permissions; returns the address. */
export async function placeHook(
  node: Node,
  hook: {
    readonly name: string
    readonly creationCode: Hex
    readonly permissions: readonly (keyof typeof HOOK_BITS)[]
  },
): Promise<Address> {
  const address = hookAddress(hook.name, hook.permissions)
  await placeContractsAt(node, { placements: [{ address, creationCode: hook.creationCode }], owner: BANK })
  return address
}

/** Creation code of a hook of v4-core's tests, which takes the pool manager or nothing. */
export function coreHookCode(name: 'FeeTakingHook' | 'LPFeeTakingHook' | 'DynamicFeesTestHook'): Promise<Hex> {
  const manager = encodeAbiParameters([{ type: 'address' }], [UNISWAP_V4.poolManager])
  return artifact(CORE, name, name === 'DynamicFeesTestHook' ? '0x' : manager)
}

async function artifact(folder: string, name: string, args: Hex = '0x'): Promise<Hex> {
  return packageCreationCode(`${folder}/${name}.sol/${name}.json`, { args })
}
