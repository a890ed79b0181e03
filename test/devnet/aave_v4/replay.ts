import { type Address, concatHex, type Hex, keccak256, numberToHex } from 'viem'
import type { Rpc } from '../rpc.ts'

/** A call and what it answers, or reverts with. */
export interface RecordedCall {
  readonly to: Address
  readonly data: Hex
  readonly answer: Hex
  readonly reverts?: boolean
}

/**
 * A contract that answers recorded calls and knows nothing of what they mean, so that it cannot share a mistake with
 * its readers. Storage at keccak256(call data) is twice the length of the answer, plus one if it reverts; the words of
 * the answer follow. What follows the code answers other calls.
 */
const REPLAY: Hex = concatHex([
  '0x365f5f37365f20', //                        key = keccak256(call data)
  '0x80548015603e57', //                        v = sload(key); without one: other
  '0x5f', //                                    i = 0
  '0x5b8160011c811015602c57', //           0x0f loop: from v >> 1 on, done
  '0x8060051c6001018301548152602001600f56', //  memory[i] = sload(key + 1 + i / 32); i += 32; again
  '0x5b508060011c90600116603b57', //       0x2c done: v & 1: revert
  '0x5ff3', //                                  return v >> 1 bytes
  '0x5b5ffd', //                           0x3b revert them
])
/** Code from a place on that logs what the call data say, as `encodeLog` makes them. */
function createLogCode(at: number): Hex {
  const four = numberToHex(at + 33, { size: 1 })
  return concatHex([
    '0x5b608035606035604035602035', // the four topics
    '0x60a036038060a05f37', //         memory = the data behind them
    '0x5f5f3560041460', //             as many topics as the first word says: three, or four
    four,
    '0x57a3005ba400',
  ])
}

/** Where code for calls that were not recorded begins. */
const OTHERS_AT = 0x3e
/**
 * What such calls do: burn all gas, or log what they say, else burn all gas in a reading; or answer ten words of zero,
 * unless they say what to log.
 */
const OTHERS = {
  burn: '0x5bfe',
  log: createLogCode(OTHERS_AT),
  // A first word of three or four: 0x52.
  zero: concatHex(['0x5b5f35600390036002116052576101406110', '0x00f3', createLogCode(OTHERS_AT + 20)]),
} as const

/** Call data with which a contract of recorded calls, placed with `others` as `log` or `zero`, logs three or four topics. */
export function encodeLog(topics: readonly Hex[], data: Hex): Hex {
  const words = Array.from({ length: 4 }, (_, index) => topics[index] ?? numberToHex(0, { size: 32 }))
  return concatHex([numberToHex(topics.length, { size: 32 }), ...words, data])
}

/** Puts recorded calls at the addresses that they go to; `others` says what other calls of these addresses do. */
export async function placeReplay(
  rpc: Rpc,
  calls: readonly RecordedCall[],
  { others = 'burn' }: { readonly others?: keyof typeof OTHERS } = {},
): Promise<void> {
  const addresses = [...new Set(calls.map(({ to }) => to))]
  const code = concatHex([REPLAY, OTHERS[others]])
  await rpc.batch([
    ...addresses.map((to) => ({ method: 'anvil_setCode', params: [to, code] })),
    ...calls.flatMap((call) =>
      toWords(call).map((word) => ({ method: 'anvil_setStorageAt', params: [call.to, ...word] })),
    ),
  ])
}

/** Slots and words of a recorded call. */
function toWords({ data, answer, reverts = false }: RecordedCall): (readonly [Hex, Hex])[] {
  const key = BigInt(keccak256(data))
  const toWord = (value: bigint): Hex => numberToHex(BigInt.asUintN(256, value), { size: 32 })
  const size = BigInt(answer.length / 2 - 1)
  const words = answer.slice(2).match(/.{1,64}/g) ?? []
  return [
    [toWord(key), toWord(2n * size + (reverts ? 1n : 0n))],
    ...words.map((digits, index): [Hex, Hex] => [toWord(key + 1n + BigInt(index)), `0x${digits.padEnd(64, '0')}`]),
  ]
}
