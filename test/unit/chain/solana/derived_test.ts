import { expect, test } from 'bun:test'
import { createHash } from 'node:crypto'
import { base58 } from '@scure/base'
import { deriveProgramAddress, isOnCurve } from '../../../../src/chain/solana/program_address.ts'
import { deriveAssociatedTokenAddress, deriveMetadataAddress } from '../../../../src/chain/solana/token.ts'
import { TOKEN } from '../../../support/solana_token.ts'

const P = 2n ** 255n - 19n

/** Edwards' equation with a power for each step: x² = (y² − 1) ÷ (d·y² + 1) has a root if Euler's criterion says so. */
function isPoint(bytes: Uint8Array): boolean {
  const y = bytes.reduceRight((sum, byte, index) => sum * 256n + BigInt(index === 31 ? byte & 127 : byte), 0n) % P
  const d = (P - ((121_665n * power(121_666n, P - 2n)) % P)) % P
  const x2 = ((y * y - 1n + P) * power(d * y * y + 1n, P - 2n)) % P
  return x2 === 0n || power(x2, (P - 1n) / 2n) === 1n
}

function power(base: bigint, exponent: bigint): bigint {
  let [result, square] = [1n, base % P]
  for (let rest = exponent; rest > 0n; rest >>= 1n) {
    if (rest & 1n) result = (result * square) % P
    square = (square * square) % P
  }
  return result
}

test('isOnCurve() agrees with the equation of the curve', () => {
  const samples = Array.from({ length: 300 }, (_, index) =>
    Uint8Array.from(createHash('sha256').update(`point ${index}`).digest()),
  )
  const told = samples.map(isOnCurve)
  expect(told).toEqual(samples.map(isPoint))
  expect(told.filter(Boolean).length).toBeWithin(100, 200)
})

test.each([
  ['zero', new Uint8Array(32)],
  ['one, where x is zero', Uint8Array.of(1, ...new Uint8Array(31))],
  ['one with the sign of x', Uint8Array.of(1, ...new Uint8Array(30), 128)],
  ['the prime, which is zero unreduced', littleEndian(P)],
  ['the prime and one', littleEndian(P + 1n)],
  ['all ones', new Uint8Array(32).fill(255)],
])('so are the edges: %s', (_, bytes) => {
  expect(isOnCurve(bytes)).toBe(isPoint(bytes))
})

function littleEndian(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, index) => Number((value >> BigInt(8 * index)) & 255n))
}

// As they are on mainnet: USDC's metadata account, and the associated account of a wallet for it.
test('addresses are those of mainnet', () => {
  const usdc = 'EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v'
  expect(deriveMetadataAddress(usdc)).toBe('5x38Kp4hvdomTCnCrAny4UtMUt5rQBdB6px2K1Ui45Wq')
  const wallet = '9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM'
  expect(deriveAssociatedTokenAddress(wallet, { mint: usdc, program: TOKEN })).toBe(
    'FGETo8T8wMcN2wCjav8VK6eh3dLk63evNDPxzLSJra8B',
  )
})

test('seeds are joined: text and bytes alike', () => {
  const program = TOKEN
  expect(deriveProgramAddress(program, ['ab', 'c'])).toBe(
    deriveProgramAddress(program, [new TextEncoder().encode('abc')]),
  )
  expect(isOnCurve(base58.decode(deriveProgramAddress(program, ['x'])))).toBe(false)
})
