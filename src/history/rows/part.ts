import type { Hex } from 'viem'
import type { StoredPart, StreamPlace } from '../stream.ts'

/** How a statement names everybody instead of subjects. */
export const EVERYBODY: readonly string[] = ['']
/** Time limit of a statement that stores, milliseconds: thousands of rows on a slow disk. */
export const STORE_DEADLINE_MS = 30_000

/** The chain's history is stopped, so nothing was stored. */
export class NotStoredError extends Error {
  override readonly name = 'NotStoredError'

  constructor({ chainId }: Pick<StreamPlace, 'chainId'>) {
    super(`The history of chain ${chainId} is stopped`)
  }
}

/** Bytes as statements of history take them: hexadecimal without prefix. They decode it, so its case does not matter. */
export function toDigits(bytes: Hex): string {
  return bytes.slice(2)
}

/** The other way. */
export function fromBytes(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes).toString('hex')}`
}

/** The parameters that every statement begins with that stores rows. */
export function partParams({ place, stream, subjects, fromBlock, toBlock, witnesses }: StoredPart<unknown>) {
  const { chainId, contract } = place
  return [
    ...([chainId, toDigits(contract), stream, subjects?.map(toDigits) ?? EVERYBODY] as const),
    ...([fromBlock, toBlock, witnesses] as const),
  ] as const
}
