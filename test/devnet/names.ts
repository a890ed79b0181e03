import { type Address, encodeFunctionData, type Hex, keccak256, parseAbi, toHex, zeroHash } from 'viem'
import { namehash } from 'viem/ens'
import { BANK, WALLETS } from './addresses.ts'
import { ownCreationCode, packageCreationCode } from './artifacts.ts'
import type { Devnet } from './mod.ts'
import { placeContractsAt } from './place.ts'

/** Where Ethereum has the registry of ENS. */
export const ENS_REGISTRY: Address = '0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e'
/** Where Ethereum has the proxy of ENS' Universal Resolver. */
export const UNIVERSAL_RESOLVER: Address = '0xeEeEEEeE14D718C2B47D9923Deab1335E144EeEe'
const RESOLVER: Address = '0x00000000000000000000000000000000000e4501'
const WILDCARD: Address = '0x00000000000000000000000000000000000e4502'
/** The name of the wallet that provides liquidity. */
export const DEMO_NAME = 'provider.eth'

/** Second label of a name, and its resolver: none, or an address without code. */
const RESOLVERS: Readonly<Record<string, Address | undefined>> = {
  provider: RESOLVER,
  'größe🦊': RESOLVER,
  empty: RESOLVER,
  wild: WILDCARD,
  bare: undefined,
  broken: WALLETS.retired,
}

const ABI = parseAbi([
  'function setSubnodeOwner(bytes32 node, bytes32 label, address owner)',
  'function setResolver(bytes32 node, address resolver)',
  'function set(bytes32 node, address wallet)',
])

/** Puts ENS' own registry at its address, with names below `eth` that are the bank's. */
export async function placeNames(devnet: Pick<Devnet, 'rpc' | 'send' | 'wallets'>): Promise<void> {
  const registry = await packageCreationCode('@ensdomains/ens/build/contracts/ENSRegistry.json')
  const placements = [
    { address: ENS_REGISTRY, creationCode: registry },
    { address: RESOLVER, creationCode: ownCreationCode('NameResolver') },
    { address: WILDCARD, creationCode: ownCreationCode('WildcardResolver') },
  ]
  await placeContractsAt(devnet, { placements, owner: BANK })
  const { provider, spammed } = devnet.wallets
  const call = (to: Address, data: Hex) => ({ from: BANK, to, data })
  const register = (parent: Hex, label: string) =>
    call(
      ENS_REGISTRY,
      encodeFunctionData({ abi: ABI, functionName: 'setSubnodeOwner', args: [parent, keccak256(toHex(label)), BANK] }),
    )
  await devnet.send([
    register(zeroHash, 'eth'),
    ...Object.entries(RESOLVERS).flatMap(([label, resolver]) => {
      const registered = register(namehash('eth'), label)
      if (resolver === undefined) return [registered]
      const args = [namehash(`${label}.eth`), resolver] as const
      return [registered, call(ENS_REGISTRY, encodeFunctionData({ abi: ABI, functionName: 'setResolver', args }))]
    }),
    ...[[DEMO_NAME, provider] as const, ['größe🦊.eth', spammed] as const].map(([name, wallet]) =>
      call(RESOLVER, encodeFunctionData({ abi: ABI, functionName: 'set', args: [namehash(name), wallet] })),
    ),
  ])
}

/** Puts a Universal Resolver at its address, which knows these wallets and no others. */
export async function placeUniversalResolver(
  devnet: Pick<Devnet, 'rpc' | 'send'>,
  wallets: Readonly<Record<string, Address>>,
): Promise<void> {
  const placements = [{ address: UNIVERSAL_RESOLVER, creationCode: ownCreationCode('UniversalResolver') }]
  await placeContractsAt(devnet, { placements, owner: BANK })
  await devnet.send(
    Object.entries(wallets).map(([name, wallet]) => ({
      from: BANK,
      to: UNIVERSAL_RESOLVER,
      data: encodeFunctionData({ abi: ABI, functionName: 'set', args: [namehash(name), wallet] }),
    })),
  )
}
