import { type Address, concatHex, encodeAbiParameters, getAddress, type Hex } from 'viem'
import { BANK } from '../addresses.ts'
import type { Send } from '../transaction.ts'

/** Deploys contracts in the order given, in the bank's name; returns their addresses. */
export async function deployAll(send: Send, codes: readonly Hex[]): Promise<Address[]> {
  const receipts = await send(codes.map((data) => ({ from: BANK, data })))
  return receipts.map(({ contractAddress }) => {
    if (contractAddress === null) throw new Error('Cannot deploy a contract of Aave: none was created')
    return getAddress(contractAddress)
  })
}

/** Creation code with addresses as the constructor's arguments. */
export function withAddresses(code: Hex, ...addresses: readonly Address[]): Hex {
  return concatHex([
    code,
    encodeAbiParameters(
      addresses.map(() => ({ type: 'address' })),
      addresses,
    ),
  ])
}

/** The value at `index`, which must be there. */
export function elementAt<T>(values: readonly T[], index: number): T {
  const value = values[index]
  if (value === undefined) throw new Error(`Cannot find item ${index} of ${values.length}`)
  return value
}
