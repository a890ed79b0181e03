import { type Address, encodeAbiParameters, type Hex, toFunctionSelector } from 'viem'
import { BANK, TOKENS, toWalletAddress } from '../addresses.ts'
import { ownCreationCode, packageCreationCode } from '../artifacts.ts'
import type { Devnet } from '../mod.ts'
import { placeContractsAt } from '../place.ts'

/** What changes a chain. */
export type Placing = Pick<Devnet, 'rpc' | 'send'>

const PERIPHERY = '@uniswap/v3-periphery/artifacts/contracts'
const UNISWAP_INIT_HASH = 'e34f199b19b2b4f47f68442619d555527d244f78a3297ea89325f843f87b8b54'

/** Encodes constructor arguments that are addresses. */
export function encodeAddresses(...values: readonly Address[]): Hex {
  return encodeAbiParameters(
    values.map(() => ({ type: 'address' })),
    values,
  )
}

/**
 * Places Uniswap's manager and router for pools of PancakeSwap's code, which stand where `deployer` and the hash of their
 * creation code say: its periphery has the two in the place of Uniswap's factory and hash.
 */
export async function placePeriphery(
  placing: Placing,
  {
    deployer,
    initCodeHash,
    manager,
    router,
  }: {
    readonly deployer: Address
    readonly initCodeHash: Hex
    readonly manager: Address
    readonly router: Address
  },
): Promise<void> {
  const weth = TOKENS.weth.address
  const toCode = async (name: string, args: Hex): Promise<Hex> => {
    const code = await packageCreationCode(`${PERIPHERY}/${name}.sol/${name}.json`, { args })
    return code.replaceAll(UNISWAP_INIT_HASH, initCodeHash.slice(2)) as Hex
  }
  const placements = [
    {
      address: manager,
      creationCode: await toCode('NonfungiblePositionManager', encodeAddresses(deployer, weth, weth)),
    },
    { address: router, creationCode: await toCode('SwapRouter', encodeAddresses(deployer, weth)) },
  ]
  await placeContractsAt(placing, { placements, owner: BANK })
  await rename(placing, manager, 'V3MintCallback(uint256,uint256,bytes)')
  await rename(placing, router, 'V3SwapCallback(int256,int256,bytes)')
}

/** Lets the contract be called back under PancakeSwap's name. */
async function rename(placing: Placing, address: Address, callback: string): Promise<void> {
  const [from, to] = [toFunctionSelector(`pancake${callback}`), toFunctionSelector(`uniswap${callback}`)]
  await placeFront(placing, address, (target) =>
    ownCreationCode(
      'Renamed',
      encodeAbiParameters([{ type: 'address' }, { type: 'bytes4' }, { type: 'bytes4' }], [target, from, to]),
    ),
  )
}

/** Puts a front before a contract, whose code goes elsewhere; what it stored stays. */
export async function placeFront(
  { rpc, send }: Placing,
  address: Address,
  toCreationCode: (target: Address) => Hex,
): Promise<void> {
  const [code] = await rpc.batch<Hex>([{ method: 'eth_getCode', params: [address, 'latest'] }])
  const target = toWalletAddress(`${address} behind ${code?.slice(-40)}`)
  await rpc.batch([{ method: 'anvil_setCode', params: [target, code] }])
  await placeContractsAt(
    { rpc, send },
    { placements: [{ address, creationCode: toCreationCode(target) }], owner: BANK },
  )
}

/** Storage of a manager: `uint176 _nextId`, then `uint80 _nextPoolId`. */
const COUNTERS_SLOT = 13
const NEXT_ID_BITS = 176n

/** Lets a manager that has minted nothing count from an id. */
export async function setNextId({ rpc }: Pick<Placing, 'rpc'>, manager: Address, id: bigint): Promise<void> {
  const toWord = (value: bigint | number) => `0x${value.toString(16).padStart(64, '0')}`
  const counters = toWord((1n << NEXT_ID_BITS) | id)
  await rpc.call('anvil_setStorageAt', manager, toWord(COUNTERS_SLOT), counters)
}
