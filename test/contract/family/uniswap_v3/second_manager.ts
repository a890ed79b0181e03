import { type Address, encodeAbiParameters, encodeFunctionData, maxUint256, parseAbi } from 'viem'
import type { EnumerableDeployment } from '../../../../src/family/liquidity/enumerable/exchange.ts'
import { BANK, TOKENS, toWalletAddress, UNISWAP_V3 } from '../../../devnet/addresses.ts'
import { packageCreationCode } from '../../../devnet/artifacts.ts'
import type { Devnet } from '../../../devnet/mod.ts'
import { placeContractsAt } from '../../../devnet/place.ts'
import { amounts } from '../../../devnet/scenario.ts'
import { rangeAround } from '../../../devnet/ticks.ts'
import { type MintRequest, mintCall } from '../../../devnet/uniswap_v3_calls.ts'

const ABI = parseAbi(['function approve(address spender, uint256 value)'])

/** Another exchange's position manager over the same factory, at an address after the real one's. */
export const SECOND: EnumerableDeployment = {
  manager: toWalletAddress('second manager'),
  factory: UNISWAP_V3.factory,
  startBlock: 0,
  code: 'second_exchange',
}

const placed = new WeakMap<Devnet, Promise<void>>()

/** Deploys the second manager, once, and mints its position 1 for the receiver, in the devnet's USDC/WETH pool. */
export function placeSecondManager(devnet: Devnet): Promise<void> {
  const before = placed.get(devnet) ?? placeAndMint(devnet, devnet.wallets.receiver)
  placed.set(devnet, before)
  return before
}

async function placeAndMint(devnet: Devnet, owner: Address): Promise<void> {
  const { rpc, send, pools } = devnet
  const creationCode = await packageCreationCode(
    '@uniswap/v3-periphery/artifacts/contracts/NonfungiblePositionManager.sol/NonfungiblePositionManager.json',
    {
      args: encodeAbiParameters(
        [{ type: 'address' }, { type: 'address' }, { type: 'address' }],
        [UNISWAP_V3.factory, TOKENS.weth.address, UNISWAP_V3.descriptor],
      ),
    },
  )
  await placeContractsAt({ rpc, send }, { placements: [{ address: SECOND.manager, creationCode }], owner: BANK })
  const pool = pools.usdcWeth500
  const request: MintRequest = { pool, ...rangeAround(pool, -600, 600), ...amounts(pool, 100), recipient: owner }
  const approve = encodeFunctionData({ abi: ABI, functionName: 'approve', args: [SECOND.manager, maxUint256] })
  await send([
    { from: BANK, to: pool.token0, data: approve },
    { from: BANK, to: pool.token1, data: approve },
    { ...mintCall(request), to: SECOND.manager },
  ])
}
