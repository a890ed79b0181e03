import type { Address, Hex } from 'viem'
import type { Rpc } from './rpc.ts'
import type { Send } from './transaction.ts'

/** A contract to stand at an address that no deployment of ours would reach. */
export interface Placement {
  readonly address: Address
  /** Creation code with the constructor's arguments behind it. */
  readonly creationCode: Hex
}

/**
 * Puts contracts at wanted addresses: the creation code is set as code there and called, so that the constructor
 * writes its storage at that very address (and `address(this)` is right), then what it returned becomes the code.
 * `owner` is the constructors' `msg.sender`.
 */
export async function placeContractsAt(
  { rpc, send }: { readonly rpc: Rpc; readonly send: Send },
  { placements, owner }: { readonly placements: readonly Placement[]; readonly owner: Address },
): Promise<void> {
  const setCodes = (codes: readonly Hex[]) =>
    rpc.batch(codes.map((code, index) => ({ method: 'anvil_setCode', params: [placements[index]?.address, code] })))

  await setCodes(placements.map(({ creationCode }) => creationCode))
  const runtimes = await rpc.batch<Hex>(
    placements.map(({ address }) => ({ method: 'eth_call', params: [{ from: owner, to: address }, 'latest'] })),
  )
  await send(placements.map(({ address }) => ({ from: owner, to: address, data: '0x' })))
  await setCodes(runtimes)
}
