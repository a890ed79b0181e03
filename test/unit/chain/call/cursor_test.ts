import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { checksumAddress, type Hex } from 'viem'
import { createLensCursor } from '../../../../src/chain/call/cursor.ts'

/** Digits of a number of bytes, often with leading zeros. */
const digits = (bytes: number) =>
  fc
    .tuple(fc.nat(bytes), fc.uint8Array({ minLength: bytes, maxLength: bytes }))
    .map(([zeros, rest]) => Buffer.from(rest).fill(0, 0, zeros).toString('hex'))

test('createLensCursor() reads consecutive numbers of every length, hexadecimal and addresses', () => {
  const field = fc.integer({ min: 1, max: 33 }).chain((length) => digits(length).map((text) => ({ length, text })))
  fc.assert(
    fc.property(fc.array(field), digits(20), (fields, address) => {
      const answer: Hex = `0x${fields.map(({ text }) => text).join('')}${address}`
      const [from, again] = [
        createLensCursor(answer),
        createLensCursor(answer.replace(/[a-f]/g, (it) => it.toUpperCase()) as Hex),
      ]
      for (const { length, text } of fields) {
        const place = from.getPosition()
        expect(from.uint(length)).toBe(BigInt(`0x${text}`))
        from.seek(place)
        if (length <= 6) expect(from.number(length)).toBe(Number.parseInt(text, 16))
        else from.skip(length)
        expect(again.hex(length)).toBe(`0x${text}`)
      }
      expect([from.address(), again.address()]).toEqual([
        checksumAddress(`0x${address}`),
        checksumAddress(`0x${address}`),
      ])
      expect([from.isAtEnd(), again.isAtEnd()]).toEqual([true, true])
    }),
  )
})

test('createLensCursor() refuses a field beyond the end of the answer', () => {
  const from = createLensCursor('0x010203')
  for (const read of [
    () => from.number(4),
    () => from.uint(8),
    () => from.hex(4),
    () => from.address(),
    () => from.skip(4),
  ]) {
    from.seek(0)
    expect(read).toThrow('Cannot decode the lens: the answer is cut short')
  }
  from.seek(1)
  expect(from.text).toThrow('Cannot decode the lens: the answer is cut short')
})
